package workspace

import (
	"errors"
	"io/fs"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// What is built can be built again: it is put in its place and taken away without a flush, and without asking what stands there.
// Paths are taken as they are: no link on the way is followed, and what governs the workspace is nobody's to reach.

// PutAny gives what lies in a directory of the same file system its place: a file, a link, or a directory with all that is in it.
// Whatever stood there goes. What a layer noted of it is removed.
func (w *Workspace) PutAny(at string, from *durable.Dir, name string) error {
	return w.place(at, func(dir *durable.Dir, base string) error {
		return opened(from, name, func() error {
			if err := dropMarks(from, name); err != nil {
				return err
			}
			err := from.Replace(name, dir, base)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := dir.RemoveTree(base); err != nil { // a directory, or one is to stand there
				return err
			}
			return from.Replace(name, dir, base)
		})
	})
}

// opened does something to a file that its owner cannot read, or a directory that he cannot write, as if he could: else nobody can
// remove what was noted of it, nor give a directory another place.
func opened(in *durable.Dir, name string, do func() error) error {
	st, err := in.Lstat(name)
	if err != nil || st.Mode.Type() != 0 && !st.Mode.IsDir() || st.Mode&0o600 == 0o600 {
		return errors.Join(err, do())
	}
	return withHeld(in, name, func(held *durable.Held) error {
		if err := held.Chmod(st.Mode | 0o700); err != nil {
			return err
		}
		return errors.Join(do(), held.Chmod(st.Mode))
	})
}

// RemoveAny takes away what stands at a path; nothing may stand there.
func (w *Workspace) RemoveAny(at string) error {
	err := w.place(at, (*durable.Dir).RemoveTree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SetMode sets the permissions of the directory at a path.
func (w *Workspace) SetMode(at string, mode fs.FileMode) error {
	return w.placeHeld(at, func(held *durable.Held) error { return held.Chmod(mode) })
}

// SetModTime sets the time of change of a directory, or of a regular file that nobody has changed since a time of the file
// systems' clock, in nanoseconds; another is left as it is.
func (w *Workspace) SetModTime(at string, to time.Time, since int64) error {
	return w.placeHeld(at, func(held *durable.Held) error {
		st, err := held.Stat()
		if err != nil || !st.Mode.IsDir() && (!st.Mode.IsRegular() || st.Changed.UnixNano() >= since) {
			return err
		}
		return held.SetModTime(to)
	})
}

func (w *Workspace) place(at string, do func(dir *durable.Dir, base string) error) error {
	if Protect(at) >= ProtectNever {
		return pathError("put", at, ErrInvalidPath)
	}
	return pathError("put", at, w.in(at, do))
}

func (w *Workspace) placeHeld(at string, do func(*durable.Held) error) error {
	return w.place(at, func(dir *durable.Dir, base string) error { return withHeld(dir, base, do) })
}

// dropMarks removes what a layer noted, from a file, or a directory and all that is in it.
func dropMarks(in *durable.Dir, name string) error {
	st, err := in.Lstat(name)
	if err != nil || st.Mode.Type() != 0 && !st.Mode.IsDir() {
		return err // links have none
	}
	if !st.Mode.IsDir() {
		f, err := in.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return durable.DropAttributes(f, overlayMarks)
	}
	dir, err := in.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.DropAttributes(overlayMarks); err != nil {
		return err
	}
	entries, err := dir.ReadDir()
	for _, e := range entries {
		if err == nil {
			err = dropMarks(dir, e.Name())
		}
	}
	return err
}
