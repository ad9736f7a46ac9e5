package profile

import (
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// writable reports whether the profile lets a path be written: of the entries that
// hold it the deepest decides.
func (r *Profile) writable(path string) bool {
	deepest, writable := -1, false
	for _, p := range r.Sandbox.Writable {
		if _, ok := below(p, path); ok && len(p) > deepest {
			deepest, writable = len(p), true
		}
	}
	for _, f := range r.Sandbox.Frozen {
		if _, ok := below(f.Path, path); ok && len(f.Path) > deepest {
			deepest, writable = len(f.Path), false
		}
	}
	return writable
}

// below returns the slash-separated way from a directory to a path at or below
// it.
func below(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
	return filepath.ToSlash(rest), ok
}

func protected(name string) bool { return workspace.Protect(name) == workspace.ProtectNever }
