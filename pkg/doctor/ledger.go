package doctor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

const (
	ledgerFile = orchdir.Name + "/agent_trace.jsonl"
	// verifyTime bounds the check of the ledger; that is more than a million records.
	verifyTime = 5 * time.Second
	// shownProblems bounds how many damages are listed one by one.
	shownProblems = 5
)

// kept is the path of a part of the ledger, as a person can use it in the workspace.
func (e *examination) kept(name string) string {
	if e.home == e.root {
		return path.Join(orchdir.Name, name)
	}
	return filepath.Join(e.home.Name(), orchdir.Name, name)
}

func (e *examination) checkLedger() string {
	if e.home != e.root {
		for _, part := range []string{"state", "cache", "trace", "archive"} {
			e.isDirectory(e.home, path.Join(orchdir.Name, part), e.kept(part))
		}
	}
	ctx, cancel := context.WithTimeout(e.ctx, verifyTime)
	defer cancel()
	keys, err := seal.KnownKeys(e.UserDir)
	if err != nil {
		e.warn(fmt.Sprintf("The public keys that you trust cannot be read: %v.", err), "Mend or delete the file that is named.", "")
	}
	report, err := seal.Verify(ctx, e.root, seal.VerifyOptions{Trusted: keys, Elsewhere: history.Elsewhere(e.root)})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.warn(fmt.Sprintf("The ledger is long, and was not checked to its end within %s.", verifyTime), "Check it whole.", e.self("verify"))
	case errors.Is(err, ledger.ErrNotInitialized):
		e.ok("there is none yet")
	case err != nil:
		e.fail(fmt.Sprintf("The ledger cannot be read: %v.", err), "Mend what is named there.", "")
	case len(report.Problems) > 0:
		e.damages(report.Problems)
	case report.Records == 0: // nothing was written to it, or it is gone
		if lost := history.CheckLost(ctx, e.root, report.Report); len(lost) > 0 {
			e.damages(lost)
		} else {
			e.ok("empty: nothing has been recorded here yet")
		}
	case report.Unsealed > 0 && e.hasKey():
		e.ok("%s, nothing missing; %d under no seal (%s)", number(report.Records, "record", "records"), report.Unsealed, e.self("seal"))
	default:
		e.ok("%s, nothing missing; %d under a seal that you trust", number(report.Records, "record", "records"), report.Sealed)
	}
	return ""
}

func (e *examination) hasKey() bool {
	_, err := seal.LoadKey(e.UserDir)
	return err == nil
}

func (e *examination) damages(problems []ledger.Problem) {
	for i, p := range problems {
		if i == shownProblems {
			e.fail(fmt.Sprintf("The ledger has %d more problems.", len(problems)-i), "See them all.", e.self("verify"))
			return
		}
		where := p.Segment
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, p.Line)
		}
		say := e.fail
		if p.Kind == ledger.ProblemTorn {
			say = e.warn
		}
		remedy, command := e.remedyOfDamage(p)
		say(fmt.Sprintf("%s: %s: %s", where, p.Kind, sentence(p.Detail)), remedy, command)
	}
}

func (e *examination) remedyOfDamage(p ledger.Problem) (remedy, command string) {
	switch p.Kind {
	case ledger.ProblemTorn:
		return "The next record sets it aside, or do it now.", e.self("ledger repair")
	case ledger.ProblemMissing, ledger.ProblemSealed, history.ProblemLost:
		return "Bring it back from git, if a commit has it; else from a backup.", e.self("ledger restore")
	case ledger.ProblemIncomplete:
		return "Merge the branch that has it, or bring its records here: " + e.self("ledger restore --from REVISION") + ".", ""
	case ledger.ProblemMalformed:
		return "If it is a conflict marker of git, this takes it out; a line that was changed comes back from git or a backup.", e.self("ledger merge")
	case ledger.ProblemUnreadable:
		return "Make the file a regular one that you can read, or move it away.", moveAway(e.kept(p.Segment))
	case ledger.ProblemArchive:
		if e.beside {
			return "An archive never changes: put any copy of it in its place, from another clone or a backup. Or move it away: " + e.self("sync") + " then brings the records that " + gitref.Ref + " has.",
				moveAway(e.kept(p.Segment))
		}
		return "An archive never changes: take any copy of it, from git or a backup.", "git checkout -- " + shellword.Show(orchdir.Name+"/"+p.Segment)
	}
	return "See what can be done about it.", e.self("ledger repair")
}
