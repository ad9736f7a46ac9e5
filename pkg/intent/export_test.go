package intent

import "time"

// ParseIgnore parses the text of one ignore file.
func ParseIgnore(data []byte) (*Ignore, error) {
	file, err := parseIgnore(".intentignore", data)
	return &Ignore{files: []ignoreFile{file}}, err
}

// SetClock replaces the store's clock.
func (s *Store) SetClock(now func() time.Time) { s.now = now }

// Reads returns how often the store has read the intents file from disk.
func (s *Store) Reads() int { return s.intents.reads }
