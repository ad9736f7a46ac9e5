package approval

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

const (
	requestsDir = "approvals"
	grantsDir   = "grants"

	// maxFile bounds a file that is read.
	maxFile = 4 << 20
)

// open opens a directory below .orchestration/state; see orchdir.Open.
func (s *Store) open(name string, create bool) (*os.Root, error) {
	return orchdir.Open(s.root, create, "state", name)
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
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, entries, nil
}

// read decodes a file of a kind that is no link, pipe or device, and not larger than we write, after it has proved authentic.
func (s *Store) read(dir *os.Root, name, kind string, body any) error {
	content, err := durable.ReadRegularIn(dir, name, maxFile)
	switch {
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		return errNotAuthentic
	case err != nil:
		return err
	}
	return s.unseal(kind, content, body)
}

// put makes a new file appear whole, and on disk. With first the name must be free, else the error is fs.ErrExist.
func put(dir *os.Root, name string, content []byte, first bool) error {
	temp := ".tmp_" + strings.ToLower(rand.Text())
	if err := durable.WriteNew(dir, temp, content, time.Time{}, true); err != nil {
		return err
	}
	if !first {
		if err := dir.Rename(temp, name); err != nil {
			return errors.Join(err, dir.Remove(temp))
		}
		return nil
	}
	defer func() { _ = dir.Remove(temp) }()
	if err := dir.Link(temp, name); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: the name is taken with the whole content in one write, and a reader that comes
	// between finds nothing authentic.
	return durable.WriteNew(dir, name, content, time.Time{}, true)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("approvals: %w", err)
}
