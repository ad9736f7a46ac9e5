package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Entry is one name found in a directory.
type Entry struct {
	Path string // workspace-relative
	Kind Kind   // links are shown as such and not followed
	// Size in bytes and Mode are those of the moment of listing.
	Size int64
	Mode fs.FileMode

	dir  *durable.Dir
	name string
}

// Name is the last component.
func (e Entry) Name() string { return e.name }

// Read reads a regular file through the directory in which it was listed. It is possible during the callback of
// Walk only. Errors as for Target.Read.
func (e Entry) Read(limit int64) (*Content, error) {
	if e.dir == nil {
		return nil, pathError("read", e.Path, errors.New("entries of ReadDir cannot be read; resolve their path"))
	}
	c, err := readFile(e.dir, e.name, limit)
	return c, pathError("read", e.Path, err)
}

// ReadDir lists a directory, sorted by name, without this package's temporary files and what is ProtectOwn.
func (t *Target) ReadDir() ([]Entry, error) {
	dir, err := t.openSelf()
	if err != nil {
		return nil, pathError("list", t.path, err)
	}
	entries, err := list(dir, t.path, t.w.concealed())
	for i := range entries {
		entries[i].dir = nil
	}
	return entries, pathError("list", t.path, err)
}

// Walk visits everything below a directory, each directory before its content, sorted by name within it. Links
// are visited and not followed; temporary files, and what is ProtectOwn, are left out. visit can return fs.SkipDir or fs.SkipAll. A
// directory that cannot be opened is visited and not entered.
func (t *Target) Walk(ctx context.Context, visit func(Entry) error) error {
	dir, err := t.openSelf()
	if err != nil {
		return pathError("list", t.path, err)
	}
	err = walk(ctx, dir, t.path, maxWalkDepth, t.w.concealed(), visit)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

// maxWalkDepth bounds the descriptors that one walk holds.
const maxWalkDepth = 256

func walk(ctx context.Context, dir *durable.Dir, at string, depth int, hidden func(durable.Stat) bool, visit func(Entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := list(dir, at, hidden)
	if err != nil {
		return pathError("list", at, err)
	}
	for _, e := range entries {
		err := visit(e)
		if err == fs.SkipDir {
			if e.Kind == Directory {
				continue
			}
			return nil
		}
		if err != nil {
			return err
		}
		if e.Kind != Directory || depth == 0 {
			continue
		}
		if err := walkChild(ctx, dir, e, depth-1, hidden, visit); err != nil {
			return err
		}
	}
	return nil
}

func walkChild(ctx context.Context, dir *durable.Dir, e Entry, depth int, hidden func(durable.Stat) bool, visit func(Entry) error) error {
	child, err := dir.OpenDir(e.name)
	if err != nil {
		return nil // removed meanwhile, or closed to us
	}
	defer child.Close()
	return walk(ctx, child, e.Path, depth, hidden, visit)
}

// OpenDir opens the directory that the check saw, for a command to start in. The file is the caller's to close. Errors:
// ErrNotExist, ErrNotRegular for what is no directory.
func (t *Target) OpenDir() (*os.File, error) {
	dir, err := t.openSelf()
	if err != nil {
		return nil, pathError("open", t.path, err)
	}
	f, err := dir.Open(".")
	return f, pathError("open", t.path, err)
}

func (t *Target) openSelf() (*durable.Dir, error) {
	switch {
	case t.kind != Directory && t.kind != Missing:
		return nil, fmt.Errorf("%w: it is not a directory", ErrNotRegular)
	case t.kind == Missing:
		return nil, ErrNotExist
	case t.self != nil:
		return t.self, nil
	}
	return t.parent, nil // the workspace
}

func list(dir *durable.Dir, at string, hidden func(durable.Stat) bool) ([]Entry, error) {
	found, err := dir.ReadDir()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(found))
	for _, f := range found {
		if IsTemp(f.Name()) {
			continue
		}
		st, err := dir.Lstat(f.Name())
		if err != nil {
			continue // removed meanwhile
		}
		if hidden(st) {
			continue
		}
		entries = append(entries, Entry{
			Path: path.Join(at, f.Name()), Kind: kindOf(st.Mode), Size: st.Size, Mode: st.Mode, dir: dir, name: f.Name(),
		})
	}
	return entries, nil
}
