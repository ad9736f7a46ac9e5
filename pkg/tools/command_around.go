package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/outside"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// governanceDir is where the governance files are.
const governanceDir = ".orchestration"

// around is what a command could reach beside the files of the workspace where
// the kernel does not keep it from that, as it was before.
type around struct {
	deps *Commands
	// governance is held open: so its number is not given to another.
	governance *os.File
	top        fs.FileMode // of the workspace
	lost       func(ctx context.Context, git bool) string
	places     outside.State
	named      *outside.Sight
	store      *snapshot.GitStore
	began      time.Time // before the look
	// index says what git's index said, and written how its file was.
	index, written string
	tree           *treeHistory // where a git command may write it
}

// lookAround looks before a command. A nil around finds nothing.
func (w *watch) lookAround(ctx context.Context) (*around, error) {
	a := &around{deps: w.deps, began: time.Now()}
	if w.Git {
		a.written = w.deps.Snapshots.IndexWritten()
		a.tree = lookAtHistory(w.deps.Workspace.Dir())
	}
	if w.heldByKernel() {
		return a, nil
	}
	if w.nothingHolds() && !w.Git {
		a.index = w.deps.Snapshots.Index()
	}
	var err error
	if a.lost, err = w.deps.Trace.Guard(ctx); err != nil {
		return nil, err
	}
	a.governance, _ = durable.OpenDirectoryIn(w.deps.Workspace.Root(), governanceDir) // where there is none, there is nothing to hold
	if info, err := w.deps.Workspace.Root().Stat("."); err == nil {
		a.top = info.Mode()
	}
	a.places = outside.Look(w.deps.Outside())
	a.named = w.names.Look()
	a.store = w.deps.Snapshots.GitStore()
	return a, nil
}

func (a *around) close() {
	if a != nil && a.governance != nil {
		a.governance.Close()
		a.governance = nil
	}
}

// surroundings makes violations of what changed around the workspace's files.
func (a *account) surroundings(ctx context.Context) {
	w := a.around
	if w == nil {
		return
	}
	a.indexChange()
	a.treeChanges()
	if a.heldByKernel() {
		return
	}
	a.top()
	a.governance()
	if lost := w.lost(ctx, a.Git); lost != "" {
		a.also(hooks.Violation{Path: governanceDir + "/agent_trace.jsonl", Op: change.Modified, Kind: hooks.LedgerCut, Reason: lost})
	}
	a.gitStore()
	a.outside()
}

// also adds a violation that nothing undoes.
func (a *account) also(v hooks.Violation) {
	a.outcome.Violations = append(a.outcome.Violations, v)
}

// top looks whether the directory that the server holds is the workspace still.
func (a *account) top() {
	root := a.deps.Workspace
	if info, err := root.Root().Stat("."); err == nil && info.Mode() != a.around.top && a.Scope != nil && !a.Scope.Unrestricted() {
		a.also(hooks.Violation{Path: ".", Op: change.Modified, Kind: hooks.Metadata, Reason: fmt.Sprintf("the permissions of the workspace itself: %v before, %v now", a.around.top, info.Mode())})
	}
	moved := func(context.Context) error {
		held, err := root.Root().Stat(".")
		if err != nil {
			return fmt.Errorf("the workspace cannot be looked at: %w", err)
		}
		if now, err := os.Lstat(root.Dir()); err != nil || !os.SameFile(held, now) {
			return fmt.Errorf("the directory %s is not the workspace that this server opened: it was renamed or replaced. Ask the user to put it back, or to restart the server", root.Dir())
		}
		return nil
	}
	if err := moved(context.Background()); err != nil {
		a.also(hooks.Violation{Path: ".", Op: change.Moved, Kind: hooks.Place, Reason: err.Error()})
		a.deps.Trace.Withhold(moved)
	}
}

// governance looks whether .orchestration is the directory that it was.
func (a *account) governance() {
	if a.around.governance == nil {
		return
	}
	was, err := a.around.governance.Stat()
	if err != nil {
		return
	}
	root := a.deps.Workspace.Root()
	replaced := func(context.Context) error {
		if now, err := root.Lstat(governanceDir); err != nil || !os.SameFile(was, now) {
			return fmt.Errorf("a command renamed or replaced %s: what stands there now is not what the user declared. Ask the user to put the directory back, or to look at it and restart the server", governanceDir)
		}
		return nil
	}
	if err := replaced(context.Background()); err != nil {
		a.also(hooks.Violation{Path: governanceDir, Op: change.Moved, Kind: hooks.Place, Reason: err.Error()})
		a.deps.Trace.Withhold(replaced)
	}
}

// indexChange accounts for git's index: what git remembers of times does not
// count where no git command may write it.
func (a *account) indexChange() {
	const name = ".git/index"
	switch k := a.deps.Snapshots; {
	case a.Git && k.IndexWritten() != a.around.written:
		a.GitChanged(trace.GitChange{Path: name, After: "written anew"})
	case !a.Git && a.nothingHolds() && k.Index() != a.around.index && a.gits.since(a.around.began):
		a.Note(trace.DetailGaps, name+": a git command of another call ran at the time")
	case !a.Git && a.nothingHolds() && k.Index() != a.around.index:
		a.also(hooks.Violation{Path: name, Op: change.Modified, Kind: hooks.History, Reason: a.Objection(name)})
	}
}

// elsewhere makes violations of files in scope that were written in place and
// have names outside of the workspace: those changed with them.
func (a *account) elsewhere(found *snapshot.Difference) {
	linked := a.window.Linked()
	if linked == nil || len(linked.Files) == 0 {
		return
	}
	type file struct{ dev, inode uint64 }
	inside, of := map[file]uint64{}, map[string]*snapshot.Linked{}
	for i := range linked.Files {
		one := &linked.Files[i]
		inside[file{one.Dev, one.Inode}]++
		of[one.Path()] = one
	}
	for i := range found.Changes {
		c := &found.Changes[i]
		one := of[c.Path]
		if one == nil || !c.InPlace || a.Objection(c.Path) != "" {
			continue
		}
		if more := one.Links - min(one.Links, inside[file{one.Dev, one.Inode}]); more > 0 {
			a.also(hooks.Violation{
				Path: trace.Shown(c.Path), Op: change.Modified, Kind: hooks.Outside,
				Reason: fmt.Sprintf("%d other names of this file (hard links) are outside of the workspace, or in parts of it that are not looked at, and changed with it", more),
			})
		}
	}
}
