//go:build linux && !portable

package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Enter opens the directory name to go through it: unlike OpenDir it needs no right to list it. A link or anything else
// is an error.
func (d *Dir) Enter(name string) (*Dir, error) {
	fd, err := d.openat(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{fd: fd}, nil
}

// Held is one file, directory, link or device, whatever name it has by now. As long as it is held its inode number is
// not given to another.
type Held struct{ fd int }

// Hold opens what stands under a name, which is not followed, read nor started.
func (d *Dir) Hold(name string) (*Held, error) {
	fd, err := d.openat(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	return &Held{fd}, nil
}

// Stat describes it.
func (h *Held) Stat() (Stat, error) { return (&Dir{fd: h.fd}).Stat() }

// Chmod sets its permissions, with set-user-id, set-group-id and sticky. Of a link it is an error.
func (h *Held) Chmod(mode fs.FileMode) error {
	st, err := h.Stat()
	if err == nil && st.Mode&fs.ModeSymlink != 0 {
		err = unix.EOPNOTSUPP // the way through /proc would follow it
	}
	if err == nil {
		bits := uint32(mode.Perm())
		for _, s := range specialBits {
			if mode&s.mode != 0 {
				bits |= s.raw
			}
		}
		err = unix.Fchmodat(h.fd, "", bits, unix.AT_EMPTY_PATH)
		if err == unix.EOPNOTSUPP || err == unix.ENOSYS { // before Linux 6.6 the only way is by /proc
			err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", h.fd), bits)
		}
	}
	return named("chmod", ".", err)
}

// SetModTime sets the time of the last change of its content.
func (h *Held) SetModTime(at time.Time) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(at.UnixNano())}
	return named("set the time of", ".", unix.UtimesNanoAt(h.fd, "", times, unix.AT_EMPTY_PATH))
}

// Close lets go of it.
func (h *Held) Close() error { return unix.Close(h.fd) }

// Take gives what stands under a name another, in a directory where nobody else makes one.
func (d *Dir) Take(name string, to *Dir, fresh string) error {
	err := d.renameat2(name, to, fresh, unix.RENAME_NOREPLACE)
	if errors.Is(err, ErrUnsupported) {
		return d.Replace(name, to, fresh)
	}
	return named("rename", name, err)
}

// Symlink makes a link of a text under a name that must not exist yet.
func (d *Dir) Symlink(text, name string) error {
	return named("symlink", name, retry(func() error { return unix.Symlinkat(text, d.fd, name) }))
}

// RemoveTree removes name with all that is in it, however deep that is and whatever rights its directories lack. Nobody
// else may work in it meanwhile.
func (d *Dir) RemoveTree(name string) error {
	st, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.Mode.IsDir():
		return d.Remove(name)
	}
	if err := d.Allow(name, 0o700); err != nil {
		return err
	}
	top, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	defer top.Close()
	// Each directory is brought up to the top before it is looked into: so no path gets long, and few are open.
	for {
		entries, err := top.ReadDir()
		if err == nil && len(entries) == 0 {
			return d.RemoveDir(name)
		}
		for _, e := range entries {
			if err == nil {
				err = top.raise(e, top)
			}
		}
		if err != nil {
			return err
		}
	}
}

// raise removes an entry, once what is a directory in it stands in top.
func (d *Dir) raise(e fs.DirEntry, top *Dir) error {
	if !e.IsDir() {
		return d.Remove(e.Name())
	}
	if err := d.Allow(e.Name(), 0o700); err != nil {
		return err
	}
	dir, err := d.OpenDir(e.Name())
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir()
	for _, inner := range entries {
		switch {
		case err != nil:
			return err
		case inner.IsDir():
			if err = dir.Allow(inner.Name(), 0o700); err == nil { // else its parent cannot be another
				err = dir.Take(inner.Name(), top, rand.Text())
			}
		default:
			err = dir.Remove(inner.Name())
		}
	}
	if err != nil {
		return err
	}
	return d.RemoveDir(e.Name())
}
