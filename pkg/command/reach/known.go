package reach

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Writes reports whether the command could write an absolute path without
// links. Where nothing holds it, it can write everything.
func (r *Reach) Writes(path string) bool {
	if r.Box == nil {
		return true
	}
	_, temporary := below(r.Box.Temp, path)
	_, device := below("/dev", path)
	return temporary || device || r.writable(path)
}

// Hides reports whether the box keeps a path from being read.
func (r *Reach) Hides(path string) bool {
	holds := func(hidden string) bool { _, in := below(hidden, path); return in }
	return r.Box != nil && (slices.ContainsFunc(r.Box.Hidden, holds) || slices.ContainsFunc(r.Box.Emptied, holds))
}

// Pins reports whether the box keeps a path in its place, or something below
// it, although what it holds may be changed.
func (r *Reach) Pins(path string) bool {
	if r.Box == nil {
		return false
	}
	pinned := func(at string) bool { _, in := below(path, at); return in }
	return slices.ContainsFunc(r.Box.Writable, pinned) || slices.ContainsFunc(r.Box.Frozen, func(f sandbox.Frozen) bool { return pinned(f.Path) })
}

// Covers reports whether something else than outside stands at a path for the
// command: its own temporary directory, or nothing.
func (r *Reach) Covers(path string) bool {
	if r.Box == nil {
		return false
	}
	if _, inside := below(r.Box.Workspace, path); inside || r.writable(path) {
		return false
	}
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/run", "/var/run"}, func(dir string) bool {
		return strings.HasPrefix(path, dir+string(filepath.Separator))
	})
}

// DeniesNetwork reports whether the box keeps the command from connecting.
func (r *Reach) DeniesNetwork() bool { return r.Box != nil && r.Box.DenyNetwork }
