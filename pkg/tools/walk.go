package tools

import (
	"errors"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// ownState says what no listing and no search shows: the server's state.
func ownState(path string) bool {
	return below(path, ".orchestration/state") || below(path, ".orchestration/cache")
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
