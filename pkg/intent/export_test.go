package intent

import (
	"context"
	"errors"
	"time"
)

// SetStatus, AddScope, Add and AddNext make what is planned, and plan anew where another program saves in between.
func (s *Store) SetStatus(ctx context.Context, id string, status Status, at time.Time) (*Set, error) {
	return s.made(ctx, func() (*Plan, error) { return s.PlanStatus(id, status, at) })
}

func (s *Store) AddScope(ctx context.Context, id string, globs []string) (*Set, error) {
	return s.made(ctx, func() (*Plan, error) { return s.PlanScope(id, globs) })
}

func (s *Store) Add(ctx context.Context, in Intent) (*Set, error) {
	set, _, err := s.AddNext(ctx, in)
	return set, err
}

func (s *Store) AddNext(ctx context.Context, in Intent) (set *Set, id string, err error) {
	set, err = s.made(ctx, func() (p *Plan, err error) {
		p, id, err = s.PlanAdd(in)
		return p, err
	})
	return set, id, err
}

func (s *Store) made(ctx context.Context, plan func() (*Plan, error)) (*Set, error) {
	for {
		p, err := plan()
		if err != nil {
			return nil, err
		}
		if set, err := s.Apply(ctx, p); !errors.Is(err, ErrChanged) {
			return set, err
		}
	}
}

// ParseIgnore parses the text of one ignore file.
func ParseIgnore(data []byte) (*Ignore, error) {
	file, err := parseIgnore(".intentignore", data, func(string) bool { return false })
	return &Ignore{files: []ignoreFile{file}}, err
}

// SetClock replaces the store's clock.
func (s *Store) SetClock(now func() time.Time) { s.now = now }

// Reads returns how often the store has read the intents file from disk.
func (s *Store) Reads() int { return s.intents.reads }

// Parse parses the text of an intents file.
func Parse(data []byte) ([]*Intent, error) {
	doc, err := decodeFile(data)
	if err != nil {
		return nil, err
	}
	return doc.intents, nil
}

// IntentKeys are the keys of an intent.
func IntentKeys() []string { return intentKeys }
