//go:build unix

package profile

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file belongs to this user: in a directory that all share, others can make names like ours.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// names is how many names a file has (hard links), 0 where that is unknown.
func names(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 0
}

// passable reports whether a directory can be gone through by who has no rights but those of its mode, as a command and
// what lays its masks: this user owns it and has closed it, or is root and others have.
func passable(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok:
		return true
	case int(stat.Uid) == os.Geteuid():
		return mode&0o500 == 0o500
	case os.Geteuid() == 0 && int(stat.Gid) == os.Getegid():
		return mode&0o050 == 0o050
	}
	return os.Geteuid() != 0 || mode&0o005 == 0o005
}
