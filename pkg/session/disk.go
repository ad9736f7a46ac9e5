package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

const (
	selectionSuffix  = ".json"
	viewsSuffix      = ".seen.json"
	temporarySuffix  = ".tmp"
	maxSelectionSize = 64 << 10
	maxViewsSize     = 64 << 20
)

var stateDirs = []string{"state", "sessions"} // below .orchestration

// errUninitialised says that there is nowhere to keep state: it stays in memory then.
var errUninitialised = fmt.Errorf("no %s directory: %w", orchdir.Name, fs.ErrNotExist)

// disk is the sessions directory: opened at the first need, and opened again when it was replaced.
type disk struct {
	workspace *os.Root
	mu        sync.Mutex
	dir       *os.Root
	identity  os.FileInfo
}

// opened returns the directory as it was when last looked at. Where it is missing the error is fs.ErrNotExist.
func (d *disk) opened() (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir != nil {
		return d.dir, nil
	}
	return d.open(false)
}

// confirmed makes sure that the directory is the one that stands there now. With create it makes what
// is missing, but never .orchestration itself: a workspace that is not initialised stays untouched.
func (d *disk) confirmed(create bool) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir != nil {
		now, err := d.workspace.Lstat(path.Join(append([]string{orchdir.Name}, stateDirs...)...))
		if err == nil && os.SameFile(now, d.identity) {
			return d.dir, nil
		}
		d.dir = nil // not closed: others may be in the middle of using it; the collector closes it
	}
	return d.open(create)
}

func (d *disk) open(create bool) (*os.Root, error) {
	if d.workspace == nil {
		return nil, errUninitialised
	}
	dir, err := orchdir.Open(d.workspace, create, stateDirs...)
	if err != nil {
		if _, missing := d.workspace.Lstat(orchdir.Name); errors.Is(missing, fs.ErrNotExist) {
			return nil, errUninitialised
		}
		return nil, err
	}
	if d.identity, err = dir.Stat("."); err != nil {
		dir.Close()
		return nil, err
	}
	d.dir = dir
	return dir, nil
}

// glance says how a file is in the directory as it was last opened.
func (d *disk) glance(name string) (os.FileInfo, error) {
	dir, err := d.opened()
	if err != nil {
		return nil, err
	}
	return dir.Lstat(name)
}

// stat says how a file is now; fs.ErrNotExist also where the directory does not exist.
func (d *disk) stat(name string) (os.FileInfo, error) {
	info, err := d.glance(name)
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUninitialised) {
		return info, err
	}
	dir, err := d.confirmed(false) // it may be the directory that is gone
	if err != nil {
		return nil, err
	}
	return dir.Lstat(name)
}

// read returns a file of at most limit bytes, and its identity.
func (d *disk) read(name string, limit int64) ([]byte, os.FileInfo, error) {
	dir, err := d.confirmed(false)
	if err != nil {
		return nil, nil, err
	}
	file, info, err := durable.OpenRegularIn(dir, name, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit))
	return data, info, err
}

// write replaces a file, with at as its modification time, and returns the identity of what it wrote.
// Nothing is flushed: a crash of the machine may cost the file, never half of it under its name.
func (d *disk) write(name string, data []byte, at time.Time) (os.FileInfo, error) {
	dir, err := d.confirmed(true)
	if err != nil {
		return nil, err
	}
	temporary := name + "." + rand.Text() + temporarySuffix
	if err := durable.WriteNew(dir, temporary, data, at, false); err != nil {
		return nil, err
	}
	info, err := dir.Lstat(temporary) // what comes under its name behind it is another's
	if err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		dir.Remove(temporary)
		return nil, err
	}
	return info, nil
}

// touch sets the modification time, and returns the identity that the file has then.
func (d *disk) touch(name string, at time.Time) (os.FileInfo, error) {
	dir, err := d.confirmed(false)
	if err != nil {
		return nil, err
	}
	if err := dir.Chtimes(name, at, at); err != nil {
		return nil, err
	}
	return dir.Lstat(name)
}

func (d *disk) remove(name string) {
	if dir, err := d.opened(); err == nil {
		dir.Remove(name)
	}
}

func (d *disk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dir != nil {
		d.dir.Close()
		d.dir = nil
	}
	d.workspace = nil
}

// unchanged reports whether two looks at a name saw the same file, not written or renewed in between.
func unchanged(a, b os.FileInfo) bool {
	return a != nil && b != nil && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
