package outside

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/fileclock"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// maxSeen bounds the entries that are looked at for one line.
const maxSeen = 1000

// Baseline is how what a line names was before the command.
type Baseline struct {
	named *Named
	start int64 // nanoseconds since 1970, by the clock of the file systems
	paths map[string]bool
	seen  seen
	short map[string]bool // directories with more in them than was looked at
}

type seen map[string]stamp

// Look describes what the line names: files, and directories with what is in them.
func (n *Named) Look() *Baseline {
	s := &Baseline{named: n, start: fileclock.Now(), paths: map[string]bool{}, seen: seen{}, short: map[string]bool{}}
	paths := n.paths()
	for _, path := range paths {
		s.paths[path] = true
	}
	s.look(paths)
	return s
}

func (s *Baseline) look(paths []string) {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !s.named.changeable(path, info) {
			continue
		}
		s.seen.add(path, info)
		if info.IsDir() && !everybodys(path) {
			s.below(path)
		}
	}
}

// add describes an entry. What happens to a directory's times is told by what is in it.
func (s seen) add(path string, info fs.FileInfo) {
	of := stampOf(info)
	if info.IsDir() {
		of.mtime, of.ctime, of.size = 0, 0, 0
	}
	s[path] = of
}

// everybodys reports whether programs make files in a directory all the time,
// so that only what is named in it is looked at.
func everybodys(dir string) bool {
	return slices.Contains([]string{"/", "/tmp", "/var/tmp", "/dev/shm", "/run", "/var", "/var/log", "/etc", "/home",
		"/private/tmp", "/private/var", "/private/var/tmp", "/private/etc", "/Users"}, dir)
}

// wide reports whether a directory holds so much that is not meant that only
// its own entries are looked at, but those that programs keep for themselves.
func (s *Baseline) wide(dir string) bool {
	return dir == s.named.home || holds(dir, s.named.line.Workspace)
}

// below describes what is in a directory, the nearest first.
func (s *Baseline) below(top string) {
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
			if _, known := s.seen[path]; known || s.wide(dir) && e.Name()[0] == '.' {
				continue
			}
			if len(s.seen) >= maxSeen {
				s.short[top] = true
				return
			}
			info, err := e.Info()
			if err != nil || info.Mode()&fs.ModeSocket != 0 || s.named.inside(path) {
				continue
			}
			s.seen.add(path, info)
			if info.IsDir() && !ofPrograms(path) && !s.wide(dir) {
				left = append(left, path)
			}
		}
	}
}

// ofPrograms reports whether a directory is among those where programs are
// installed: what is named there is looked at, and not all that is below.
func ofPrograms(path string) bool {
	return slices.ContainsFunc([]string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/boot", "/nix", "/snap"}, func(dir string) bool { return holds(dir, path) })
}

// Changes are what differs now, sorted, and the directories in which not everything was looked at.
func (s *Baseline) Changes() (found []Change, short []string) {
	after := &Baseline{named: s.named, seen: seen{}, short: map[string]bool{}}
	paths := slices.Sorted(maps.Keys(s.paths))
	for _, path := range s.named.paths() { // links may lead elsewhere now
		if !s.paths[path] {
			paths = append(paths, path)
		}
	}
	after.look(paths)
	for path, is := range after.seen {
		was, known := s.seen[path]
		switch {
		case known && was != is:
			same := was.ino == is.ino && was.dev == is.dev && was.size == is.size && was.mode.Type() == is.mode.Type()
			found = append(found, Change{Name: s.shown(path), Op: change.Modified, Metadata: same && was.mtime == is.mtime, Kept: same})
		case !known && s.whole(path) && !within(after.short, path):
			found = append(found, Change{Name: s.shown(path), Op: change.Created})
		case !known && is.ctime >= s.start: // of directories none is known
			found = append(found, Change{Name: s.shown(path), Op: change.Modified})
		}
	}
	for path := range s.seen {
		if _, still := after.seen[path]; !still {
			if _, err := os.Lstat(path); err != nil {
				found = append(found, Change{Name: s.shown(path), Op: change.Deleted})
			}
		}
	}
	all := slices.Clone(found) // of what was made or removed as a whole, the top tells
	found = slices.DeleteFunc(found, func(c Change) bool {
		return c.Op != change.Modified && slices.Contains(all, Change{Name: parent(c.Name), Op: c.Op})
	})
	for dir := range after.short {
		short = append(short, s.shown(dir))
	}
	slices.SortFunc(found, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(short)
	return found, short
}

// whole reports whether all that was there at a path is known.
func (s *Baseline) whole(path string) bool { return within(s.paths, path) && !within(s.short, path) }

// within reports whether a path is one of those, or below one.
func within(dirs map[string]bool, path string) bool {
	for dir := range dirs {
		if holds(dir, path) {
			return true
		}
	}
	return false
}

// parent is the directory of a path as it is shown.
func parent(name string) string {
	if at := strings.LastIndex(name, "/"); at > 0 {
		return name[:at]
	}
	return ""
}

func (s *Baseline) shown(path string) string {
	if s.named.home == "" {
		return filepath.ToSlash(path)
	}
	return shown(s.named.home, path)
}
