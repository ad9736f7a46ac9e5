package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Writes reports whether the command could write an absolute path without links. Where nothing holds it, it can write everything.
func (r *Profile) Writes(path string) bool {
	if r.Sandbox == nil {
		return true
	}
	return within(r.Sandbox.Temp, path) || within("/dev", path) || r.writable(path)
}

// Hides reports whether the profile keeps a path from being read.
func (r *Profile) Hides(path string) bool {
	return r.Sandbox != nil && (withinAny(r.Sandbox.Hidden, path) || withinAny(r.Sandbox.Emptied, path))
}

// Pins reports whether the profile keeps a path in its place, or something below it, although what it holds may be changed.
func (r *Profile) Pins(path string) bool {
	if r.Sandbox == nil {
		return false
	}
	pinned := func(at string) bool { return within(path, at) }
	return slices.ContainsFunc(r.Sandbox.Writable, pinned) || slices.ContainsFunc(r.Sandbox.Frozen, func(f sandbox.Frozen) bool { return pinned(f.Path) })
}

// Covers reports whether something else than outside stands at a path for the command: its own temporary directory, or nothing.
func (r *Profile) Covers(path string) bool {
	if r.Sandbox == nil {
		return false
	}
	if within(r.Sandbox.Workspace, path) || r.writable(path) {
		return false
	}
	covered := []string{"/tmp", "/var/tmp", "/run", "/var/run"}
	return withinAny(covered, path) && !slices.Contains(covered, path)
}

// DeniesNetwork reports whether the profile keeps the command from connecting.
func (r *Profile) DeniesNetwork() bool { return r.Sandbox != nil && r.Sandbox.DenyNetwork }

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
