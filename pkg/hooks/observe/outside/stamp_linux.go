package outside

import (
	"io/fs"
	"syscall"
)

func stampOfAny(info fs.FileInfo) stamp {
	s := stamp{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
	if raw, ok := info.Sys().(*syscall.Stat_t); ok {
		s.uid, s.gid, s.dev, s.ino, s.ctime = raw.Uid, raw.Gid, uint64(raw.Dev), raw.Ino, syscall.TimespecToNsec(raw.Ctim)
	}
	return s
}
