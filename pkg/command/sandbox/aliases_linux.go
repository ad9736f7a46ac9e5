package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mounted is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)): the part
// of a file system that is seen at a point.
type mounted struct {
	id                  uint64
	device, root, point string
}

// unescape undoes what the kernel does to names in its tables.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func mounts() (all []mounted) {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if id, err := strconv.ParseUint(fields[0], 10, 64); err == nil {
			all = append(all, mounted{id, fields[2], unescape.Replace(fields[3]), unescape.Replace(fields[4])})
		}
	}
	return all
}

// aliases are the paths with all other paths at which the mounts show the same, or a part of it: of a bind mount, a
// file system that is mounted twice, a subvolume. What a mount shows that something else is mounted over is no path.
func aliases(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	table := mounts()
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
