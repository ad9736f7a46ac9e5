package undo

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Conflict is why a record cannot be taken back of a file.
type Conflict struct {
	Path   string `json:"path"`
	Record string `json:"record"`
	Reason string `json:"reason"`
	// Places are the lines that both the record and somebody later changed.
	Places []Place `json:"places,omitempty"`
	// Since are later records on the file, newest first; none if only others, outside the ledger, changed it.
	Since []Touch `json:"since"`

	records []string // those of which something is left with the file
}

// Place is a run of lines that was changed by the record and again since.
type Place struct {
	// Line is the first of them in the file as it is now; 0 where the merge was not of the present file.
	Line int `json:"line"`
	// Now are the lines as they are, Wanted as undoing would have them.
	Now    []string `json:"now"`
	Wanted []string `json:"wanted"`
	// By is the later record that wrote them, nil if it was somebody outside the ledger or cannot be told.
	By *Touch `json:"by,omitempty"`
}

// Touch is a later record.
type Touch struct {
	Record   string `json:"record"`
	IntentID string `json:"intent_id"`
	Call     string `json:"call"`
}

const (
	maxPlaces = 10 // that are told
	maxLines  = 20 // of each
	maxSince  = 5
)

// refuse notes a conflict that nobody's change is behind.
func (t *tree) refuse(f *file, c recorded, path, reason string) {
	f.conflict = &Conflict{Path: path, Record: c.ID, Reason: reason, Since: []Touch{}}
}

// conflict notes one with the records that came after.
func (t *tree) conflict(f *file, c recorded, path, reason string) error {
	since, err := t.since(f, c, path)
	if err != nil {
		return err
	}
	t.refuse(f, c, path, reason)
	f.conflict.Since = since
	return nil
}

// clash notes lines that were changed again.
func (t *tree) clash(f *file, s *step, clashes []edit.Clash) error {
	reason := "the same lines have changed since"
	if s.to.Hash == "" {
		reason = "the file was created by the record and has changed since, so it is not deleted"
	}
	if err := t.conflict(f, s.newest, s.path, reason); err != nil {
		return err
	}
	found := f.conflict
	present := f.origin != "" && t.disk.at(f.origin).Hash == f.now.Hash
	for _, c := range clashes[:min(len(clashes), maxPlaces)] {
		place := Place{Now: shown(c.Ours), Wanted: shown(c.Theirs)}
		if present {
			place.Line = c.OursLine
			by, err := t.writer(f, s, c, found.Since)
			if err != nil {
				return err
			}
			place.By = by
		}
		found.Places = append(found.Places, place)
	}
	return nil
}

// shown are lines without their ends, not too many.
func shown(lines []string) []string {
	out := []string{}
	for _, line := range lines[:min(len(lines), maxLines)] {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}

// writer finds who wrote the first line of a place.
func (t *tree) writer(f *file, s *step, c edit.Clash, since []Touch) (*Touch, error) {
	if len(c.Ours) == 0 || len(since) == 0 {
		return nil, nil
	}
	found, err := t.Ledger.Query(t.ctx, record.Filter{Path: f.origin, Line: c.OursLine, Content: f.now.Hash, Limit: 1})
	if err != nil || len(found.Entries) == 0 || found.Gap {
		return nil, err
	}
	last := found.Entries[0]
	if whole(last) == s.newest.ID || last.Time.Before(s.newest.Time) {
		return nil, nil
	}
	return &Touch{whole(last), last.IntentID, last.Call}, nil
}

// since gives the records that changed a file after c, and that are not undone with it.
func (t *tree) since(f *file, c recorded, path string) ([]Touch, error) {
	touches := []Touch{}
	line := c.Hash
	for _, file := range c.files {
		if file.Path == path {
			line = file.line
		}
	}
	for _, name := range slices.Compact([]string{path, f.origin}) {
		if name == "" {
			continue
		}
		later, err := t.lookup.after(name, c, line)
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(later) {
			touch := Touch{whole(e), e.IntentID, e.Call}
			if !t.lookup.cancelled(touch.Record) && !slices.Contains(touches, touch) && len(touches) < maxSince {
				touches = append(touches, touch)
			}
		}
	}
	return touches, nil
}
