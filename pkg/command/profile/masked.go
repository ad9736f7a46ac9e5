package profile

import (
	"errors"
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// maxFrozen bounds the masks of one command: each is a mount. Of a line that was
// rehearsed there can be more: it must not be stopped.
const (
	maxFrozen          = 1000
	maxFrozenRehearsed = 20_000
)

var errTooMany = errors.New("too many masks")

// masked is the shape of a profile for a level that can freeze what lies inside of what is writable.
type masked struct {
	*survey
	writable []string
	frozen   []sandbox.Frozen
}

// visit goes down the workspace. Inside says whether the directory lies in something writable.
func (m *masked) visit(dir string, at states, inside bool) error {
	found, known := m.list(dir)
	entries := found.entries
	open := known && (m.touchedIn(dir) ||
		(m.roomy(at, entries) || slices.Contains(m.Open, dir)) && !m.heldByLink(dir, m.undecided(found, at), at))
	if open {
		entries = m.undecided(found, at)
	}
	switch {
	case open && !inside:
		m.writable = append(m.writable, dir)
	case !open && inside:
		m.freeze(dir, true)
	}
	for _, e := range entries {
		if err := m.entry(dir, e, m.step(at, e.name), open); err != nil {
			return err
		}
	}
	if len(m.frozen) > m.most() {
		return errTooMany
	}
	return nil
}

func (m *masked) most() int {
	if m.Touched != nil {
		return maxFrozenRehearsed
	}
	return maxFrozen
}

func (m *masked) entry(dir string, e entry, at states, inside bool) error {
	p := path.Join(dir, e.name)
	switch {
	case e.closed:
		m.freezeEntry(p, e, inside)
	case e.kind.IsDir() && m.unexamined(p) && (at.all || m.places[p]):
		if !inside {
			m.writable = append(m.writable, p)
		}
	case e.kind.IsDir() && (m.alive(at) || m.towards(p)):
		return m.visit(p, at, inside)
	case !m.openTo(dir, e, at):
		m.freezeEntry(p, e, inside)
	case !inside && (e.kind.IsDir() || e.kind.IsRegular()):
		m.writable = append(m.writable, p)
	}
	return nil
}

func (m *masked) freezeEntry(p string, e entry, inside bool) {
	if inside && !isLink(e) { // nothing can be put over a link, see heldByLink
		m.freeze(p, e.kind.IsDir())
	}
}

func (m *masked) freeze(p string, directory bool) {
	m.frozen = append(m.frozen, sandbox.Frozen{Path: p, Directory: directory})
}

// heldByLink reports whether a directory has a link that must not change.
// Nothing can be put over a link, so the directory is not writable as a whole.
func (s *survey) heldByLink(dir string, entries []entry, at states) bool {
	for _, e := range entries {
		if isLink(e) && !s.openTo(dir, e, s.step(at, e.name)) {
			return true
		}
	}
	return false
}
