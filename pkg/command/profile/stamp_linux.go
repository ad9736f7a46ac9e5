package profile

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// stampOf reports false for what is no directory.
func stampOf(info fs.FileInfo) (stamp, bool) {
	raw, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return stamp{}, false
	}
	return stamp{uint64(raw.Dev), raw.Ino, syscall.TimespecToNsec(raw.Mtim), syscall.TimespecToNsec(raw.Ctim)}, true
}

// keepsTimes reports whether a file system notes each change of a directory in its time of change, by the clock of this
// machine. Of those of other machines, and of programs (FUSE), nobody knows.
func keepsTimes(dir *os.File) bool {
	var about unix.Statfs_t
	if unix.Fstatfs(int(dir.Fd()), &about) != nil {
		return false
	}
	switch uint32(about.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
