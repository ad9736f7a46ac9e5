package outside

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// maxEntries bounds the entries of one directory that are looked at.
const maxEntries = 256

// stamp is what tells one state of an entry from every other.
type stamp struct {
	mode         fs.FileMode
	uid, gid     uint32
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	dev, ino     uint64
}

// stampOf describes an entry. What happens to a directory's times is told by what is in it.
func stampOf(info fs.FileInfo) stamp {
	s := stampOfAny(info)
	if info.IsDir() {
		s.mtime, s.ctime, s.size = 0, 0, 0
	}
	return s
}

// changed is the change of what a stamp told of and another does.
func (s stamp) changed(now stamp, name string) Change {
	same := s.ino == now.ino && s.dev == now.dev && s.size == now.size && s.mode.Type() == now.mode.Type()
	return Change{Name: name, Op: change.Modified, Metadata: same && s.mtime == now.mtime, Kept: same}
}

// State is how the places were at one time.
type State map[string]stamp

// Look describes the places.
func Look(places []Place) State {
	s := make(State, 2*len(places))
	for i := range places {
		s.look(&places[i])
	}
	return s
}

func (s State) look(p *Place) {
	info, err := os.Lstat(p.path)
	if err != nil {
		return // absent, or behind a directory that is closed: to the command too
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		s[p.Name] = stampOf(info)
		if info, err = os.Stat(p.path); err != nil {
			return
		}
	}
	if !info.IsDir() {
		name := p.Name
		if _, link := s[name]; link {
			name += " (where the link leads)"
		}
		s[name] = stampOf(info)
		return
	}
	s[p.Name+"/"] = stampOf(info)
	s.entries(p)
}

// open waits for nobody where a FIFO has come to stand in the place of what was looked at.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		file.Close()
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return file, nil
}

func (s State) entries(p *Place) {
	dir, err := open(p.path)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxEntries)
	for _, name := range names {
		if slices.ContainsFunc(p.quiet, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) {
			continue
		}
		info, err := os.Lstat(filepath.Join(p.path, name))
		if err == nil && info.Mode()&fs.ModeSocket == 0 {
			s[p.Name+"/"+name] = stampOf(info)
		}
	}
}

// Change is one place that is not as it was.
type Change struct {
	Name string
	Op   change.Op
	// Metadata: neither size nor time of modification is another, nor the file.
	Metadata bool
	// Kept: it is the same file, of the same size.
	Kept bool
}

// Changes are what differs from an earlier state, sorted by name.
func (s State) Changes(before State) []Change {
	var found []Change
	for name, now := range s {
		was, known := before[name]
		switch {
		case !known:
			found = append(found, Change{Name: name, Op: change.Created})
		case was != now:
			found = append(found, was.changed(now, name))
		}
	}
	for name := range before {
		if _, still := s[name]; !still {
			found = append(found, Change{Name: name, Op: change.Deleted})
		}
	}
	for i := range found {
		found[i].Name = strings.TrimSuffix(found[i].Name, "/")
	}
	slices.SortFunc(found, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Op, b.Op)) })
	return slices.CompactFunc(found, func(a, b Change) bool { return a.Name == b.Name })
}
