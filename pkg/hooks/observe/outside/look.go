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
	info, err := os.Lstat(p.Path)
	if err != nil {
		return // absent, or behind a directory that is closed: to the command too
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		s[p.Name] = stampOf(info)
		if info, err = os.Stat(p.Path); err != nil {
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
	dir, err := open(p.Path)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxEntries)
	for _, name := range names {
		if slices.ContainsFunc(p.quiet, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) {
			continue
		}
		info, err := os.Lstat(filepath.Join(p.Path, name))
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

// maxSeen bounds the entries that are looked at for one line.
const maxSeen = 1000

// look describes paths as they are; short are directories with more in them than was looked at.
func (n *Named) look(paths []string) (seen map[string]stamp, short []string) {
	seen = map[string]stamp{}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !n.changeable(path, info) {
			continue
		}
		seen[path] = stampOf(info)
		if info.IsDir() && !everybodys(path) && !n.below(path, seen) {
			short = append(short, path)
		}
	}
	return seen, short
}

// everybodys reports whether programs make files in a directory all the time, so that only what is named in it is looked at.
func everybodys(dir string) bool {
	return slices.Contains(strings.Fields(`/ /tmp /var/tmp /dev/shm /run /var /var/log /etc /home
		/private/tmp /private/var /private/var/tmp /private/etc /Users`), dir)
}

// wide reports whether a directory holds so much that is not meant that only
// its own entries are looked at, but those that programs keep for themselves.
func (n *Named) wide(dir string) bool { return dir == n.home || holds(dir, n.line.Workspace) }

// below describes what is in a directory, the nearest first, and reports whether that is all.
func (n *Named) below(top string, seen map[string]stamp) (all bool) {
	left := []string{top}
	for len(left) > 0 {
		dir := left[0]
		left = left[1:]
		file, err := open(dir)
		if err != nil {
			continue // as it is to the command
		}
		entries, _ := file.ReadDir(maxSeen + 1)
		file.Close()
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if _, known := seen[path]; known || n.wide(dir) && e.Name()[0] == '.' {
				continue
			}
			if len(seen) >= maxSeen {
				return false
			}
			info, err := e.Info()
			if err != nil || info.Mode()&fs.ModeSocket != 0 || n.inside(path) {
				continue
			}
			seen[path] = stampOf(info)
			if info.IsDir() && !ofPrograms(path) && !n.wide(dir) {
				left = append(left, path)
			}
		}
	}
	return true
}

// ofPrograms reports whether a directory is among those where programs are
// installed: what is named there is looked at, and not all that is below.
func ofPrograms(path string) bool {
	return within(strings.Fields("/usr /lib /lib64 /bin /sbin /opt /boot /nix /snap"), path)
}

// Changes are what differs now, sorted, and the directories in which not everything was looked at.
func (n *Named) Changes() (found []Change, short []string) {
	paths := slices.Sorted(slices.Values(n.paths))
	for _, path := range n.lead() { // links may lead elsewhere now
		if !slices.Contains(n.paths, path) {
			paths = append(paths, path)
		}
	}
	now, less := n.look(paths)
	for path, is := range now {
		was, known := n.seen[path]
		switch {
		case known && was != is:
			found = append(found, was.changed(is, n.shown(path)))
		case !known && within(n.paths, path) && !within(n.short, path) && !within(less, path):
			found = append(found, Change{Name: n.shown(path), Op: change.Created})
		case !known && is.ctime >= n.start: // of directories none is known
			found = append(found, Change{Name: n.shown(path), Op: change.Modified})
		}
	}
	for path := range n.seen {
		if _, still := now[path]; !still {
			if _, err := os.Lstat(path); err != nil {
				found = append(found, Change{Name: n.shown(path), Op: change.Deleted})
			}
		}
	}
	all := slices.Clone(found) // of what was made or removed as a whole, the top tells
	found = slices.DeleteFunc(found, func(c Change) bool {
		above := c.Name[:max(strings.LastIndex(c.Name, "/"), 0)] // as it is shown
		return c.Op != change.Modified && slices.Contains(all, Change{Name: above, Op: c.Op})
	})
	for _, dir := range less {
		short = append(short, n.shown(dir))
	}
	slices.SortFunc(found, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(short)
	return found, short
}

// within reports whether a path is one of those, or below one.
func within(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return holds(dir, path) })
}

func (n *Named) shown(path string) string {
	if n.home == "" {
		return filepath.ToSlash(path)
	}
	return shown(n.home, path)
}
