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

// tree lists what is below a directory as git would see it: what .gitignore
// hides, .git itself, and the server's state are left out.
type tree struct{ hidden *workspace.Hidden }

// walk visits entries sorted by path; visit may return fs.SkipAll to end it.
func (f *Files) walk(ctx context.Context, dir *workspace.Target, recursive bool, visit func(workspace.Entry) error) error {
	t := &tree{f.Workspace.Hidden()}
	if !recursive {
		return t.list(dir, visit)
	}
	return dir.Walk(ctx, func(e workspace.Entry) error {
		if t.hides(e) {
			if e.Kind == workspace.Directory {
				return fs.SkipDir
			}
			return nil
		}
		return visit(e)
	})
}

func (t *tree) list(dir *workspace.Target, visit func(workspace.Entry) error) error {
	entries, err := dir.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if t.hides(e) {
			continue
		}
		if err := visit(e); err != nil {
			if errors.Is(err, fs.SkipAll) {
				return nil
			}
			return err
		}
	}
	return nil
}

func (t *tree) hides(e workspace.Entry) bool {
	if strings.EqualFold(e.Name(), ".git") || below(e.Path, ".orchestration/state") || below(e.Path, ".orchestration/cache") {
		return true
	}
	return t.hidden.Hides(e.Path, e.Kind == workspace.Directory)
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
