package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
)

func (a *app) newLedgerMergeCommand() *cobra.Command {
	var add bool
	cmd := &cobra.Command{
		Use:   "merge",
		Short: "Resolve conflicts in the ledger: keep the records of all sides",
		Long: "Resolve conflicts that a merge left in the ledger's files: conflict markers, of any style, and files that git lists\n" +
			"as unmerged. All records of all sides stay, each once, unchanged; their order means nothing. Where a line is neither\n" +
			"a record nor a conflict marker, the command names it and changes nothing.\n\n" +
			"As with a conflict in any other file, git still waits for `git add`; --add runs it.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&add, "add", false, "mark the files as resolved, with git add")
	json := addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error { return a.mergeLedger(cmd.Context(), add, *json) })
	return cmd
}

// mergeResult is what ledger merge prints for programs.
type mergeResult struct {
	Resolved []ledger.Resolution `json:"resolved"`
	Added    bool                `json:"added"` // to git's index
	Problems []ledger.Problem    `json:"problems"`
}

func (a *app) mergeLedger(ctx context.Context, add, json bool) error {
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	unmerged, err := history.Unmerged(ctx, root)
	if err != nil {
		return err
	}
	result := mergeResult{Resolved: []ledger.Resolution{}}
	done, err := ledger.ResolveConflicts(ctx, root, unmerged)
	result.Resolved = append(result.Resolved, done...)
	if err != nil {
		return err
	}
	if add && len(done) > 0 {
		if err := gitAdd(ctx, root.Name(), done); err != nil {
			return err
		}
		result.Added = true
	}
	report, err := verifiedLedger(ctx, root)
	if err != nil {
		return err
	}
	result.Problems = report.Problems
	if json {
		err = printJSON(a.out, result)
	} else {
		err = a.printMerge(result)
	}
	if err == nil && len(result.Problems) > 0 {
		return foundSomething()
	}
	return err
}

func (a *app) printMerge(r mergeResult) error {
	var files []string
	for _, f := range r.Resolved {
		fmt.Fprintf(a.out, "%s: %d lines; took out %d conflict markers and %d repeated lines", printable(f.File), f.Lines, f.Markers, f.Duplicates)
		if f.Added > 0 {
			fmt.Fprintf(a.out, ", and brought in %d that git had kept aside", f.Added)
		}
		fmt.Fprintln(a.out, ".")
		files = append(files, printable(f.File))
	}
	switch {
	case len(files) == 0 && len(r.Problems) == 0:
		fmt.Fprintln(a.out, a.styled(styleGreen, "There is no conflict in the ledger."))
	case len(files) == 0:
		fmt.Fprintln(a.out, "There is no conflict in the ledger; but:")
	case !r.Added:
		fmt.Fprintf(a.out, "If git waits for it, go on with: git add %s\n", strings.Join(files, " "))
	}
	return a.printLedgerProblems(r.Problems)
}

// gitAdd runs the user's own git, with all that is configured for it.
func gitAdd(ctx context.Context, dir string, files []ledger.Resolution) error {
	args := []string{"--literal-pathspecs", "add", "--"}
	for _, f := range files {
		args = append(args, f.File)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if text := strings.TrimSpace(string(out)); text != "" {
			err = errors.New(text)
		}
		return fmt.Errorf("the conflict is resolved, but git add failed: %w", err)
	}
	return nil
}
