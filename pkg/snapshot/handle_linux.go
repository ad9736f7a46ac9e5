//go:build linux && !portable

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// dirHandle is how an open directory is held here.
type dirHandle struct{ fd int }

func (d dirHandle) close() { _ = unix.Close(d.fd) }

func openTop(root *os.Root) (*handle, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	// The descriptor's place in the listing is shared with the root's.
	own, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	_ = unix.Close(fd)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	return newHandle(dirHandle{own}), nil
}

// openDir opens the directory name, which must be one and no link.
func (h *handle) openDir(name string) (*handle, error) {
	fd, err := openat(h.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return newHandle(dirHandle{fd}), nil
}

// open opens a file for reading and waits for nobody.
func (h *handle) open(name string) (*os.File, error) {
	fd, err := openat(h.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (h *handle) readlink(name string) ([]byte, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(h.fd, name, buf)
	return buf[:max(n, 0)], err
}

func (h *handle) lstat(name string, into *stat) error {
	var raw unix.Stat_t
	for {
		err := unix.Fstatat(h.fd, name, &raw, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			fill(into, &raw)
		}
		return err
	}
}

// allow gives the owner of a directory, the one that was described, the right to look into it. Whoever is let in
// everywhere needs none.
func (h *handle) allow(name string, was *stat) error {
	if os.Geteuid() == 0 {
		return fs.ErrInvalid
	}
	fd, err := openat(h.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Ino != was.ino || uint64(now.Dev) != was.dev {
		return errors.Join(fs.ErrNotExist, err)
	}
	return durable.ChmodPath(fd, was.mode|0o700)
}

func fstat(f *os.File, into *stat) error {
	var raw unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &raw)
	if err == nil {
		fill(into, &raw)
	}
	return err
}

func fill(into *stat, raw *unix.Stat_t) {
	*into = stat{
		mode: modeOf(raw.Mode), uid: raw.Uid, gid: raw.Gid, size: raw.Size,
		mtime: unix.TimespecToNsec(raw.Mtim), ctime: unix.TimespecToNsec(raw.Ctim), dev: uint64(raw.Dev), ino: raw.Ino,
		links: uint64(raw.Nlink),
	}
}

func modeOf(raw uint32) fs.FileMode {
	mode := fs.FileMode(raw & 0o777)
	if raw&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if raw&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if raw&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	switch raw & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	return mode
}

// nameAt is where the name begins in a directory entry of the kernel.
const nameAt = 19

// names gives each name once, in the order of the directory.
func (h *handle) names(buf []byte, visit func(name []byte)) error {
	for {
		n, err := unix.Getdents(h.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > nameAt; {
			length := int(binary.NativeEndian.Uint16(rest[16:18]))
			name := rest[nameAt:length]
			name, _, _ = bytes.Cut(name, []byte{0})
			if string(name) != "." && string(name) != ".." {
				visit(name)
			}
			rest = rest[length:]
		}
	}
}

// closed reports whether nobody in the whole system has a file open for writing, so that nobody maps it for that either:
// only then does the kernel grant a lease for reading (fcntl(2), F_SETLEASE), which is given back at once: who opens the
// file for writing in that moment waits for it, or is told to try again if it is not to wait. Where a lease may not be asked for,
// nothing is known. A file system that has the files of another (overlayfs) keeps no account of those that are mapped.
func closed(f *os.File) bool {
	var on unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &on) != nil || !slices.Contains(ownFiles[:], uint32(on.Type)) {
		return false
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
