package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	governanceDir    = ".orchestration"
	selectionSuffix  = ".json"
	viewsSuffix      = ".seen.json"
	temporarySuffix  = ".tmp"
	maxSelectionSize = 64 << 10
	maxViewsSize     = 64 << 20
)

var stateDirs = []string{"state", "sessions"} // below governanceDir

// errUninitialised says that there is nowhere to keep state: it stays in memory then.
var errUninitialised = fmt.Errorf("no %s directory: %w", governanceDir, fs.ErrNotExist)

// disk is the sessions directory: opened at the first need, and opened again when it was replaced.
type disk struct {
	workspace *os.Root
	mu        sync.Mutex
	dir       *os.Root
	identity  os.FileInfo
}

func newDisk(workspace *os.Root) *disk { return &disk{workspace: workspace} }

// opened returns the directory as it was when last looked at. Where it is missing the error is
// fs.ErrNotExist.
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
		now, err := d.workspace.Lstat(path.Join(append([]string{governanceDir}, stateDirs...)...))
		if err == nil && os.SameFile(now, d.identity) {
			return d.dir, nil
		}
		d.dir = nil // not closed: others may be in the middle of using it; the collector closes it
	}
	return d.open(create)
}

// open goes down step by step and follows no link: the directories are the server's own.
func (d *disk) open(create bool) (*os.Root, error) {
	if d.workspace == nil {
		return nil, errUninitialised
	}
	dir, err := durable.OpenOwn(d.workspace, governanceDir, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errUninitialised
	}
	perm := fs.FileMode(0)
	if create {
		perm = 0o700
	}
	for _, name := range stateDirs {
		if err != nil {
			return nil, err
		}
		parent := dir
		dir, err = durable.OpenOwn(parent, name, perm)
		parent.Close()
	}
	if err != nil {
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
	file, err := dir.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, nil, fmt.Errorf("%s is not a regular file of at most %d bytes", name, limit)
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
	var random [8]byte
	rand.Read(random[:]) // never fails
	temporary := name + "." + hex.EncodeToString(random[:]) + temporarySuffix
	info, err := writeNew(dir, temporary, data, at)
	if err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		dir.Remove(temporary)
		return nil, err
	}
	return info, nil
}

func writeNew(dir *os.Root, name string, data []byte, at time.Time) (os.FileInfo, error) {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		return nil, err
	}
	if err := dir.Chtimes(name, at, at); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return info, file.Close()
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
