//go:build linux && !portable

package durable

import (
	"io/fs"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// ChangedAt is the time of change (ctime), in nanoseconds since 1970; the latest there is where it is not known.
func ChangedAt(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano()
	}
	return math.MaxInt64
}

// BornAt is the time at which what stands at a path, which is not followed, was made, in nanoseconds since 1970; 0 where the
// file system does not keep it.
func BornAt(path string) int64 {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// HasAttribute reports whether what stands at a path, which is not followed, has an extended attribute.
func HasAttribute(path, name string) bool {
	_, err := unix.Lgetxattr(path, name, nil)
	return err == nil
}

// UsedBytes is how much of the file system that a path is on is used; 0 where that is not known.
func UsedBytes(path string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize
}

// StoredBytes is what a file takes on disk.
func StoredBytes(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
