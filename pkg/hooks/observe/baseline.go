// Package observe finds out what a command did, and judges it.
//
// [Observer.Begin] takes a [Baseline] before the command: the workspace's files, and where the kernel does not hold the command
// to them, also what lies beside them (git's store, the ledger, places that decide what runs under the user's name, what the line
// names). At the command's end [Baseline.Finish] lists the changes, and judges each once: allowed, build output, in a package
// directory, what git made of people's commits, or a violation. Violations are taken back where the settings ask for that, or say
// why not. If the server dies meanwhile, [Recovered] gives the same judgement to what has changed since.
//
// It promises that no change of a file in the workspace is missing from the outcome unless the outcome says where
// nobody looked, and that nothing is taken back which another may have made.
//
// It does not promise to see a change that was undone before the command's end,
// or one outside of the workspace at a place that is neither listed nor named.
package observe

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe/outside"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Options are what an Observer needs.
type Options struct {
	Workspace *workspace.Workspace
	Snapshots *snapshot.Keeper
	Ledger    Guard
	Git       *replay.Repository
	// Outside are places outside of the workspace that are looked at before and after a command that is not held to it.
	Outside func() []outside.Place
	// Revert takes back what a command should not have changed. Without it only what is new is, at the level full.
	Revert bool
}

// Guard holds the ledger against a command.
type Guard interface {
	// Guard notes how the ledger ends; what it returns says what of that is gone.
	Guard(ctx context.Context) (lost func(ctx context.Context, git bool) string, err error)
	// Withhold has changes refused as long as check gives an error.
	Withhold(check func(ctx context.Context) error)
}

// Observer observes the commands of one server. It is safe for concurrent use.
type Observer struct {
	Options
	gits gitTimes
}

// New makes one.
func New(o Options) *Observer { return &Observer{Options: o} }

// Command is one that is about to run.
type Command struct {
	*Judge
	// Text is the line, and Reading what is read in it; Cwd is where it starts, workspace-relative.
	Text, Cwd string
	Reading   *shell.Reading
	// Places are those of Judge.Build.
	Places []string
	// Store is git's, where the workspace has one that can be looked at; else nil.
	Store *replay.Store
	// Exempt are the paths out of scope that a rehearsal found to be what git makes of people's commits; nil where
	// there was none. Overtaken refuses a line that was rehearsed when the refs said something else.
	Exempt    map[string]bool
	Overtaken func(now replay.Refs) error
}

// Baseline is what was seen before one command.
type Baseline struct {
	*Observer
	command *Command
	judge   *Judge
	window  *snapshot.Window
	looks   []look
	// governance is held open: so its number is not given to another.
	governance *os.File
	git        *gitBaseline // nil where none is needed
	leave      func()       // says that a command with git has ended
}

// Begin looks at the workspace before a command. Exactly one of Finish and Discard ends it.
func (o *Observer) Begin(ctx context.Context, c *Command) (_ *Baseline, err error) {
	b := &Baseline{Observer: o, command: c, judge: c.Judge, leave: func() {}}
	if c.Judge.Git {
		b.leave = o.gits.enter()
	}
	defer func() {
		if err != nil {
			b.Discard()
		}
	}()
	if c.Judge.Git && c.held() {
		if b.git, err = b.beginGit(ctx); err != nil {
			return nil, err
		}
	}
	judge := *c.Judge // others ask it while this command goes on
	if b.window, err = o.Snapshots.Begin(ctx, func(path string) bool { return c.Exempt[path] || judge.Allows(path) }); err != nil {
		return nil, fmt.Errorf("the workspace could not be looked at before the command, which was not started: %w", err)
	}
	return b, b.lookBeside(ctx)
}

// Enclosed says of the command, before Finish, what snapshot.Window.Enclosed does.
func (b *Baseline) Enclosed() { b.window.Enclosed() }

// Discard ends it for a command that did not run. After Finish it has no effect.
func (b *Baseline) Discard() {
	if b.window != nil {
		b.window.Discard()
	}
	b.git.discard(context.Background())
	b.close()
	b.leave()
}

// Linked are the files of the workspace that have several names; nil if none.
func (b *Baseline) Linked() *snapshot.Links { return b.window.Linked() }

// Pending is what the journal keeps to find the changes after a crash, and to judge them.
func (b *Baseline) Pending(o *hooks.CommandOutcome) *hooks.Pending {
	o.Detail = b.judge.save(b.command.Places)
	return &hooks.Pending{Outcome: &hooks.Outcome{Command: o}, Before: b.window.Saved, Ends: b.window.Ends}
}

// Finish adds to the outcome of a command, all of whose processes are gone, what it changed.
func (b *Baseline) Finish(ctx context.Context, o *hooks.Outcome) {
	defer b.close()
	defer b.leave()
	defer b.git.discard(ctx)
	found, err := b.window.End(context.WithoutCancel(ctx))
	if err != nil {
		o.Command.Detail = map[string]any{DetailUnseen: err.Error()}
		o.Warnings = append(o.Warnings, fmt.Sprintf("What the command changed could not be found out (%v). Tell the user.", err))
		return
	}
	b.judge.repositories = newRepositories(b.Workspace.Root(), found.Changes)
	f := &findings{report: newReport(b.judge, o), base: b}
	f.gitReplayed(ctx, found)
	for i := range found.Changes {
		f.add(&found.Changes[i])
	}
	f.directories()
	f.revert(ctx)
	f.touched(found)
	f.otherNames(found)
	for _, again := range b.looks {
		again(ctx, f)
	}
	f.tell(found)
	counts, _ := f.detail[DetailPackages].(map[string]*Packaged)
	o.Warnings = append(o.Warnings, b.PackageWarnings(ctx, counts)...)
}

// findings are made of the changes of one command that has ended.
type findings struct {
	*report
	base *Baseline
	kept keeper
}

// gitTimes are when commands ran that may write git's store: what changed there then was theirs to change.
type gitTimes struct {
	mu      sync.Mutex
	running int
	ended   time.Time // the last
}

// enter is for one that begins; what it gives back, for its end, has no effect the second time.
func (g *gitTimes) enter() func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running, g.ended = g.running-1, time.Now()
	})
}

// since reports whether one ran since a time.
func (g *gitTimes) since(begin time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running > 0 || g.ended.After(begin)
}
