package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Writes reports whether the command could write an absolute path without
// links. Where nothing holds it, it can write everything.
func (r *Profile) Writes(path string) bool {
	if r.Sandbox == nil {
		return true
	}
	_, temporary := below(r.Sandbox.Temp, path)
	_, device := below("/dev", path)
	return temporary || device || r.writable(path)
}

// Hides reports whether the profile keeps a path from being read.
func (r *Profile) Hides(path string) bool {
	holds := func(hidden string) bool { _, in := below(hidden, path); return in }
	return r.Sandbox != nil && (slices.ContainsFunc(r.Sandbox.Hidden, holds) || slices.ContainsFunc(r.Sandbox.Emptied, holds))
}

// Pins reports whether the profile keeps a path in its place, or something below
// it, although what it holds may be changed.
func (r *Profile) Pins(path string) bool {
	if r.Sandbox == nil {
		return false
	}
	pinned := func(at string) bool { _, in := below(path, at); return in }
	return slices.ContainsFunc(r.Sandbox.Writable, pinned) || slices.ContainsFunc(r.Sandbox.Frozen, func(f sandbox.Frozen) bool { return pinned(f.Path) })
}

// Covers reports whether something else than outside stands at a path for the
// command: its own temporary directory, or nothing.
func (r *Profile) Covers(path string) bool {
	if r.Sandbox == nil {
		return false
	}
	if _, inside := below(r.Sandbox.Workspace, path); inside || r.writable(path) {
		return false
	}
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/run", "/var/run"}, func(dir string) bool {
		return strings.HasPrefix(path, dir+string(filepath.Separator))
	})
}

// DeniesNetwork reports whether the profile keeps the command from connecting.
func (r *Profile) DeniesNetwork() bool { return r.Sandbox != nil && r.Sandbox.DenyNetwork }
