package approval

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	governanceDir = ".orchestration"
	stateDir      = "state"
	requestsDir   = "approvals"
	grantsDir     = "grants"

	// maxFile bounds a file that is read.
	maxFile = 4 << 20
)

// open goes down step by step and follows no link: a cloned repository could have one that leads among its sources.
// What is missing is made if create is set, but never .orchestration itself. The error is fs.ErrNotExist where there is
// nothing.
func (s *Store) open(name string, create bool) (*os.Root, error) {
	perm := fs.FileMode(0)
	if create {
		perm = 0o700
	}
	dir, err := durable.OpenOwn(s.root, governanceDir, 0)
	for _, name := range []string{stateDir, name} {
		if err != nil {
			return nil, err
		}
		parent := dir
		dir, err = durable.OpenOwn(parent, name, perm)
		parent.Close()
	}
	return dir, err
}

// list opens a directory and lists it. Where there is none, all that it gives is nil.
func (s *Store) list(name string) (*os.Root, []fs.DirEntry, error) {
	dir, err := s.open(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	entries, err := names(dir)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, entries, nil
}

func names(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// readRegular reads a file that is no link, pipe or device, and not larger than we write.
func readRegular(dir *os.Root, name string) ([]byte, error) {
	d, err := durable.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	file, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, errNotAuthentic
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// writeTemp writes a file of mode 0600 under a name that nobody reads, flushed to disk.
func (s *Store) writeTemp(dir *os.Root, content []byte) (name string, err error) {
	id, err := newID("tmp_")
	if err != nil {
		return "", err
	}
	name = "." + id
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		_ = dir.Remove(name)
		return "", err
	}
	return name, nil
}

// put makes a new file appear whole.
func (s *Store) put(dir *os.Root, name string, content []byte) error {
	temp, err := s.writeTemp(dir, content)
	if err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	return nil
}

// putFirst is put, unless the name is taken: then the error is fs.ErrExist.
func (s *Store) putFirst(dir *os.Root, name string, content []byte) error {
	temp, err := s.writeTemp(dir, content)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Remove(temp) }()
	err = dir.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: the name is taken with the whole content in one write, and a reader that comes
	// between finds nothing authentic.
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("approvals: %w", err)
}
