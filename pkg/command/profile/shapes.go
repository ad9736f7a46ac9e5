package profile

import (
	"io/fs"
	"path"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// maxFrozen bounds the masks of one command: each is a mount. Of a line that was rehearsed there can be more: it must not be stopped.
const (
	maxFrozen          = 1000
	maxFrozenRehearsed = 20_000
)

// masked is the shape of a profile for a level that can freeze what lies inside of what is writable.
type masked struct {
	*survey
	writable []string
	frozen   []sandbox.Frozen
}

// visit goes down the workspace. Inside says whether the directory lies in something writable. False: there are too many masks.
func (m *masked) visit(dir string, at states, inside bool) bool {
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
		p, at := path.Join(dir, e.name), m.step(at, e.name)
		switch m.verdict(p, e, at) {
		case shut:
			if open && !isLink(e) { // nothing can be put over a link, see heldByLink
				m.freeze(p, e.kind.IsDir())
			}
		case mixed:
			if !m.visit(p, at, open) {
				return false
			}
		case free:
			if !open && (e.kind.IsDir() || e.kind.IsRegular()) {
				m.writable = append(m.writable, p)
			}
		}
	}
	return len(m.frozen) <= maxFrozen || m.Touched != nil && len(m.frozen) <= maxFrozenRehearsed
}

// verdict says of an entry whether it may be changed with all that is in it.
type verdict int

const (
	shut  verdict = iota
	mixed         // it takes a look into it
	free
)

func (s *survey) verdict(p string, e entry, at states) verdict {
	switch {
	case e.closed:
		return shut
	case e.kind.IsDir() && s.unexamined(p) && (at.all || s.places[p]):
		return free
	case e.kind.IsDir() && (s.alive(at) || s.towards(p)):
		return mixed
	case s.openTo(p, e, at):
		return free
	}
	return shut
}

func (m *masked) freeze(p string, directory bool) {
	m.frozen = append(m.frozen, sandbox.Frozen{Path: p, Directory: directory})
}

// heldByLink reports whether a directory has a link that must not change.
// Nothing can be put over a link, so the directory is not writable as a whole.
func (s *survey) heldByLink(dir string, entries []entry, at states) bool {
	for _, e := range entries {
		if isLink(e) && !s.openTo(path.Join(dir, e.name), e, s.step(at, e.name)) {
			return true
		}
	}
	return false
}

// pieces is the shape of a profile for a level that only allows: no directory in
// it holds anything that must not change, and none is the workspace.
type pieces struct {
	*survey
	// narrowed: the scope has room for new entries where none can be made.
	narrowed []string
}

// visit returns whether the directory, with all that is in it, may be written, and if not, what in it may be.
func (p *pieces) visit(dir string, at states) (whole bool, writable []string) {
	found, known := p.list(dir)
	roomy := p.roomy(at, found.entries)
	whole = known && roomy
	for _, e := range found.entries {
		name, at := path.Join(dir, e.name), p.step(at, e.name)
		verdict, inner := p.verdict(name, e, at), []string(nil)
		if verdict == mixed {
			if clean, parts := p.visit(name, at); clean {
				verdict = free
			} else {
				inner = parts
			}
		}
		if verdict != free {
			whole = false
			writable = append(writable, inner...)
		} else if e.kind.IsDir() || e.kind.IsRegular() {
			writable = append(writable, name)
		}
	}
	if whole && dir != "." {
		return true, nil
	}
	if roomy {
		p.narrowed = append(p.narrowed, dir)
	}
	return false, writable
}

func isLink(e entry) bool { return e.kind&fs.ModeSymlink != 0 }
