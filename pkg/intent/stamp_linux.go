package intent

import (
	"io/fs"
	"syscall"
	"time"
)

// fileStamp identifies one state of one file. The change time cannot be set by a program, unlike the modification time.
type fileStamp struct {
	device, inode     uint64
	size              int64
	modified, changed time.Time
}

// stampOf reports false if info does not carry what a stamp needs.
func stampOf(info fs.FileInfo) (fileStamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return fileStamp{}, false
	}
	return fileStamp{
		device: uint64(st.Dev), inode: st.Ino, size: st.Size,
		modified: time.Unix(st.Mtim.Unix()), changed: time.Unix(st.Ctim.Unix()),
	}, true
}
