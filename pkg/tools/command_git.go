package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
)

// gitChanges are what a command that may did to git's history.
func gitChanges(o *hooks.Outcome) []observe.GitChange {
	changes, _ := o.Command.Detail[observe.DetailGit].([]observe.GitChange)
	return changes
}

// listGit shows them in the text of a result.
func listGit(b *strings.Builder, changes []observe.GitChange) {
	for i, c := range changes {
		if i == inText {
			note(b, "[git: and %d more]", len(changes)-inText)
			return
		}
		note(b, "[git: %s: %s → %s]", printable.Name(c.Path), orNothing(c.Before), orNothing(c.After))
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.80q", s)
}

// notAlone says how git is not stopped midway: a line that runs other programs too is not rehearsed.
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

// ledgerInTheWay says why git did not go to another commit, and that to commit and try again does not help: the commit adds a
// record too. A switch that git calls good went on without the ledger: what is committed next would take records out of it.
func (c *commandCall) ledgerInTheWay(ctx context.Context) []string {
	if !runsGit(c.effect.Reading) || !stoppedGit.MatchString(c.result.Output) {
		return nil
	}
	tracked, err := c.Observer.Git.Ask(ctx, "ls-files", "--cached", "--", orchdir.Name+"/agent_trace.jsonl", orchdir.Name+"/trace")
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
