package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// writable reports whether the profile lets a path be written: of the entries that hold it the deepest decides.
func (r *Profile) writable(path string) bool {
	deepest, writable := -1, false
	for _, p := range r.Sandbox.Writable {
		if len(p) > deepest && within(p, path) {
			deepest, writable = len(p), true
		}
	}
	for _, f := range r.Sandbox.Frozen {
		if len(f.Path) > deepest && within(f.Path, path) {
			deepest, writable = len(f.Path), false
		}
	}
	return writable
}

// within reports whether a path is at or below a directory.
func within(dir, path string) bool {
	_, is := below(dir, path)
	return is
}

// withinAny reports whether a path is at or below one of some directories.
func withinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
}

// below returns the slash-separated way from a directory to a path at or below it.
func below(dir, path string) (string, bool) {
	dir, path = filepath.FromSlash(dir), filepath.FromSlash(path)
	if path == dir {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
	return filepath.ToSlash(rest), ok
}

func protected(name string) bool { return workspace.Protect(name) == workspace.ProtectNever }
