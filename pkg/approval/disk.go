package approval

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// maxFile bounds a file that is read.
const maxFile = 4 << 20

// kind is a kind of file: the purpose of its key, its directory below .orchestration/state, and its names.
type kind struct {
	name, dir, suffix string
	id                func() *regexp.Regexp
}

func (k kind) file(id string) string { return id + k.suffix }

// idOf tells a file of the kind by its name.
func (k kind) idOf(name string) (id string, is bool) {
	id, is = strings.CutSuffix(name, k.suffix)
	return id, is && k.id().MatchString(id)
}

// open opens the directory of a kind; see orchdir.Open.
func (s *Store) open(k kind, create bool) (*os.Root, error) {
	return orchdir.Open(s.root, create, "state", k.dir)
}

// list opens the directory of a kind and lists it. Where there is none, all that it gives is nil.
func (s *Store) list(k kind) (*os.Root, []fs.DirEntry, error) {
	dir, err := s.open(k, false)
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

// read decodes a file of a kind that is no link, pipe or device, and not larger than we write, after it has proved
// authentic, and that of this id.
func read[T interface{ id() string }](s *Store, dir *os.Root, k kind, id string) (body T, err error) {
	content, err := durable.ReadRegularIn(dir, k.file(id), maxFile)
	switch {
	case errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrTooLarge):
		return body, errNotAuthentic
	case err != nil:
		return body, err
	}
	if err := s.unseal(k, content, &body); err != nil {
		return body, err
	}
	if body.id() != id {
		return body, errNotAuthentic
	}
	return body, nil
}

// readAll reads the authentic files of a kind that are wanted.
func readAll[T interface{ id() string }](s *Store, k kind, wanted func(T) bool) (all []T, err error) {
	dir, entries, err := s.list(k)
	if dir == nil {
		return nil, wrap(err)
	}
	defer dir.Close()
	for _, e := range entries {
		id, is := k.idOf(e.Name())
		if !is {
			continue
		}
		if body, err := read[T](s, dir, k, id); err == nil && wanted(body) {
			all = append(all, body)
		}
	}
	return all, nil
}

func (r Request) id() string { return r.ID }
func (a Answer) id() string  { return a.ID }
func (g Grant) id() string   { return g.ID }

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

const spentDir = "spent"

// marks are the ids of what is used up or withdrawn. They lie outside of the workspace, because whoever can write there
// could put a used answer or a revoked grant back.
type marks struct {
	userDir string

	mu     sync.Mutex
	memory map[string]bool // where there is no user directory
}

// set marks an id, and tells whether this call was the first to do so. It is on disk when it returns.
func (m *marks) set(id string, until time.Time) (first bool, err error) {
	if m.userDir == "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.memory[id] {
			return false, nil
		}
		if m.memory == nil {
			m.memory = map[string]bool{}
		}
		m.memory[id] = true
		return true, nil
	}
	dir := filepath.Join(m.userDir, spentDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	file, err := os.OpenFile(filepath.Join(dir, id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !until.IsZero() {
		_, err = file.WriteString(until.UTC().Format(time.RFC3339) + "\n")
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return false, err
	}
	return true, syncDir(dir)
}

// has tells whether an id is marked; what cannot be told counts as marked.
func (m *marks) has(id string) bool {
	if m.userDir == "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.memory[id]
	}
	_, err := os.Lstat(filepath.Join(m.userDir, spentDir, id))
	return !errors.Is(err, fs.ErrNotExist)
}

// tidy removes marks whose time is over: what they are about has expired too.
func (m *marks) tidy(now time.Time) {
	if m.userDir == "" {
		return
	}
	dir := filepath.Join(m.userDir, spentDir)
	entries, _ := durable.ReadDirectory(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < Lifetime {
			continue
		}
		content, err := durable.ReadRegular(filepath.Join(dir, e.Name()), maxFile)
		if err != nil {
			continue
		}
		if until, err := time.Parse(time.RFC3339, strings.TrimSpace(string(content))); err == nil && now.After(until) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// syncDir makes a new name durable. A system that cannot flush a directory says so here, and keeps names by itself.
func syncDir(name string) error {
	dir, err := durable.OpenDirectory(name)
	if err != nil {
		return err
	}
	_ = dir.Sync()
	return dir.Close()
}
