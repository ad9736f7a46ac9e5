package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
)

func (a *app) newLedgerMergeCommand() *cobra.Command {
	var add bool
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "merge",
		Short: "Resolve conflicts in the ledger: keep the records of all sides",
		Long: "Resolve conflicts that a merge left in the ledger's files: conflict markers, of any style, and files that git lists\n" +
			"as unmerged. All records of all sides stay, each once, unchanged; their order means nothing. Where a line is neither\n" +
			"a record nor a conflict marker, the command names it and changes nothing.\n\n" +
			"As with a conflict in any other file, git still waits for `git add`; --add runs it.",
	}, a.inWorkspace(func(ctx context.Context, root *os.Root) error { return a.mergeLedger(ctx, root, add) }))
	cmd.Flags().BoolVar(&add, "add", false, "mark the files as resolved, with git add")
	return cmd
}

// mergeResult is what ledger merge prints for programs.
type mergeResult struct {
	Resolved []mend.Resolution `json:"resolved"`
	Added    bool              `json:"added"` // to git's index
	Problems []ledger.Problem  `json:"problems"`
}

func (a *app) mergeLedger(ctx context.Context, root *os.Root, add bool) error {
	unmerged, err := history.Unmerged(ctx, root)
	if err != nil {
		return err
	}
	done, err := mend.Conflicts(ctx, root, unmerged)
	if err != nil {
		return err
	}
	result := mergeResult{Resolved: orEmpty(done), Added: add && len(done) > 0}
	if result.Added {
		if err := gitAdd(ctx, root.Name(), done); err != nil {
			return err
		}
	}
	report, err := verifiedLedger(ctx, root)
	if err != nil {
		return err
	}
	result.Problems = report.Problems
	a.answer(result, func() { a.printMerge(result) })
	return found(len(result.Problems) > 0)
}

func (a *app) printMerge(r mergeResult) {
	var files []string
	for _, f := range r.Resolved {
		a.Printf("%s: %d lines; took out %d conflict markers and %d repeated lines", f.File, f.Lines, f.Markers, f.Duplicates)
		if f.Added > 0 {
			a.Printf(", and brought in %d that git had kept aside", f.Added)
		}
		a.Println(".")
		files = append(files, f.File)
	}
	switch {
	case len(files) == 0 && len(r.Problems) == 0:
		a.Println(a.Green("There is no conflict in the ledger."))
	case len(files) == 0:
		a.Println("There is no conflict in the ledger; but:")
	case !r.Added:
		a.Printf("If git waits for it, go on with: git add %s\n", strings.Join(files, " "))
	}
	a.printLedgerProblems(r.Problems)
}

// gitAdd runs the user's own git, with all that is configured for it.
func gitAdd(ctx context.Context, dir string, files []mend.Resolution) error {
	args := []string{"--literal-pathspecs", "add", "--"}
	for _, f := range files {
		args = append(args, f.File)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the conflict is resolved, but git add failed: %s", cmp.Or(strings.TrimSpace(string(out)), err.Error()))
	}
	return nil
}
