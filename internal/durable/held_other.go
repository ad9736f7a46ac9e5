//go:build !linux || portable

package durable

import (
	"io/fs"
	"os"
	"path"
)

// Enter opens the directory name to go through it. A link or anything else is an error.
func (d *Dir) Enter(name string) (*Dir, error) { return d.OpenDir(name) }

// Held is what stood under a name. Nothing holds it here but a look before each use.
type Held struct {
	dir  *Dir
	name string
	stat Stat
}

// Hold looks at what stands under a name, which is not followed.
func (d *Dir) Hold(name string) (*Held, error) {
	st, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	return &Held{d, name, st}, nil
}

// Stat describes it.
func (h *Held) Stat() (Stat, error) { return h.stat, nil }

// Chmod sets its permissions. Of a link it is an error.
func (h *Held) Chmod(mode fs.FileMode) error {
	st, err := h.dir.Lstat(h.name)
	if err == nil && (!Same(st, h.stat) || st.Mode&fs.ModeSymlink != 0) {
		err = errSwapped
	}
	if err != nil {
		return &fs.PathError{Op: "chmod", Path: h.name, Err: err}
	}
	return h.dir.root.Chmod(h.name, mode)
}

// Close lets go of it.
func (h *Held) Close() error { return nil }

// Take gives what stands under a name another, in a directory where nobody else makes one. It goes by their paths below
// the top.
func (d *Dir) Take(name string, to *Dir, fresh string) error {
	return d.top.Rename(path.Join(d.rel, name), path.Join(to.rel, fresh))
}

// Symlink makes a link of a text under a name that must not exist yet.
func (d *Dir) Symlink(text, name string) error { return d.root.Symlink(text, name) }

// RemoveTree removes name with all that is in it.
func (d *Dir) RemoveTree(name string) error {
	err := d.root.RemoveAll(name)
	if os.IsPermission(err) {
		_ = d.root.Chmod(name, 0o700)
		err = d.root.RemoveAll(name)
	}
	return err
}
