package profile

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

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
