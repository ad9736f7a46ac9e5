package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
)

func (a *app) newLedgerCommand() *cobra.Command {
	return makeGroup(&cobra.Command{Use: "ledger", Short: "Mend the ledger's files, or move them"},
		a.newLedgerRepairCommand(), a.newLedgerMergeCommand(), a.newLedgerRestoreCommand(), a.newLedgerMoveCommand())
}

func (a *app) newLedgerRepairCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "repair",
		Short: "Set aside a last line that a crash tore",
		Long: `Move the end of a ledger file that a crash left without a newline and not whole to .orchestration/state, where it
is kept. Nothing else is changed: what remains is listed with what to do about it, and the exit code is 1.`,
	}, a.inWorkspace(a.repairLedger))
}

// repairResult is what ledger repair prints for programs.
type repairResult struct {
	SetAside []mend.SetAside  `json:"set_aside"`
	Problems []ledger.Problem `json:"problems"`
}

func (a *app) repairLedger(ctx context.Context, root *os.Root) error {
	done, repairErr := mend.Repair(ctx, root)
	result := repairResult{SetAside: orEmpty(done)}
	if repairErr == nil {
		report, err := verifiedLedger(ctx, root)
		if err != nil {
			return err
		}
		result.Problems = report.Problems
	}
	a.answer(result, func() { a.printRepair(result) })
	if repairErr != nil {
		return repairErr
	}
	return found(len(result.Problems) > 0)
}

func (a *app) printRepair(r repairResult) {
	for _, s := range r.SetAside {
		a.Printf("Moved %d bytes from the end of %s to %s.\n", s.Bytes, s.Segment, s.File)
	}
	if len(r.SetAside) == 0 && len(r.Problems) == 0 {
		a.Println(a.Green("Nothing to repair."))
	}
	if len(r.Problems) == 0 {
		return
	}
	a.Println("Not repaired, because only you can say what is right:")
	a.printLedgerProblems(r.Problems)
	a.Println()
	said := map[string]bool{}
	for _, p := range r.Problems {
		if text := whatToDo(p.Kind); !said[text] {
			said[text] = true
			a.Printf("- %s: %s\n", p.Kind, text)
		}
	}
}

// whatToDo about a problem that no program may resolve by itself.
func whatToDo(kind ledger.ProblemKind) string {
	return cmp.Or(advice[kind], "look at orchestra-mcp verify")
}

var advice = map[ledger.ProblemKind]string{
	history.ProblemLost: "orchestra-mcp ledger restore brings back what git has, in " + gitref.Ref + " or in a commit, and orchestra-mcp sync what a remote has; " +
		"else put .orchestration/agent_trace.jsonl back from a backup. If you removed it to begin anew, remove .orchestration/state and " +
		".orchestration/cache too",
	ledger.ProblemMissing: "orchestra-mcp ledger restore brings it back if git has it, in " + gitref.Ref + " or in a commit, and orchestra-mcp sync if a remote " +
		"does; else put its line back from a backup, anywhere in the file, byte for byte",
	ledger.ProblemIncomplete: "orchestra-mcp ledger restore --from REVISION brings the records before it from that commit or branch; merging the branch does too",
	ledger.ProblemMalformed:  "orchestra-mcp ledger merge takes out conflict markers; a line that was changed comes back from git or a backup",
	ledger.ProblemTooLong:    "no program of this kind wrote that line: look at how it begins, and delete it by hand if it is no record",
	ledger.ProblemUnreadable: "make the file a regular one that you can read, or take it away",
	ledger.ProblemArchive: "an archive never changes, so any copy of it is right: take it from another clone, a commit or a backup, under the same name; or " +
		"move it away, and orchestra-mcp ledger restore brings its records back",
	ledger.ProblemUnrecorded: "nothing brings them back: look at what changed in that time, at the disk and at the server's log. orchestra-mcp seal " +
		"says that you have seen it",
	ledger.ProblemTorn: "somebody wrote to the file meanwhile: run this again",
}
