package tools

import (
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// violated says what a change was of.
func violated(c *snapshot.Change) hooks.ViolationKind {
	switch {
	case trace.GitState(c.Path):
		return hooks.History
	case c.Op != change.Modified || c.Before.Kind != c.After.Kind || c.Before.Kind == snapshot.Special:
		return ""
	case c.Before.Kind == snapshot.Directory, c.Before.Hash != "" && c.Before.Hash == c.After.Hash:
		return hooks.Metadata
	}
	return ""
}

// heldByKernel reports whether the level lets nothing out of scope be changed,
// not even its metadata: what is found there is somebody else's.
func (w *watch) heldByKernel() bool { return w.level == sandbox.Full }

// nothingHolds reports whether the level lets everything be changed.
func (w *watch) nothingHolds() bool { return w.level == sandbox.None || w.level == "" }

// touched makes violations of what was touched out of scope.
func (a *account) touched(found *snapshot.Difference) {
	if a.heldByKernel() {
		return
	}
	for _, t := range found.Touched {
		if inside := "/" + t.Path + "/"; trace.GitState(t.Path) || t.Kind == snapshot.Directory && strings.Contains(inside, "/.git/") {
			continue // git makes its own anew
		}
		if t.Shared {
			a.Note(trace.DetailShared, trace.Shown(t.Path))
		}
		a.outcome.Violations = append(a.outcome.Violations, hooks.Violation{
			Path: trace.Shown(t.Path), Op: change.Modified, Kind: hooks.Metadata,
			Reason: fmt.Sprintf("its metadata: %s; %s", t.What, a.Objection(t.Path)), Wanted: a.Wanted(t.Path),
		})
	}
}
