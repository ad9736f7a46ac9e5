package main

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// among opens the files around those that are compared: of two directories, the
// second; of two files, the workspace in which the second is, if there is one.
// around is nil where there are none.
func (a *app) among(before, after, path string) (around mutation.Surroundings, done func(), err error) {
	at, err := a.workDir()
	if err != nil {
		return nil, nil, err
	}
	dir := within(at, after)
	if !isDir(dir) {
		if dir, err = a.workspaceDir(); err != nil {
			return nil, nil, err
		}
		if !isDir(filepath.Join(dir, orchdir.Name)) {
			return nil, func() {}, nil
		}
	}
	w, err := workspace.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = w.Close() }
	own := map[string]bool{}
	for _, name := range []string{before, after, path} {
		if relative, ok := relativeTo(w.Dir(), within(at, name)); ok && name != "" {
			own[relative] = true
		}
	}
	isInside := func(name string) bool {
		_, inside := relativeTo(w.Dir(), within(at, name))
		return inside && name != ""
	}
	if !isInside(after) && !isInside(path) {
		return nil, done, nil
	}
	judged := filepath.ToSlash(filepath.Clean(after))
	if path != "" {
		judged = path
	}
	relative, _ := relativeTo(w.Dir(), within(at, judged))
	return besides{w.Surroundings(nil), own, isDir(within(at, after)) || relative == judged}, done, nil
}

// relativeTo is where a file is below a directory, if it is.
func relativeTo(dir, name string) (relative string, inside bool) {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		name = resolved
	}
	relative, err := filepath.Rel(dir, name)
	if err != nil || !filepath.IsLocal(relative) {
		return "", false
	}
	return filepath.ToSlash(relative), true
}

// besides are surroundings without the versions that are compared, which may
// lie in the workspace under names of their own.
type besides struct {
	mutation.Surroundings
	own map[string]bool
	// placed: the paths that are compared are those in the workspace.
	placed bool
}

func (b besides) Mention(ctx context.Context, words *mutation.Words, skip func(string) bool) (*mutation.Mention, error) {
	return b.Surroundings.Mention(ctx, words, func(path string) bool { return b.own[path] || skip(path) })
}

func (b besides) List(dir string) (names []string, err error) {
	if !b.placed {
		return nil, fs.ErrNotExist
	}
	names, err = b.Surroundings.List(dir)
	return slices.DeleteFunc(names, func(name string) bool { return b.own[path.Join(dir, name)] }), err
}
