package intent

import (
	"fmt"
	"slices"
	"strings"
)

// Set is an immutable snapshot of all intents and of the ignore rules.
type Set struct {
	intents  []*Intent
	byID     map[string]*Intent
	warnings []Warning
	ignore   *Ignore

	commandsTrusted bool
	texts           *Texts // that it was made of
}

// Warning is something in the files that is accepted but probably not meant.
type Warning struct {
	File         string // relative to the workspace
	Line, Column int
	Message      string
}

// String returns the warning with its position.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", w.File, w.Line, w.Column, w.Message)
}

// All returns the intents in the order of the file.
func (s *Set) All() []*Intent { return slices.Clone(s.intents) }

// Get returns the intent with this id.
func (s *Set) Get(id string) (*Intent, bool) {
	i, ok := s.byID[id]
	return i, ok
}

// Covering returns the intents, sorted by id, that an agent could select to change the path: in progress or to do, not
// ignored, and with a scope that is restricted and matches.
func (s *Set) Covering(path string) []*Intent {
	var out []*Intent
	for _, i := range s.intents {
		if s.Selectable(i) && !i.scope.Unrestricted() && i.scope.Match(path) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *Intent) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Selectable reports whether an agent could select the intent now: in progress or to do, and not ignored.
func (s *Set) Selectable(i *Intent) bool {
	return i.Status.Selectable() && !s.ignore.IntentBlocked(i.ID)
}

// Warnings returns what the files say that is probably not meant, in the order of the files.
func (s *Set) Warnings() []Warning { return slices.Clone(s.warnings) }

// Ignore returns the rules of the .intentignore files.
func (s *Set) Ignore() *Ignore { return s.ignore }
