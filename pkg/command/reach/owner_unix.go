//go:build unix

package reach

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file belongs to this user: in a directory that
// all share, others can make names like ours.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
