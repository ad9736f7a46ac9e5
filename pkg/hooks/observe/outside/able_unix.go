//go:build unix

package outside

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// changeable reports whether the user of this process can change an entry, or put another in its place.
func (n *Named) changeable(path string, info fs.FileInfo) bool {
	if os.Geteuid() == 0 || n.line.Others {
		return true
	}
	raw, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(raw.Uid) == os.Geteuid() || unix.Access(path, unix.W_OK) == nil || unix.Access(filepath.Dir(path), unix.W_OK) == nil
}
