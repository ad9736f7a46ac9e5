package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/outside"
	"github.com/intentgov/orchestra-mcp/pkg/command/reach"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// watch finds what one command changes, and holds it against the scope. A nil
// one finds nothing.
type watch struct {
	deps   *Commands
	call   *hooks.Call
	window *snapshot.Window
	level  sandbox.Level
	*trace.Law
	around *around
	names  *outside.Named // of the line; nil where the kernel holds all
	git    *gitWatch      // nil where none is needed
	gits   *gitTimes
	leave  func() // says that a command with git has ended
}

// watch looks at the workspace before a command. Exactly one of finish and
// discard ends it.
func (c *commandCall) watch(ctx context.Context) (*watch, error) {
	d := c.tool.deps
	if d.Snapshots == nil {
		return nil, nil
	}
	w := &watch{deps: d, call: c.call, level: c.box.level, Law: c.law(), gits: &c.tool.gits, leave: func() {}}
	if !w.heldByKernel() {
		w.names = c.outside()
	}
	if w.Git {
		w.leave = w.gits.enter()
	}
	if w.Git && w.heldByKernel() {
		git, err := c.watchGit(ctx)
		if err != nil {
			w.leave()
			return nil, err
		}
		w.git = git
	}
	var err error
	law := *w.Law // others ask it while this command goes on
	exempt := map[string]bool{}
	if c.rehearsal != nil {
		exempt = c.rehearsal.exempt
	}
	if w.window, err = d.Snapshots.Begin(ctx, func(path string) bool { return exempt[path] || law.Objection(path) == "" }); err != nil {
		w.git.discard(ctx)
		w.leave()
		return nil, fmt.Errorf("the workspace could not be looked at before the command, which was not started: %w", err)
	}
	if w.around, err = w.lookAround(ctx); err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

// law is what the command may change.
func (c *commandCall) law() *trace.Law {
	l := c.lawOf(c.box.reach.InPlace)
	l.Packages, l.Git = c.box.reach.Packages, c.writesGit()
	if c.rehearsal != nil {
		l.Replayed = slices.Sorted(maps.Keys(c.rehearsal.exempt))
	}
	return l
}

// lawOf is law for a command that has no box yet; build says what is meant for
// the output of builds.
func (c *commandCall) lawOf(build func(path string) bool) *trace.Law {
	l := &trace.Law{Ignore: c.call.Ignore, Build: build, Places: c.tool.deps.Workspace.Inside(), Git: true}
	if c.call.Intent != nil {
		l.Intent, l.Scope = c.call.Intent.ID, c.call.Intent.Scope()
	}
	l.Named = c.named()
	return l
}

// named are the files that the gate has let the line write by their names.
func (c *commandCall) named() []string {
	var names []string
	for _, f := range c.targets {
		if f.Mutates() {
			names = append(names, f.Path)
		}
	}
	return names
}

// writesGit reports whether .git is open to the command, as far as its level
// can open it.
func (c *commandCall) writesGit() bool {
	git := c.tool.deps.Confine.Git
	return runsGit(c.effect.Reading) && (git == reach.GitTrusted || git == reach.GitOpen && c.box.level != sandbox.Landlock)
}

func (w *watch) discard() {
	if w != nil {
		w.window.Discard()
		w.git.discard(context.Background())
		w.around.close()
		w.leave()
	}
}

// pending is what the journal keeps to find the changes after a crash.
func (w *watch) pending(o *hooks.CommandOutcome) *hooks.Pending {
	p := &hooks.Pending{Outcome: &hooks.Outcome{Command: o}}
	if w != nil {
		p.Before, p.Ends = w.window.Saved(), w.window.Ends()
	}
	return p
}

// judged is what the journal keeps to judge the changes by after a crash.
func (w *watch) judged(places []string) map[string]any {
	if w == nil {
		return nil
	}
	return map[string]any{trace.DetailJudged: w.Judged(places, w.heldByKernel())}
}

// finish adds to the outcome of a command, all of whose processes are gone,
// what it changed.
func (w *watch) finish(ctx context.Context, o *hooks.Outcome) {
	if w == nil {
		return
	}
	defer w.around.close()
	defer w.leave()
	defer w.git.discard(ctx)
	found, err := w.window.End(context.WithoutCancel(ctx))
	if err != nil {
		o.Command.Detail = map[string]any{trace.DetailUnseen: err.Error()}
		o.Warnings = append(o.Warnings, fmt.Sprintf("What the command changed could not be found out (%v). Tell the user.", err))
		return
	}
	w.Repositories = trace.NewRepositories(w.deps.Workspace.Root(), found.Changes)
	a := &account{watch: w, outcome: o, Account: trace.NewAccount()}
	a.gitReplayed(ctx, found)
	for i := range found.Changes {
		a.add(&found.Changes[i])
	}
	a.directories()
	a.revert(ctx)
	a.touched(found)
	a.elsewhere(found)
	a.surroundings(ctx)
	a.tell(ctx, found)
}

// account is made of the changes of one command.
type account struct {
	*watch
	outcome *hooks.Outcome
	*trace.Account

	more  int
	dirs  []*snapshot.Change
	wrong []*snapshot.Change // violations, one to one with the outcome's
	kept  keeper
	// replayed are paths that git made of people's commits.
	replayed []string
}

// add accounts for one change.
func (a *account) add(c *snapshot.Change) {
	if kindOf(c) == snapshot.Directory {
		a.dirs = append(a.dirs, c)
		return
	}
	if trace.GitState(c.Path) {
		if reason := trace.ResumedBy(c); reason != "" && a.Git {
			a.violation(c, hooks.Violation{Path: trace.Shown(c.Path), Op: c.Op, Kind: hooks.History, Reason: reason})
		}
		if !a.charged(c) {
			return
		}
	}
	if a.Packaged(a.Law, c) {
		return
	}
	f := a.File(c)
	reason := a.reason(c)
	f.InScope = reason == ""
	switch {
	case reason != "":
		a.violation(c, hooks.Violation{Path: f.Path, Op: f.Op, Reason: reason, Kind: violated(c), Wanted: a.wanted(c)})
	case a.Build(c.Path) && (c.From == "" || a.Build(c.From)):
		counted := f.Change.Bare()
		counted.Hunks = nil
		a.outcome.Build = append(a.outcome.Build, hooks.FileOutcome{Change: counted, InScope: true})
		return
	}
	if len(a.outcome.Files) == trace.MaxRecorded {
		a.more++
		return
	}
	a.outcome.Files = append(a.outcome.Files, f)
	a.Describe(c, &f)
}

func (a *account) reason(c *snapshot.Change) string {
	if reason := a.Objection(c.Path); reason != "" || c.From == "" {
		return reason
	}
	if reason := a.Objection(c.From); reason != "" {
		return "of " + trace.Shown(c.From) + ": " + reason
	}
	return ""
}

func (a *account) wanted(c *snapshot.Change) []string {
	if c.From != "" {
		return a.Wanted(c.Path, c.From)
	}
	return a.Wanted(c.Path)
}

func (a *account) violation(c *snapshot.Change, v hooks.Violation) {
	a.wrong = append(a.wrong, c)
	a.outcome.Violations = append(a.outcome.Violations, v)
}

// directories finds those out of scope of which no changed file tells.
// Directories have no place in a record but as violations.
func (a *account) directories() {
	for _, c := range a.dirs {
		if git := "/" + c.Path + "/"; strings.Contains(git, "/.git/") {
			if c.Op == change.Deleted && strings.HasSuffix(git, "/.git/objects/") && a.nothingHolds() {
				a.violation(c, hooks.Violation{Path: trace.Shown(c.Path), Op: change.Deleted, Kind: hooks.History, Reason: "all that git had committed"})
			}
			continue // git makes and removes its own; what counts there is files
		}
		reason := a.Objection(c.Path)
		if reason == "" || a.Objection(c.Path+"/x") == "" || a.fileBelow(c.Path) || a.byGit(c.Path) {
			continue
		}
		a.violation(c, hooks.Violation{Path: trace.Shown(c.Path), Op: c.Op, Reason: "a directory; " + reason, Wanted: a.wanted(c)})
	}
}

func (a *account) fileBelow(dir string) bool {
	return slices.ContainsFunc(a.outcome.Files, func(f hooks.FileOutcome) bool {
		return strings.HasPrefix(f.Path, dir+"/") || strings.HasPrefix(f.From, dir+"/")
	})
}

// tell writes down what concerns all of it.
func (a *account) tell(ctx context.Context, found *snapshot.Difference) {
	o := a.outcome
	if a.more > 0 {
		a.Detail[trace.DetailMore] = a.more
		o.Warnings = append(o.Warnings, fmt.Sprintf("The command changed %d more files than a record can name.", a.more))
	}
	if _, is := a.Detail[trace.DetailShared]; is {
		a.Detail[trace.DetailCertainty] = "shared"
		o.Warnings = append(o.Warnings, "Another command ran at the same time; some of the changes may be its own (the record marks them).")
	}
	for _, path := range found.Given {
		a.Note(trace.DetailGiven, trace.Shown(path))
	}
	for _, gap := range found.Gaps {
		a.Note(trace.DetailGaps, trace.Shown(gap.String()))
	}
	if len(found.Gaps) > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("Parts of the workspace could not be looked into, so changes there are not known (%s).", inNote(trace.Shown(found.Gaps[0].String()))))
	}
	if none, is := a.Detail[trace.DetailNoImage].([]string); is {
		o.Warnings = append(o.Warnings, fmt.Sprintf("The content before the change is not kept of %d files (%s); undo cannot bring it back.", len(none), inNote(none[0])))
	}
	a.packages(ctx)
	if len(a.Detail) > 0 {
		o.Command.Detail = a.Detail
	}
}

func kindOf(c *snapshot.Change) snapshot.Kind {
	if c.After != nil {
		return c.After.Kind
	}
	return c.Before.Kind
}
