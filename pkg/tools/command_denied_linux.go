package tools

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// permits reports whether the permission bits let this user write a path, or make it, without any right of root.
func permits(path string) bool {
	var info unix.Stat_t
	wanted := uint32(unix.W_OK)
	if unix.Stat(path, &info) != nil {
		if unix.Stat(filepath.Dir(path), &info) != nil {
			return false
		}
		wanted |= unix.X_OK
	}
	groups, _ := syscall.Getgroups()
	bits := info.Mode
	switch {
	case int(info.Uid) == os.Geteuid():
		bits >>= 6
	case int(info.Gid) == os.Getegid() || slices.Contains(groups, int(info.Gid)):
		bits >>= 3
	}
	return bits&wanted == wanted
}

// readOnlyDisk reports whether the file system of a path cannot be written by anybody.
func readOnlyDisk(path string) bool {
	var info unix.Statfs_t
	if unix.Statfs(path, &info) != nil && unix.Statfs(filepath.Dir(path), &info) != nil {
		return false
	}
	return info.Flags&unix.ST_RDONLY != 0
}
