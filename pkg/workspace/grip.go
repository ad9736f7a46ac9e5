package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Grip is what stands at a path, held by a descriptor together with the directory that it is in: what is done to it is
// done to that very file, directory, link or device, or not at all, whoever renames or exchanges directories meanwhile.
// It is for what a look has found and somebody must take away or put right; what tools change goes through Target.
type Grip struct {
	w    *Workspace
	path string
	dir  *durable.Dir
	name string
	held *durable.Held
	stat durable.Stat
}

// ErrReplaced: something else stands there than what was looked at.
var ErrReplaced = errors.New("something else stands there by now")

// Hold finds what stands at a path, which must be the one with a number (of device and inode; off Linux there are none).
// The path is taken as it is: no link on it is followed, nothing is cleaned, and it may have names that no tool takes.
// Where a directory on the way is the workspace's .orchestration or .git under another name, it is ErrChangedDir.
// The caller closes the grip.
func (w *Workspace) Hold(at string, device, inode uint64) (*Grip, error) {
	g, err := w.grip(at)
	if err == nil && !g.stat.Numbered(device, inode) {
		return nil, errors.Join(ErrReplaced, g.Close())
	}
	return g, err
}

// HoldFile is Hold for a file that is known by its content.
func (w *Workspace) HoldFile(at string, content Hash) (*Grip, error) {
	g, err := w.grip(at)
	if err != nil {
		return nil, err
	}
	f, err := g.Open()
	if err == nil {
		var has Hash
		if has, err = HashFile(f); err == nil && has != content {
			err = ErrReplaced
		}
		f.Close()
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (w *Workspace) grip(at string) (*Grip, error) {
	dir, name, err := w.enter(at)
	if err != nil {
		return nil, err
	}
	held, err := dir.Hold(name)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	g := &Grip{w: w, path: at, dir: dir, name: name, held: held}
	if g.stat, err = held.Stat(); err == nil && w.governs(at, g.stat) {
		err = ErrChangedDir
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// enter opens the directory that a path is in.
func (w *Workspace) enter(at string) (dir *durable.Dir, name string, err error) {
	names := strings.Split(at, "/")
	last := len(names) - 1
	dir, err = w.top.Enter(".")
	for i := 0; err == nil && i < last; i++ {
		above := dir
		dir, err = above.Enter(names[i])
		above.Close()
		if err != nil {
			break
		}
		st, serr := dir.Stat()
		if serr == nil && w.governs(path.Join(names[:i+1]...), st) {
			serr = ErrChangedDir
		}
		if err = serr; err != nil {
			dir.Close()
		}
	}
	return dir, names[last], err
}

// governs reports whether a directory is .orchestration or .git of the workspace, and its path says otherwise.
func (w *Workspace) governs(at string, dir durable.Stat) bool {
	for _, name := range []string{governanceDir, ".git"} {
		if own, err := w.top.Lstat(name); err == nil && at != name && durable.Same(own, dir) {
			return true
		}
	}
	return false
}

// Close lets go of it.
func (g *Grip) Close() error { return errors.Join(g.held.Close(), g.dir.Close()) }

// Mode is what it was when it was found.
func (g *Grip) Mode() fs.FileMode { return g.stat.Mode }

// Size is that of a file, in bytes, and Links how many names it has.
func (g *Grip) Size() int64   { return g.stat.Size }
func (g *Grip) Links() uint64 { return g.stat.Links }

// Chmod sets its permissions.
func (g *Grip) Chmod(mode fs.FileMode) error { return g.held.Chmod(mode) }

// Open opens a file for reading.
func (g *Grip) Open() (*os.File, error) {
	f, err := openRegular(g.dir, g.name)
	if err != nil {
		return nil, err
	}
	if st, err := durable.StatFile(f); err != nil || !durable.Same(st, g.stat) {
		return nil, errors.Join(ErrReplaced, err, f.Close())
	}
	return f, nil
}

// RemoveDir removes an empty directory. Who could put another empty one in its place at this very moment could remove
// that as well.
func (g *Grip) RemoveDir() error {
	if !is(g.dir, g.name, g.stat) {
		return ErrReplaced
	}
	return errors.Join(g.allowed(func() error { return g.dir.RemoveDir(g.name) }), g.flush())
}

// allowed does something to the name, also where the owner has taken the right to do so from the directory that it is
// in.
func (g *Grip) allowed(do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	st, serr := g.dir.Stat()
	if serr != nil || st.Mode.Perm()&0o300 == 0o300 {
		return err
	}
	above, aerr := g.dir.Hold(".")
	if aerr != nil {
		return err
	}
	defer above.Close()
	if above.Chmod(st.Mode|0o300) != nil {
		return err
	}
	return errors.Join(do(), above.Chmod(st.Mode))
}

// MoveTo gives it a new name, in a directory where nobody else makes one. If it was something else that had the name
// by then, this goes back; where that cannot be it stays under the new name, which the error says.
func (g *Grip) MoveTo(to *durable.Dir, fresh string) error {
	if !is(g.dir, g.name, g.stat) {
		return ErrReplaced
	}
	if g.stat.Mode.IsDir() && g.stat.Mode.Perm()&0o700 != 0o700 {
		_ = g.Chmod(g.stat.Mode | 0o700) // else it cannot be in another
	}
	if err := g.allowed(func() error { return g.dir.Take(g.name, to, fresh) }); err != nil {
		return err
	}
	if is(to, fresh, g.stat) {
		return g.flush()
	}
	if err := to.Move(fresh, g.dir, g.name); err != nil {
		return fmt.Errorf("%w, and could not be left there (%w): it is %s now", ErrReplaced, err, fresh)
	}
	return ErrReplaced
}

// Aside gives it a temporary name in its own directory, for what cannot be moved elsewhere, and returns what removes it
// then.
func (g *Grip) Aside() (remove func() error, err error) {
	fresh := g.w.tempName("./" + path.Dir(g.path))
	if err := g.MoveTo(g.dir, fresh); err != nil {
		return nil, err
	}
	g.name = fresh
	return func() error { return g.dir.Remove(fresh) }, nil
}

// MoveBack gives it the name that it had at another path, where nothing may stand.
func (g *Grip) MoveBack(at string) error {
	return g.w.in(at, func(dir *durable.Dir, name string) error {
		if !is(g.dir, g.name, g.stat) {
			return ErrReplaced
		}
		if err := g.allowed(func() error { return g.dir.Move(g.name, dir, name) }); err != nil {
			return err
		}
		if is(dir, name, g.stat) {
			return g.flush()
		}
		return errors.Join(ErrReplaced, dir.Move(name, g.dir, g.name))
	})
}

func (g *Grip) flush() error {
	if g.w.durability != Full {
		return nil
	}
	dir, err := g.dir.OpenDir(".")
	if err != nil {
		return nil // one that nobody may list
	}
	defer dir.Close()
	return dir.Sync()
}

// MakeLink makes a symbolic link at a path where nothing may stand, and MakeDir a directory with permissions.
func (w *Workspace) MakeLink(at, text string) error {
	return w.in(at, func(dir *durable.Dir, name string) error { return dir.Symlink(text, name) })
}

func (w *Workspace) MakeDir(at string, mode fs.FileMode) error {
	return w.in(at, func(dir *durable.Dir, name string) error {
		if err := dir.Mkdir(name, 0o700); err != nil {
			return err
		}
		return withHeld(dir, name, func(made *durable.Held) error { return made.Chmod(mode) })
	})
}

// in does something in the directory that a path is in.
func (w *Workspace) in(at string, do func(dir *durable.Dir, name string) error) error {
	dir, name, err := w.enter(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir, name)
}

// withHeld does something to what stands at a name: to that very thing, also if something else has the name by then.
func withHeld(dir *durable.Dir, name string, do func(*durable.Held) error) error {
	held, err := dir.Hold(name)
	if err != nil {
		return err
	}
	defer held.Close()
	return do(held)
}
