package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// hold makes a missing build place for as long as commands use it. What is still empty then is removed.
func (m *Builder) hold(place string, r *Profile) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if info, err := os.Lstat(filepath.Join(m.root, filepath.FromSlash(place))); err == nil && info.IsDir() && m.made[place] == 0 {
		return true
	}
	made, err := m.makeDir(place)
	if err != nil {
		return false
	}
	m.made[place]++
	r.vacate = append(r.vacate, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.made[place]--; m.made[place] == 0 {
			delete(m.made, place)
			_ = made.RemoveDir() // which fails if it is used
		}
		made.Close()
	})
	return true
}

// madeDir is a directory that was made for commands, held together with the one
// that it is in: they may rename and replace those above it.
type madeDir struct {
	above *durable.Dir
	name  string
	stat  durable.Stat
	held  *durable.Held
}

// openDir opens a directory by its path.
func openDir(path string) (*durable.Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return durable.OpenRoot(root)
}

// makeDir makes a directory of the workspace, or takes the one that is there. No link on the way is followed.
func (m *Builder) makeDir(place string) (_ *madeDir, err error) {
	above, err := openDir(m.root)
	if err != nil {
		return nil, err
	}
	names := strings.Split(place, "/")
	for _, name := range names[:len(names)-1] {
		next, err := above.Enter(name)
		above.Close()
		if err != nil {
			return nil, err
		}
		above = next
	}
	d := &madeDir{above: above, name: names[len(names)-1]}
	if err := above.Mkdir(d.name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, above.Close())
	}
	if d.held, err = above.Hold(d.name); err != nil {
		return nil, errors.Join(err, above.Close())
	}
	if d.stat, err = d.held.Stat(); err != nil || !d.stat.Mode.IsDir() {
		d.Close()
		return nil, errors.Join(err, fs.ErrExist)
	}
	return d, nil
}

// RemoveDir removes it, if it is empty and where it was made.
func (d *madeDir) RemoveDir() error {
	if now, err := d.above.Lstat(d.name); err != nil || !durable.Same(now, d.stat) {
		return errors.Join(err, fs.ErrNotExist)
	}
	return d.above.RemoveDir(d.name)
}

// Close lets go of it.
func (d *madeDir) Close() {
	d.held.Close()
	d.above.Close()
}

// tempPrefix begins the names of the private directories, which end in digits.
const tempPrefix = "orchestra-run-"

// temp is the private directory of one command. Its lock says that its server
// lives: it ends with the process, also where that is killed.
type temp struct {
	path string
	lock *os.File
}

// tempTries bounds how often a directory is made that another server sweeps before it is locked.
const tempTries = 100

// makeTemp makes the private directory of one command. Its path is free of links, and short, because Unix sockets are made below it.
func makeTemp() (*temp, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	for range tempTries {
		dir, err := os.MkdirTemp(parent, tempPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := durable.OpenDirectory(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, os.Remove(dir))
		}
		if mine(lock, dir) {
			return &temp{dir, lock}, nil
		}
		_ = lock.Close()
	}
	return nil, errors.New("other servers remove it each time")
}

// mine takes the lock of a directory that was just made, and reports whether it still stands: a sweep between the two
// took it for an abandoned one. Where there are no locks nobody sweeps.
func mine(lock *os.File, dir string) bool {
	locked, err := durable.TryLock(lock)
	if errors.Is(err, durable.ErrUnsupported) {
		return true
	}
	return locked && err == nil && stands(lock, dir)
}

func stands(opened *os.File, path string) bool {
	is, err := opened.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(is, named)
}

// Close removes the directory.
func (t *temp) Close() error { return errors.Join(removeTemp(t.path), t.lock.Close()) }

// sweepTemps removes what servers left that were killed: directories of this user whose lock nobody holds.
func sweepTemps(parent string) {
	entries, err := durable.ReadDirectory(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), tempPrefix)
		if is && digits != "" && strings.Trim(digits, "0123456789") == "" && e.IsDir() {
			sweepTemp(filepath.Join(parent, e.Name()))
		}
	}
}

func sweepTemp(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return
	}
	opened, err := durable.OpenDirectory(dir)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(dir, 0o700) == nil { // its command has closed it
		opened, err = durable.OpenDirectory(dir)
	}
	if err != nil {
		return
	}
	defer opened.Close()
	if locked, err := durable.TryLock(opened); err == nil && locked && stands(opened, dir) {
		_ = removeTemp(dir)
	}
}

// removeTemp removes it with all that the command left, also where the command
// took the rights to do so away, or made it deeper than any path reaches.
func removeTemp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	above, err := openDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	return above.RemoveTree(filepath.Base(dir))
}
