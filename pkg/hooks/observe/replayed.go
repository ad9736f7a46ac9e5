package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// gitBaseline is what git had before a command that can write its store, at the level full. A nil one follows nothing.
type gitBaseline struct {
	line    replay.Line
	store   replay.Store
	running *replay.Running
	refs    replay.Refs
	state   replay.State
	trusted []string
	words   []string // commits that the line leaves uncommitted what it makes of
}

// beginGit takes it.
func (b *Baseline) beginGit(ctx context.Context) (_ *gitBaseline, err error) {
	c := b.command
	if c.Store == nil {
		return nil, nil
	}
	g := &gitBaseline{line: replay.ReadLine(c.Reading), store: *c.Store}
	if g.refs, err = b.Git.Refs(ctx); err != nil {
		return nil, fmt.Errorf("the branches could not be looked at before the command, which was not started: %w", err)
	}
	if c.Overtaken != nil {
		if err := c.Overtaken(g.refs); err != nil {
			return nil, err
		}
	}
	g.state = g.store.State()
	if g.running, g.trusted, err = b.Git.Trust().Begin(ctx, g.refs.Tips); err != nil {
		return nil, fmt.Errorf("the command was not started: %w", err)
	}
	if c.Exempt != nil && g.line.Uncommitted {
		g.words = b.Git.Commits(ctx, g.line.Words)
	}
	return g, nil
}

// discard ends it for a command that did not run.
func (g *gitBaseline) discard(ctx context.Context) {
	if g != nil && g.running != nil {
		_ = g.running.End(ctx, g.refs.Tips, nil, nil) // else what comes until the next command is nobody's
		g.running = nil
	}
}

// replayedOf are the changes of a command that git made of commits that people made,
// or that are in scope and were known before. The error says that it is not known.
func (f *findings) replayedOf(ctx context.Context, now replay.Refs, changes []snapshot.Change) (map[string]bool, error) {
	g, git := f.base.git, f.base.Git
	at, err := staging.Open(f.base.Workspace)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	scratch, err := at.Sub("scratch")
	if err != nil {
		return nil, err
	}
	trusted := append(slices.Clone(g.trusted), git.Fetched(ctx, g.line, g.refs.Remotes, now.Remotes)...)
	judge, err := git.Judge(scratch, g.store, trusted, f.Allows)
	if err != nil {
		return nil, err
	}
	var found map[string]bool
	if f.base.command.Exempt != nil {
		found, err = f.worktree(ctx, judge, changes)
	}
	g.learn(ctx, judge, now, trusted, f.leftUncommitted(found, changes))
	return found, err
}

// worktree finds the paths of the work tree.
func (f *findings) worktree(ctx context.Context, judge *replay.Judge, changes []snapshot.Change) (map[string]bool, error) {
	g := f.base.git
	state := g.store.State().With(g.state)
	// Of what is in scope, what the agent wrote in this line is its own.
	open, closed := judge.Strict().Standing(ctx, state, g.words), judge.Standing(ctx, state, g.words)
	found := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if kindOf(c) == snapshot.Directory || gitState(c.Path) {
			continue
		}
		standsAt := map[string]*snapshot.Content{c.Path: c.After}
		if c.From != "" {
			standsAt[c.From] = nil
		}
		is := true
		for path, after := range standsAt {
			standing := closed
			if f.Allows(path) {
				standing = open
			} else if f.Wanted(path) == nil {
				is = false
				break
			}
			has, err := standing.Has(ctx, path, entryIn(after), func() (string, error) {
				if after == nil || !after.Known {
					return "", errors.New("its content is not known")
				}
				return string(after.Bytes), nil
			})
			if err != nil {
				return nil, err
			}
			is = is && has
		}
		found[c.Path] = is
	}
	return found, nil
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

// learn notes which of the tips are as good as a person's.
func (g *gitBaseline) learn(ctx context.Context, judge *replay.Judge, now replay.Refs, trusted []string, left map[string]string) {
	explained := trusted[len(g.trusted):]
	for _, id := range now.Tips {
		if slices.Contains(g.refs.Tips, id) {
			continue
		}
		if bad, err := judge.Unexplained(ctx, id); err == nil && len(bad) == 0 {
			explained = append(explained, id)
		}
	}
	_ = g.running.End(ctx, now.Tips, explained, left) // else what is new is nobody's
	g.running = nil
}

// leftUncommitted are the paths out of scope that the line left uncommitted, with their blobs.
func (f *findings) leftUncommitted(found map[string]bool, changes []snapshot.Change) map[string]string {
	if !f.base.git.line.Uncommitted {
		return nil
	}
	left := map[string]string{}
	for i := range changes {
		if c := &changes[i]; found[c.Path] && !f.Allows(c.Path) {
			left[c.Path] = entryIn(c.After).ID
		}
	}
	return left
}

// gitReplayed takes what git made of people's commits out of the changes, for a record of its own.
func (f *findings) gitReplayed(ctx context.Context, found *snapshot.Difference) {
	g, git := f.base.git, f.base.Git
	if g == nil {
		return
	}
	defer g.discard(ctx)
	now, err := git.Refs(ctx)
	var is map[string]bool
	if err == nil {
		f.ledgerRefs(ctx, g.refs.Ledger, now.Ledger)
		is, err = f.replayedOf(ctx, now, found.Changes)
	}
	if err != nil {
		f.warn("Which of the changes git made of commits that were there before could not be found out: %v.", err)
		return
	}
	record := &hooks.GitReplay{Before: g.state.Head, After: g.store.State().Head}
	found.Changes = slices.DeleteFunc(found.Changes, func(c snapshot.Change) bool {
		if is[c.Path] {
			count(c.Op, &record.Created, &record.Modified, &record.Deleted)
			f.replayed = append(f.replayed, c.Path)
			if c.From != "" {
				f.replayed = append(f.replayed, c.From)
			}
		}
		return is[c.Path]
	})
	if len(f.replayed) == 0 {
		return
	}
	record.Commits = git.Between(ctx, record.Before, record.After)
	f.outcome.Git = record
	f.warn("%d files say what git made of commits that were there before (%d created, %d modified, %d deleted). They count as nobody's change, and are in no list.",
		record.Created+record.Modified+record.Deleted, record.Created, record.Modified, record.Deleted)
}

// ledgerRefs puts back refs of the ledger that a command took away or moved to what
// does not come of them: by the file packed-refs, for their directory is closed.
func (f *findings) ledgerRefs(ctx context.Context, before, now map[string]string) {
	for name, id := range before {
		if now[name] == id {
			continue
		}
		op := change.Deleted
		if now[name] != "" {
			op = change.Modified
		}
		if wrong, back := f.base.Git.LedgerBack(ctx, name, id, now[name]); wrong {
			f.also(hooks.Violation{Path: ".git/" + Shown(name), Op: op, Kind: hooks.History, Reason: "only orchestra-mcp moves the refs of the ledger", Reverted: back})
		}
	}
}
