package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// Entry is one name found in a directory.
type Entry struct {
	Path string // workspace-relative
	Kind Kind   // links are shown as such and not followed

	sight *sight
	dir   *durable.Dir
	name  string
}

// Name is the last component.
func (e Entry) Name() string { return e.name }

// Open opens a regular file through the directory in which it was found. It is possible during the callback that was
// given the entry only. Errors as for Target.Open. The caller closes it.
func (e Entry) Open() (*File, error) {
	raw, stat, err := e.dir.OpenRaw(e.name)
	if err != nil {
		return nil, pathError("read", e.Path, err)
	}
	if e.sight.conceals(stat) {
		return nil, errors.Join(pathError("read", e.Path, ErrNotExist), raw.Close())
	}
	return &File{raw, stat.Size}, nil
}

// File is an open file of an Entry.
type File struct {
	durable.Raw
	// Size in bytes is that of the moment of opening.
	Size int64
}

// Walk visits everything below a directory as git would see it, each directory before its content, sorted by name within
// it. Left out are what .gitignore files hide, .git, what leave says (nil for nothing), temporary files, and what is
// ProtectOwn. Links are visited and not followed. visit can return fs.SkipDir or fs.SkipAll. A directory that cannot be
// opened is visited and not entered.
func (t *Target) Walk(ctx context.Context, leave func(path string) bool, visit func(Entry) error) error {
	dir, err := t.openSelf()
	if err != nil {
		return pathError("list", t.path, err)
	}
	err = t.w.sight(leave).walk(ctx, dir, t.path, t.w.rulesAbove(t.path), maxWalkDepth, visit)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

// maxWalkDepth bounds the descriptors that one walk holds.
const maxWalkDepth = 256

func (s *sight) walk(ctx context.Context, dir *durable.Dir, at string, rules gitignore.At, depth int, visit func(Entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, rules, err := s.list(dir, at, rules)
	if err != nil {
		return pathError("list", at, err)
	}
	for _, e := range entries {
		if s.concealsName(e) {
			continue
		}
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
		if err := s.walkChild(ctx, e, rules.Enter(e.name), depth-1, visit); err != nil {
			return err
		}
	}
	return nil
}

func (s *sight) walkChild(ctx context.Context, e Entry, rules gitignore.At, depth int, visit func(Entry) error) error {
	child, err := e.dir.OpenDir(e.name)
	if err != nil {
		return notEntered(err)
	}
	defer child.Close()
	return s.walk(ctx, child, e.Path, rules, depth, visit)
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

// sight is what of a tree is visited. It is safe for concurrent use.
type sight struct {
	w       *Workspace
	leave   func(path string) bool
	conceal func(durable.Stat) bool // nil where nothing is
}

func (w *Workspace) sight(leave func(path string) bool) *sight {
	return &sight{w, leave, w.concealed()}
}

func (s *sight) conceals(stat durable.Stat) bool { return s.conceal != nil && s.conceal(stat) }

// list gives what is visited of a directory, but for what is concealed, and the rules for what is in it.
func (s *sight) list(dir *durable.Dir, at string, rules gitignore.At) ([]Entry, gitignore.At, error) {
	names, err := dir.Names()
	if err != nil {
		return nil, rules, err
	}
	rules = s.w.rulesIn(dir, at, names, rules)
	entries := make([]Entry, 0, len(names))
	for _, n := range names {
		e := Entry{Kind: kindOf(n.Type), sight: s, dir: dir, name: n.Name}
		if IsTemp(n.Name) || strings.EqualFold(n.Name, ".git") || rules.Match(n.Name, e.Kind == Directory) {
			continue
		}
		if e.Path = path.Join(at, n.Name); s.leave != nil && s.leave(e.Path) {
			continue
		}
		entries = append(entries, e)
	}
	return entries, rules, nil
}

// concealsName looks at what stands under a name only where something is concealed.
func (s *sight) concealsName(e Entry) bool {
	if s.conceal == nil {
		return false
	}
	stat, err := e.dir.Lstat(e.name)
	return err != nil || s.conceal(stat) // or removed meanwhile
}
