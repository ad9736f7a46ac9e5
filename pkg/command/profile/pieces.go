package profile

import (
	"io/fs"
	"path"
)

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
		name := path.Join(dir, e.name)
		clean, inner := p.entry(dir, e, p.step(at, e.name))
		switch {
		case !clean:
			whole = false
			writable = append(writable, inner...)
		case e.kind.IsDir() || e.kind.IsRegular():
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

// entry is visit for one entry; of one that is not a directory there is nothing inside.
func (p *pieces) entry(dir string, e entry, at states) (clean bool, writable []string) {
	name := path.Join(dir, e.name)
	switch {
	case e.closed:
		return false, nil
	case !e.kind.IsDir():
		return p.openTo(dir, e, at), nil
	case p.unexamined(name) && (at.all || p.places[name]):
		return true, nil
	case p.alive(at):
		return p.visit(name, at)
	}
	return p.openTo(dir, e, at), nil
}

func isLink(e entry) bool { return e.kind&fs.ModeSymlink != 0 }
