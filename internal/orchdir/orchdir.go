// Package orchdir reads and rewrites the small files of the .orchestration directory that people, git and several
// processes share.
//
// It promises: a file is read only if it is a regular file, reached without a symbolic link; a rewrite is whole or absent
// after a crash, and is on disk when [Rewrite] returns; writers that use this package are serialised, and what an editor that
// does not saves in between is neither overwritten nor mixed with ours. The lock is held on the directory itself, because a
// lock file in it could be deleted, and not while anything is flushed to disk: the ledger waits for the same lock.
//
// It does not know what the files mean, and it does not create the directory. Where the system cannot exchange two
// files atomically, an editor that saves between the last look and the rename is missed; where it has no read leases, so
// is one that writes on, through a descriptor opened before, into the content that a rewrite has replaced.
package orchdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Name is the directory's name in the workspace.
const Name = ".orchestration"

// Errors of reading.
var (
	// ErrNotRegular: the name is a directory, a link, a pipe or a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotDirectory: something else stands in the place of the .orchestration directory.
	ErrNotDirectory = errors.New("not a directory")
	// ErrTooLarge: the file is over the caller's bound.
	ErrTooLarge = errors.New("file is too large")
)

// Errors of rewriting.
var (
	// ErrBusy: another process held the lock, or an editor kept saving, for as long as Rewrite waits.
	ErrBusy = errors.New("the .orchestration directory is in use by another program: try again")
	// ErrKept: content of another program was displaced and could not be put back; the error names where it is.
	ErrKept = errors.New("content saved by another program in between was displaced")
)

// errChanged: the file is not, or no longer, what was read.
var errChanged = errors.New("the file was changed while it was read or replaced")

// readAttempts bounds how often a file that changes while it is read is read again.
const readAttempts = 5

// Place says where a file is read.
type Place bool

// The places.
const (
	Workspace Place = false // the workspace itself
	Directory Place = true  // its .orchestration directory
)

// Open opens the directory that names lead to below the .orchestration directory of root, name by name: each is a
// directory of its own and no link, for a cloned repository could have one that leads among its sources. With create what
// is missing is made, with mode 0700, but never .orchestration itself. The error is fs.ErrNotExist where there is nothing.
func Open(root *os.Root, create bool, names ...string) (*os.Root, error) {
	perm := fs.FileMode(0)
	if create {
		perm = 0o700
	}
	dir, err := durable.OpenOwn(root, Name, 0)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		above := dir
		dir, err = durable.OpenOwn(above, name, perm)
		above.Close()
	}
	return dir, err
}

// ReadFile returns the content of a file of the .orchestration directory of root, or of root itself, and the file's
// state at the end of reading. It never blocks on a pipe.
func ReadFile(root *os.Root, in Place, name string, limit int64) ([]byte, fs.FileInfo, error) {
	d, err := durable.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	if in == Directory {
		sub, err := openDir(d)
		if err != nil {
			return nil, nil, err
		}
		defer sub.Close()
		d = sub
	}
	return read(d, name, limit)
}

// openDir opens the .orchestration directory below the workspace.
func openDir(top *durable.Dir) (*durable.Dir, error) {
	d, err := top.OpenDir(Name)
	if err == nil {
		return d, nil
	}
	if st, statErr := top.Lstat(Name); statErr == nil && !st.Mode.IsDir() {
		err = fmt.Errorf("%s: %w: move it away and run orchestra-mcp init", Name, ErrNotDirectory)
	}
	return nil, err
}

func read(d *durable.Dir, name string, limit int64) (data []byte, info fs.FileInfo, err error) {
	for range readAttempts {
		data, info, err = readOnce(d, name, limit)
		if !errors.Is(err, errChanged) {
			return data, info, err
		}
	}
	return nil, nil, fmt.Errorf("read %s: %w", name, err)
}

func readOnce(d *durable.Dir, name string, limit int64) ([]byte, fs.FileInfo, error) {
	file, err := d.Open(name)
	if err != nil {
		if st, statErr := d.Lstat(name); statErr == nil && !st.Mode.IsRegular() {
			err = fmt.Errorf("%s: %w", name, ErrNotRegular)
		}
		return nil, nil, err
	}
	defer file.Close()
	return readOpen(file, limit)
}

// readOpen reads an open file and checks that it did not change meanwhile.
func readOpen(file *os.File, limit int64) ([]byte, fs.FileInfo, error) {
	before, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", file.Name(), ErrNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s is over %d bytes: %w", file.Name(), limit, ErrTooLarge)
	}
	after, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if after.Size() != int64(len(data)) || !after.ModTime().Equal(before.ModTime()) {
		return nil, nil, errChanged
	}
	return data, after, nil
}
