//go:build unix

package hookdoor

import (
	"io/fs"
	"os"
	"syscall"
)

func ownAlone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
