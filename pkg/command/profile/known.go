package profile

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Writes reports whether the command could write an absolute path without
// links. Where nothing holds it, it can write everything.
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

// Pins reports whether the profile keeps a path in its place, or something below
// it, although what it holds may be changed.
func (r *Profile) Pins(path string) bool {
	if r.Sandbox == nil {
		return false
	}
	pinned := func(at string) bool { return within(path, at) }
	return slices.ContainsFunc(r.Sandbox.Writable, pinned) || slices.ContainsFunc(r.Sandbox.Frozen, func(f sandbox.Frozen) bool { return pinned(f.Path) })
}

// Covers reports whether something else than outside stands at a path for the
// command: its own temporary directory, or nothing.
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
