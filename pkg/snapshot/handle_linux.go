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

func (h *handle) lstat(name string, into *stat) error {
	var raw unix.Stat_t
	for {
		err := unix.Fstatat(h.Fd(), name, &raw, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			fill(into, &raw)
		}
		return err
	}
}

// allow gives the owner of a directory, the one that was described, the right to look into it. Whoever is let in everywhere needs none.
func (h *handle) allow(name string, was *stat) error {
	if os.Geteuid() == 0 {
		return fs.ErrInvalid
	}
	held, err := h.Hold(name)
	if err != nil {
		return err
	}
	defer held.Close()
	now, err := held.Stat()
	if err != nil || !now.Mode.IsDir() || !now.Numbered(was.dev, was.ino) {
		return errors.Join(fs.ErrNotExist, err)
	}
	return held.Chmod(was.mode | 0o700)
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
		mode: durable.ModeOf(raw.Mode) &^ fs.ModeCharDevice, uid: raw.Uid, gid: raw.Gid, size: raw.Size,
		mtime: unix.TimespecToNsec(raw.Mtim), ctime: unix.TimespecToNsec(raw.Ctim), dev: uint64(raw.Dev), ino: raw.Ino,
		links: uint64(raw.Nlink),
	}
}

// nameAt is where the name begins in a directory entry of the kernel.
const nameAt = 19

// names gives each name once, in the order of the directory.
func (h *handle) names(buf []byte, visit func(name []byte)) error {
	for {
		n, err := unix.Getdents(h.Fd(), buf)
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
