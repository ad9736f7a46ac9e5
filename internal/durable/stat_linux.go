//go:build linux && !portable

package durable

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// identity names an inode as long as somebody holds it open: the number can be used again afterwards.
type identity struct{ device, inode uint64 }

// Numbered reports whether it is the file with a number, as others have read it from the kernel.
func (s Stat) Numbered(device, inode uint64) bool { return s.id == identity{device, inode} }

func statOf(info fs.FileInfo) Stat {
	s := Stat{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.id = identity{device: uint64(sys.Dev), inode: sys.Ino}
		s.Links = uint64(sys.Nlink)
		s.Changed = time.Unix(sys.Ctim.Unix())
	}
	return s
}

func statOfRaw(raw *unix.Stat_t) Stat {
	return Stat{
		Mode:    ModeOf(raw.Mode),
		Size:    raw.Size,
		ModTime: time.Unix(raw.Mtim.Unix()),
		Changed: time.Unix(raw.Ctim.Unix()),
		Links:   uint64(raw.Nlink),
		id:      identity{device: uint64(raw.Dev), inode: raw.Ino},
	}
}

var specialBits = [...]struct {
	mode fs.FileMode
	raw  uint32
}{{fs.ModeSetuid, unix.S_ISUID}, {fs.ModeSetgid, unix.S_ISGID}, {fs.ModeSticky, unix.S_ISVTX}}

// ModeOf is the mode that the kernel gives as st_mode.
func ModeOf(raw uint32) fs.FileMode {
	mode := fs.FileMode(raw&0o777) | typeOf(raw)
	for _, s := range specialBits {
		if raw&s.raw != 0 {
			mode |= s.mode
		}
	}
	return mode
}

func typeOf(raw uint32) fs.FileMode {
	switch raw & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK:
		return fs.ModeDevice
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}
