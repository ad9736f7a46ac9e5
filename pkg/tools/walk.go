package tools

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// walk visits what is below a directory as git would see it, sorted by path: what .gitignore hides, .git itself, and the
// server's state are left out. visit may return fs.SkipAll to end it.
func (f *Files) walk(ctx context.Context, dir *workspace.Target, recursive bool, visit func(workspace.Entry) error) error {
	hidden := f.Workspace.Hidden()
	look := func(e workspace.Entry) error {
		switch {
		case !hides(hidden, e):
			return visit(e)
		case recursive && e.Kind == workspace.Directory:
			return fs.SkipDir
		}
		return nil
	}
	if recursive {
		return dir.Walk(ctx, look)
	}
	entries, err := dir.ReadDir()
	for _, e := range entries {
		if err == nil {
			err = look(e)
		}
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func hides(hidden *workspace.Hidden, e workspace.Entry) bool {
	return strings.EqualFold(e.Name(), ".git") || below(e.Path, ".orchestration/state") || below(e.Path, ".orchestration/cache") ||
		hidden.Hides(e.Path, e.Kind == workspace.Directory)
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// directory resolves a directory argument; "" is the workspace root.
func (f *Files) directory(requested string) (*workspace.Target, *hooks.FileEffect) {
	if requested == "" {
		requested = "."
	}
	effect := &hooks.FileEffect{Change: change.Change{Op: change.Read, Path: requested}, Directory: true, Requested: requested}
	t, err := f.Workspace.ResolveDir(requested)
	if err != nil {
		effect.Problem = pathProblem(requested, err)
		if errors.Is(err, workspace.ErrNotExist) {
			effect.Problem = refusal.AtPath(refusal.FileNotFound, clip(requested, 300), "The directory %q does not exist.", clip(requested, 300))
		}
		return nil, effect
	}
	effect.Path, effect.Protection = t.Path(), t.Protection()
	return t, effect
}
