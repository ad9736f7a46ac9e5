package layer

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// isWhiteout knows the mark of something removed.
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// isOpaque knows the mark of a directory of which nothing of before is left.
func isOpaque(dir string) bool {
	var value [2]byte
	n, err := unix.Lgetxattr(dir, "user.overlay.opaque", value[:])
	return err == nil && string(value[:n]) == "y"
}
