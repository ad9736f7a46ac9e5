package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
)

func (a *app) newLedgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Mend the ledger's files, or move them",
	}
	a.makeGroup(cmd)
	cmd.AddCommand(a.newLedgerRepairCommand(), a.newLedgerMergeCommand(), a.newLedgerRestoreCommand(), a.newLedgerMoveCommand())
	return cmd
}

func (a *app) newLedgerRepairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Set aside a last line that a crash tore",
		Long: "Move the end of a ledger file that a crash left without a newline and not whole to .orchestration/state, where it\n" +
			"is kept. Nothing else is changed: what remains is listed with what to do about it, and the exit code is 1.",
		Args: cobra.NoArgs,
	}
	json := addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error { return a.repairLedger(cmd.Context(), *json) })
	return cmd
}

// repairResult is what ledger repair prints for programs.
type repairResult struct {
	SetAside []ledger.SetAside `json:"set_aside"`
	Problems []ledger.Problem  `json:"problems"`
}

func (a *app) repairLedger(ctx context.Context, json bool) error {
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	result := repairResult{SetAside: []ledger.SetAside{}}
	done, repairErr := ledger.Repair(ctx, root)
	result.SetAside = append(result.SetAside, done...)
	if repairErr == nil {
		report, err := verifiedLedger(ctx, root)
		if err != nil {
			return err
		}
		result.Problems = report.Problems
	}
	if json {
		err = printJSON(a.out, result)
	} else {
		err = a.printRepair(result)
	}
	switch {
	case repairErr != nil:
		return repairErr
	case err == nil && len(result.Problems) > 0:
		return foundSomething()
	}
	return err
}

func (a *app) printRepair(r repairResult) error {
	for _, s := range r.SetAside {
		fmt.Fprintf(a.out, "Moved %d bytes from the end of %s to %s.\n", s.Bytes, printable(s.Segment), s.File)
	}
	if len(r.SetAside) == 0 && len(r.Problems) == 0 {
		fmt.Fprintln(a.out, a.styled(styleGreen, "Nothing to repair."))
	}
	if len(r.Problems) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "Not repaired, because only you can say what is right:")
	if err := a.printLedgerProblems(r.Problems); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	said := map[string]bool{}
	for _, p := range r.Problems {
		if advice := whatToDo(p.Kind); !said[advice] {
			said[advice] = true
			fmt.Fprintf(a.out, "- %s: %s\n", p.Kind, advice)
		}
	}
	return nil
}

// whatToDo about a problem that no program may settle by itself.
func whatToDo(kind ledger.ProblemKind) string {
	switch kind {
	case history.ProblemLost:
		return "orchestra-mcp ledger restore brings back what git has, in " + gitref.Ref + " or in a commit, and orchestra-mcp sync what a remote has; " +
			"else put .orchestration/agent_trace.jsonl back from a backup. If you removed it to begin anew, remove .orchestration/state and " +
			".orchestration/cache too"
	case ledger.ProblemMissing:
		return "orchestra-mcp ledger restore brings it back if git has it, in " + gitref.Ref + " or in a commit, and orchestra-mcp sync if a remote " +
			"does; else put its line back from a backup, anywhere in the file, byte for byte"
	case ledger.ProblemIncomplete:
		return "orchestra-mcp ledger restore --from REVISION brings the records before it from that commit or branch; merging the branch does too"
	case ledger.ProblemMalformed:
		return "orchestra-mcp ledger merge takes out conflict markers; a line that was changed comes back from git or a backup"
	case ledger.ProblemTooLong:
		return "no program of this kind wrote that line: look at how it begins, and delete it by hand if it is no record"
	case ledger.ProblemUnreadable:
		return "make the file a regular one that you can read, or take it away"
	case ledger.ProblemArchive:
		return "an archive never changes, so any copy of it is right: take it from another clone, a commit or a backup, under the same name; or " +
			"move it away, and orchestra-mcp ledger restore brings its records back"
	case ledger.ProblemUnrecorded:
		return "nothing brings them back: look at what changed in that time, at the disk and at the server's log. orchestra-mcp seal " +
			"says that you have seen it"
	case ledger.ProblemTorn:
		return "somebody wrote to the file meanwhile: run this again"
	}
	return "look at orchestra-mcp verify"
}
