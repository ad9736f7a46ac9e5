package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// Landlock only allows, and with a directory all that is below it. So what is not to be read is left out: of each directory above it
// all other entries are allowed one by one. What comes into such a directory later has no rule either, so a file there that is
// replaced, as editors do it, cannot be read by a command that runs: neither the secret nor its neighbours. Names can always be listed.

// maxReadable bounds the rules of one command: each costs about two microseconds.
const maxReadable = 10_000

// readable leaves paths out of what may be read.
type readable struct {
	closed map[string]bool
	ways   []string // the directories above, the outer ones first
	above  map[string]bool
}

// newReadable makes one for paths that are absolute, clean and free of links. They need not exist.
func newReadable(paths []string) *readable {
	w := &readable{closed: map[string]bool{}, above: map[string]bool{}}
	for _, path := range paths {
		w.closed[path] = true
		for dir := filepath.Dir(path); !w.above[dir]; dir = filepath.Dir(dir) {
			w.above[dir] = true
		}
	}
	depth := func(dir string) int { return strings.Count(strings.TrimSuffix(dir, "/"), "/") }
	w.ways = slices.SortedFunc(maps.Keys(w.above), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a, b))
	})
	return w
}

// each calls allow for all that is allowed with what is below it: a directory's descriptor and a name in it, or "." for
// itself, and their path. It returns what is closed and can be read all the same, because a directory above it cannot
// be listed or has too many entries.
func (w *readable) each(allow func(dir int, name, path string) error) (exposed []string, err error) {
	whole, left := map[string]bool{}, maxReadable
	for _, way := range w.ways {
		if up := filepath.Dir(way); up != way && (whole[up] || w.closed[up]) {
			whole[way] = whole[up]
			continue
		}
		names, err := w.visit(way, left, allow)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		left -= names
		whole[way] = names < 0
	}
	for path := range w.closed {
		if whole[filepath.Dir(path)] {
			exposed = append(exposed, path)
		}
	}
	slices.Sort(exposed)
	return exposed, nil
}

// visit is each for one directory. It returns how many entries it has, or -1 if it is allowed whole. One that is not
// there, or that nobody here may enter, needs no rule.
func (w *readable) visit(way string, most int, allow func(dir int, name, path string) error) (int, error) {
	dir, err := openPlain(way)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		return 0, nil
	default:
		return 0, err
	}
	defer unix.Close(dir)
	names, ok := list(dir, most)
	if !ok {
		return -1, allow(dir, ".", way)
	}
	for _, name := range names {
		path := filepath.Join(way, name)
		if w.closed[path] || w.above[path] {
			continue
		}
		if err := allow(dir, name, path); err != nil {
			return 0, err
		}
	}
	return len(names), nil
}

// openPlain opens a directory to look names up in, and follows no link.
func openPlain(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir, err := unix.Open("/", flags, 0)
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil || name == "" {
			break
		}
		var next int
		next, err = unix.Openat(dir, name, flags, 0)
		unix.Close(dir)
		dir = next
	}
	return dir, err
}

// list reads the names in a directory, if there are no more than most.
func list(dir, most int) (names []string, ok bool) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	names, err = file.Readdirnames(most + 1)
	return names, len(names) <= most && (err == nil || len(names) == 0)
}

// readable are what a level leaves out of what the command may read by Landlock,
// nil for nothing, and what of the profile it cannot leave out.
func (b *Profile) readable(level Level) (w *readable, exposed []string) {
	var closed []string
	writable := append(slices.Clip(b.Writable), b.Temp)
	switch level {
	case Landlock:
		closed, exposed = divided(aliases(slices.Concat(b.Hidden, b.Emptied)), writable)
		closed = append(closed, "/dev") // terminals, disks; what of it is needed has rules of its own
	case Full:
		// Directories stay hidden by their masks: who saves a file replaces no directory.
		files := slices.DeleteFunc(aliases(b.Hidden), func(path string) bool {
			is, ok := identify(path)
			return !ok || is.Mode&unix.S_IFMT != unix.S_IFREG
		})
		if b.Lasting {
			return nil, files
		}
		closed, exposed = divided(files, append(writable, (&layout{profile: b}).covered()...))
	}
	if len(closed) == 0 {
		return nil, exposed
	}
	return newReadable(closed), exposed
}

// divided tells what can be left out of what may be read from what lies in a
// directory that the command may write: it has to read what it makes there.
func divided(paths, writable []string) (closed, exposed []string) {
	for _, path := range paths {
		if slices.ContainsFunc(writable, func(dir string) bool { return helper.Below(path, dir) }) {
			exposed = append(exposed, path)
		} else {
			closed = append(closed, path)
		}
	}
	return closed, exposed
}

// Exposed are the paths of what a profile hides that the level cannot keep from the command all the time: at Landlock
// it can read them, at Full in the moment in which somebody replaces them by another file.
func Exposed(level Level, profile *Profile) []string {
	w, exposed := profile.readable(level)
	if w != nil {
		open, _ := w.each(func(int, string, string) error { return nil }) // which Start tells
		exposed = append(exposed, open...)
	}
	slices.Sort(exposed)
	return exposed
}

// mounted is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)): the part of a file system that is seen at a point.
type mounted struct {
	id                  uint64
	device, root, point string
}

// unescape undoes what the kernel does to names in its tables.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func mounts() (all []mounted, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if id, err := strconv.ParseUint(fields[0], 10, 64); err == nil {
			all = append(all, mounted{id, fields[2], unescape.Replace(fields[3]), unescape.Replace(fields[4])})
		}
	}
	return all, err
}

// MountPoints are the absolute paths at which file systems are mounted.
func MountPoints() (points []string, err error) {
	all, err := mounts()
	for _, m := range all {
		points = append(points, m.point)
	}
	return points, err
}

// aliases are the paths with all other paths at which the mounts show the same, or a part of it: of a bind mount, a
// file system that is mounted twice, a subvolume. What a mount shows that something else is mounted over is no path.
func aliases(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	table, _ := mounts()
	found := slices.Clone(paths)
	for _, path := range paths {
		found = append(found, aliasesOf(path, table)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func aliasesOf(path string, table []mounted) (found []string) {
	is, ok := identify(path)
	if !ok {
		return nil
	}
	var of mounted // that the path is seen by
	for _, m := range table {
		if m.id == is.Mnt_id {
			of = m
		}
	}
	way, ok := onward(of.point, path)
	if !ok {
		return nil
	}
	inside := filepath.Join(of.root, way) // its file system
	for _, m := range table {
		if m.id == of.id || m.device != of.device {
			continue
		}
		if _, part := onward(inside, m.root); part {
			if at, ok := identify(m.point); ok && at.Mnt_id == m.id {
				found = append(found, m.point)
			}
			continue
		}
		rest, shows := onward(m.root, inside)
		if !shows {
			continue
		}
		alias := strings.TrimSuffix(m.point, "/") + rest
		at, ok := identify(alias)
		if ok && at.Mnt_id == m.id && at.Ino == is.Ino && at.Dev_major == is.Dev_major && at.Dev_minor == is.Dev_minor {
			found = append(found, alias)
		}
	}
	return found
}

// onward is the way from a directory to a path at or below it: "", or with a slash at its beginning.
func onward(dir, path string) (way string, ok bool) {
	if path == dir {
		return "", true
	}
	way, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return way, ok && strings.HasPrefix(way, "/") && dir != ""
}

// identify says what a path is, without asking a server of files that is gone and without mounting anything.
func identify(path string) (is unix.Statx_t, ok bool) {
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_TYPE|unix.STATX_MNT_ID, &is)
	return is, err == nil && is.Mask&unix.STATX_MNT_ID != 0
}
