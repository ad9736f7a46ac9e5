package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/reach"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// gitWatch follows what a command with git does to refs, at the level full. A nil
// one follows nothing.
type gitWatch struct {
	deps    *Commands
	line    replay.Line
	where   reach.Rehearsed
	running *replay.Running
	refs    gitRefs
	before  replay.State
	trusted []string
	words   []string // commits that the line leaves uncommitted what it makes of
	// exempt are the paths that a rehearsal found to be git's.
	exempt map[string]bool
}

// watchGit begins it.
func (c *commandCall) watchGit(ctx context.Context) (*gitWatch, error) {
	d := c.tool.deps
	where, err := d.Confine.Reach.Rehearsable()
	if err != nil || where.Common == "" {
		return nil, nil
	}
	g := &gitWatch{deps: d, line: replay.ReadLine(c.effect.Reading), where: where}
	if g.refs, err = d.refs(ctx); err != nil {
		return nil, fmt.Errorf("the branches could not be looked at before the command, which was not started: %w", err)
	}
	if c.rehearsal != nil {
		if err := c.rehearsal.overtaken(g.refs); err != nil {
			return nil, err
		}
	}
	g.before = g.store().State()
	if g.running, g.trusted, err = d.trust().Begin(ctx, g.refs.tips); err != nil {
		return nil, fmt.Errorf("the command was not started: %w", err)
	}
	if c.rehearsal != nil {
		g.exempt = c.rehearsal.exempt
		if g.line.Uncommitted {
			g.words = d.commits(ctx, g.line.Words)
		}
	}
	return g, nil
}

func (g *gitWatch) store() replay.Store { return storeOf(g.where, nil) }

// discard ends it for a command that did not run.
func (g *gitWatch) discard(ctx context.Context) {
	if g != nil && g.running != nil {
		_ = g.running.End(ctx, g.refs.tips, nil, nil) // else what comes until the next command is nobody's
		g.running = nil
	}
}

// replayed are the changes of a command that git made of commits that people made,
// or that are in scope and were known before. The error says that it is not known.
func (g *gitWatch) replayed(ctx context.Context, law *trace.Law, now gitRefs, changes []snapshot.Change) (map[string]bool, error) {
	at, err := openLayers(g.deps.Workspace)
	if err != nil {
		return nil, err
	}
	defer at.close()
	trusted := append(slices.Clone(g.trusted), g.deps.fetched(ctx, g.line, g.refs.remotes, now.remotes)...)
	judges := [2]*replay.Judge{}
	for i, allowed := range []func(path string) bool{
		func(path string) bool { return law.Objection(path) == "" }, // of commits
		func(string) bool { return false },                          // of the work tree: what the agent wrote in this line is its own
	} {
		scratch, err := at.sub(fmt.Sprint("scratch", i))
		if err != nil {
			return nil, err
		}
		if judges[i], err = g.deps.judge(scratch, g.store(), trusted, allowed); err != nil {
			return nil, err
		}
	}
	var found map[string]bool
	if g.exempt != nil {
		found, err = g.worktree(ctx, law, judges, changes)
	}
	g.learn(ctx, judges[0], now, trusted, g.left(law, found, changes))
	return found, err
}

// worktree finds the paths of the work tree.
func (g *gitWatch) worktree(ctx context.Context, law *trace.Law, judges [2]*replay.Judge, changes []snapshot.Change) (map[string]bool, error) {
	state := g.store().State().With(g.before)
	standing := [2]*replay.Standing{judges[0].Standing(ctx, state, g.words), judges[1].Standing(ctx, state, g.words)}
	found := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if kindOf(c) == snapshot.Directory || trace.GitState(c.Path) {
			continue
		}
		is := true
		for path, after := range ends(c) {
			which := 0
			if law.Objection(path) == "" {
				which = 1
			} else if law.Wanted(path) == nil {
				is = false
				break
			}
			has, err := standing[which].Has(ctx, path, entryIn(after), textOf(after))
			if err != nil {
				return nil, err
			}
			is = is && has
		}
		found[c.Path] = is
	}
	return found, nil
}

// ends are the paths of a change, with what stands there now.
func ends(c *snapshot.Change) map[string]*snapshot.Content {
	all := map[string]*snapshot.Content{c.Path: c.After}
	if c.From != "" {
		all[c.From] = nil
	}
	return all
}

// entryIn is what git would have of a content.
func entryIn(c *snapshot.Content) replay.Entry {
	switch {
	case c == nil:
		return replay.Entry{}
	case c.Kind == snapshot.Link:
		return replay.Entry{Mode: "120000", ID: c.OID}
	case c.Kind == snapshot.File && c.OID != "":
		return replay.Entry{Mode: gitread.FileMode(c.Mode), ID: c.OID}
	}
	return replay.Entry{Mode: "special", ID: "unknown"}
}

func textOf(c *snapshot.Content) func() (string, error) {
	return func() (string, error) {
		if c == nil || !c.Known {
			return "", fmt.Errorf("its content is not known")
		}
		return string(c.Bytes), nil
	}
}

// learn notes which of the tips are as good as a person's.
func (g *gitWatch) learn(ctx context.Context, judge *replay.Judge, now gitRefs, trusted []string, left map[string]string) {
	explained := trusted[len(g.trusted):]
	for _, id := range now.tips {
		if slices.Contains(g.refs.tips, id) {
			continue
		}
		if bad, err := judge.Unexplained(ctx, id); err == nil && len(bad) == 0 {
			explained = append(explained, id)
		}
	}
	_ = g.running.End(ctx, now.tips, explained, left) // else what is new is nobody's
	g.running = nil
}

// left are the paths out of scope that the line left uncommitted, with their blobs.
func (g *gitWatch) left(law *trace.Law, found map[string]bool, changes []snapshot.Change) map[string]string {
	if !g.line.Uncommitted {
		return nil
	}
	left := map[string]string{}
	for i := range changes {
		if c := &changes[i]; found[c.Path] && law.Objection(c.Path) != "" {
			left[c.Path] = entryIn(c.After).ID
		}
	}
	return left
}

// gitReplayed takes what git made of people's commits out of the changes, for a
// record of its own.
func (a *account) gitReplayed(ctx context.Context, found *snapshot.Difference) {
	g := a.git
	if g == nil {
		return
	}
	defer g.discard(ctx)
	now, err := g.deps.refs(ctx)
	if err == nil {
		a.ledgerRefs(ctx, g.refs.ledger, now.ledger)
	}
	var is map[string]bool
	if err == nil {
		is, err = g.replayed(ctx, a.Law, now, found.Changes)
	}
	if err != nil {
		a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("Which of the changes git made of commits that were there before could not be found out: %v.", err))
		return
	}
	record := &hooks.GitReplay{Before: g.before.Head, After: g.store().State().Head}
	found.Changes = slices.DeleteFunc(found.Changes, func(c snapshot.Change) bool {
		if !is[c.Path] {
			return false
		}
		record.Count(c.Op)
		a.replayed = append(a.replayed, c.Path)
		if c.From != "" {
			a.replayed = append(a.replayed, c.From)
		}
		return true
	})
	if len(a.replayed) == 0 {
		return
	}
	record.Commits = g.deps.between(ctx, record.Before, record.After)
	a.outcome.Git = record
	a.outcome.Warnings = append(a.outcome.Warnings, fmt.Sprintf("%d files say what git made of commits that were there before (%d created, %d modified, %d deleted). They count as nobody's change, and are in no list.",
		record.Created+record.Modified+record.Deleted, record.Created, record.Modified, record.Deleted))
}

// ledgerRefs puts back refs of the ledger that a command took away or moved to what
// does not come of them: by the file packed-refs, for their directory is closed.
func (a *account) ledgerRefs(ctx context.Context, before, now map[string]string) {
	git := a.deps.repository()
	for name, id := range before {
		is := now[name]
		if is == id {
			continue
		}
		op := change.Deleted
		if is != "" {
			op = change.Modified
			if _, err := git.Ask(ctx, "merge-base", "--is-ancestor", "--end-of-options", id, is); err == nil {
				continue // sync brought it on
			}
		}
		err := git.Command(ctx, "update-ref", "--no-deref", name, id).Run()
		a.also(hooks.Violation{Path: ".git/" + trace.Shown(name), Op: op, Kind: hooks.History, Reason: "only orchestra-mcp moves the refs of the ledger", Reverted: err == nil})
	}
}

// byGit reports whether a directory is there, or gone, for what git made in it.
func (a *account) byGit(dir string) bool {
	return slices.ContainsFunc(a.replayed, func(path string) bool { return strings.HasPrefix(path, dir+"/") })
}

// maxCommits bounds the commits that a record of kind git names.
const maxCommits = 100

// between are the commits that came under HEAD.
func (d *Commands) between(ctx context.Context, before, after string) []string {
	if after == "" || before == after {
		return nil
	}
	args := []string{"rev-list", fmt.Sprint("--max-count=", maxCommits), after}
	if before != "" {
		args = append(args, "^"+before)
	}
	out, err := d.repository().Ask(ctx, args...)
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}
