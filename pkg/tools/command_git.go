package tools

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// charged reports whether a change of git's history is to be accounted for like
// one of a file. Where a git command may make it, it is recorded for what it
// is; where the kernel let nobody make it, it is not the command's.
func (a *account) charged(c *snapshot.Change) bool {
	if a.Git {
		a.GitChange(c)
		return false
	}
	return a.nothingHolds()
}

// gitTimes are when commands ran that may write git's store: what changed there
// then was theirs to change.
type gitTimes struct {
	mu      sync.Mutex
	running int
	ended   time.Time // the last
}

// enter is for one that begins; what it gives back, for its end, has no effect
// the second time.
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

// maxStoreChanges bounds the violations that are made of single objects.
const maxStoreChanges = 100

// gitStore makes violations of what is gone or changed of git's objects, logs
// and remote-tracking branches where no git command may write them; where one
// may, of packs that other clones have too.
func (a *account) gitStore() {
	store := a.around.store
	if store == nil {
		return
	}
	changes := store.Packs
	if !a.Git {
		if a.gits.since(a.around.began) {
			a.Note(trace.DetailGaps, ".git/objects: a git command of another call ran at the time")
			return
		}
		changes = store.Changes
	}
	said := 0
	for _, c := range changes() {
		v, is := a.storeViolation(&c)
		switch {
		case !is, slices.ContainsFunc(a.outcome.Violations, func(other hooks.Violation) bool { return other.Path == v.Path }):
		case said == maxStoreChanges:
			a.also(hooks.Violation{Path: ".git/objects", Op: change.Modified, Kind: hooks.History, Reason: "more of it than is listed"})
			return
		default:
			said++
			a.also(v)
		}
	}
	if store.Short && !a.Git {
		a.Note(trace.DetailGaps, ".git/objects: so much is in it that not all was looked at (git gc makes it less)")
	}
}

func (a *account) storeViolation(c *snapshot.StoreChange) (v hooks.Violation, is bool) {
	v = hooks.Violation{Path: trace.Shown(c.Path), Op: change.Modified, Kind: hooks.History, Reason: "it is part of git's store, which only a git command in the line may change"}
	if c.Gone {
		v.Op = change.Deleted
	}
	if c.Links > 1 {
		v.Kind = hooks.Outside
		v.Reason = fmt.Sprintf("%d other names of this file (hard links), as in another clone, changed with it; this server only looks whether it changed, and does not undo it", c.Links-1)
	}
	// Landlock lets no more than metadata be changed there, which git does too where it finds an object that it has.
	return v, a.nothingHolds() || a.Git || !c.Gone && (c.Loose || c.Links > 1)
}

// gitChanges are what a command that may did to git's history.
func gitChanges(o *hooks.Outcome) []trace.GitChange {
	changes, _ := o.Command.Detail[trace.DetailGit].([]trace.GitChange)
	return changes
}

// listGit shows them in the text of a result.
func listGit(b *strings.Builder, changes []trace.GitChange) {
	for i, c := range changes {
		if i == inText {
			note(b, "[git: and %d more]", len(changes)-inText)
			return
		}
		note(b, "[git: %s: %s → %s]", inNote(c.Path), orNothing(c.Before), orNothing(c.After))
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.80q", s)
}

// notAlone says how git is not stopped midway: a line that runs other programs
// too is not rehearsed.
func (c *commandCall) notAlone() []string {
	if c.result.ExitCode == 0 || len(c.denied) == 0 || !runsGit(c.effect.Reading) {
		return nil
	}
	if line := replay.ReadLine(c.effect.Reading); line.Changes && !line.Alone {
		return []string{line.First + " was stopped midway by the sandbox. In a line of git commands alone it is found out before what stands against it; what it left half done in the scope comes back by git restore."}
	}
	return nil
}

// stoppedGit is what git says where it would write over the ledger, or tried.
var stoppedGit = regexp.MustCompile(`(?i)unstaged changes|your local changes\b.* would be overwritten|unable to (?:unlink old|create file) '?\.orchestration/`)

// ledgerInTheWay says why git did not go to another commit, and that to commit
// and try again does not help: the commit adds a record too. A switch that git
// calls good went on without the ledger: what is committed next would take
// records out of it.
func (c *commandCall) ledgerInTheWay(ctx context.Context) []string {
	if !runsGit(c.effect.Reading) || !stoppedGit.MatchString(c.result.Output) {
		return nil
	}
	tracked, err := gitread.Repository{Dir: c.tool.deps.Workspace.Dir()}.Ask(ctx, "ls-files", "--cached", "--", orchdir.Name+"/agent_trace.jsonl", orchdir.Name+"/trace")
	if err != nil || tracked == "" {
		return nil
	}
	if c.result.ExitCode == 0 {
		return []string{"Git keeps the ledger, which no command can write: where git went to another commit, the ledger stayed as it was, and may lack records of that commit. " +
			"Before you commit, ask the user to run orchestra-mcp ledger restore."}
	}
	return []string{"Git keeps the ledger, to which each command adds a record, and which no command can write: git switch, rebase, merge, pull and stash stop at it. " +
		"Do not commit and try again: ask the user to commit .orchestration and to run this git command. What git left half done in the scope comes back by git restore."}
}
