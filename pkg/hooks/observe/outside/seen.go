package outside

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

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

// everybodys reports whether programs make files in a directory all the time,
// so that only what is named in it is looked at.
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
