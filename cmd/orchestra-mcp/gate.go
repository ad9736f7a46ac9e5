package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

type gateFlags struct {
	base, head             string
	keys                   []string
	ledgers                []string
	minTraced              float64
	failOn, format         string
	markdown, sarif, junit string
	json                   *bool
}

func (a *app) newGateCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate --base REVISION",
		Short: "Judge the commits of a pull request by the ledger that comes with them",
		Long: "Judge what HEAD has and the base has not: whether the ledger lost nothing and holds, every recorded change is in the\n" +
			"scope that the base gives its intent, no refactor claim is contradicted, the range did not change its own rules, and\n" +
			"how many of the changed lines a record explains. Only commits count, not the work tree. The exit code is 0 if it\n" +
			"passes, 1 if not, 3 if it could not judge.\n\n" +
			"Keys are trusted as by verify. In CI fetch the whole history: fetch-depth: 0.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "compare with `REVISION`, such as origin/main (required)")
	flags.StringVar(&f.head, "head", "HEAD", "judge `REVISION`")
	flags.StringArrayVar(&f.keys, "key", nil, "trust the public `KEY`, as text or as a file, and require a seal by it (by one of several)")
	flags.StringArrayVar(&f.ledgers, "ledger", nil, "fetch the records of `URL|FILE` first: a remote, a repository such as a fork, or a bundle of git; can be given several times")
	flags.Float64Var(&f.minTraced, "min-traced", 0, "fail if less than `PERCENT` of the changed lines are traced")
	flags.StringVar(&f.failOn, "fail-on", "error", "fail by findings of this `SEVERITY`: error or warning")
	flags.StringVar(&f.format, "format", "table", "print as `FORMAT`: table, markdown, junit, sarif or json")
	flags.StringVar(&f.markdown, "markdown", "", "also write Markdown to `FILE`, for a comment")
	flags.StringVar(&f.sarif, "sarif", "", "also write SARIF to `FILE`, for code scanning")
	flags.StringVar(&f.junit, "junit", "", "also write JUnit XML to `FILE`, for test reports")
	f.json = addJSONFlag(cmd)
	completeFlag(cmd, "fail-on", "error", "warning")
	completeFlag(cmd, "format", "table", "markdown", "junit", "sarif", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.gate(cmd.Context(), f) })
	return cmd
}

func (f *gateFlags) check() error {
	if *f.json {
		if f.format != "table" && f.format != "json" {
			return usageErrorf("--json and --format %s: give one of them", printable(f.format))
		}
		f.format = "json"
	}
	switch {
	case f.base == "":
		return usageErrorf("--base is needed: the revision to compare with, such as --base origin/main")
	case f.minTraced < 0 || f.minTraced > 100 || f.minTraced != f.minTraced:
		return usageErrorf("--min-traced is a percentage, from 0 to 100")
	case f.failOn != "error" && f.failOn != "warning":
		return usageErrorf("--fail-on is error or warning, not %q", f.failOn)
	case !strings.Contains(" table markdown junit sarif json ", " "+f.format+" "):
		return usageErrorf("--format is table, markdown, junit, sarif or json, not %q", f.format)
	}
	return nil
}

func (a *app) gate(ctx context.Context, f gateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	seals, err := a.sealKeys(f.keys)
	if err != nil {
		return err
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	for _, source := range f.ledgers {
		if _, err := gitref.Fetch(ctx, root, a.bundleOr(source)); err != nil {
			return mistakef("--ledger: %w", err)
		}
	}
	a.bringRecords(ctx, root)
	report, err := review.Run(ctx, root, review.Options{
		Base: f.base, Head: f.head, MinTraced: f.minTraced, Strict: f.failOn == "warning", Seals: seals, Fetched: len(f.ledgers) > 0,
	})
	if err != nil {
		return a.aboutRange(ctx, root, err)
	}
	for _, file := range []struct{ format, name string }{{"markdown", f.markdown}, {"sarif", f.sarif}, {"junit", f.junit}} {
		if err := a.writeGateFile(report, file.format, file.name); err != nil {
			return err
		}
	}
	if err := a.printGate(a.out, report, f.format); err != nil {
		return err
	}
	if !report.Passed {
		return foundSomething()
	}
	return nil
}

// aboutRange is the error of a review for people.
func (a *app) aboutRange(ctx context.Context, root *os.Root, err error) error {
	if errors.Is(err, review.ErrNoLedger) {
		remote := cmp.Or(gitref.Remote(ctx, root), "origin")
		return fmt.Errorf("%w: the records travel in a ref that this clone does not have; fetch it: git fetch %s %s:%s, or give gate --ledger %s. "+
			"Those of a fork come by --ledger URL", err, remote, gitref.Ref, gitref.Ref, remote)
	}
	if errors.Is(err, review.ErrUnknownRevision) || errors.Is(err, review.ErrNoRepository) {
		return fmt.Errorf("%s", printable(err.Error()))
	}
	return err
}

// bundleOr makes the name of a bundle absolute: git is started elsewhere.
func (a *app) bundleOr(source string) string {
	file := a.fromWorkDir(source)
	if _, err := os.Stat(file); err != nil {
		return source
	}
	return file
}

func (a *app) writeGateFile(report *review.Report, format, name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(a.fromWorkDir(name))
	if err != nil {
		return fmt.Errorf("--%s: %w", format, err)
	}
	err = errors.Join(a.printGate(file, report, format), file.Close())
	if err != nil {
		return fmt.Errorf("--%s: %w", format, err)
	}
	return nil
}

func (a *app) printGate(out io.Writer, report *review.Report, format string) error {
	switch format {
	case "markdown":
		return report.WriteMarkdown(out, blobs(report.Head))
	case "sarif":
		return report.WriteSARIF(out, buildinfo.Read().Version)
	case "junit":
		return report.WriteJUnit(out)
	case "json":
		return printJSON(out, report)
	}
	return a.printGateTable(out, report)
}

// atForge is the address of a repository. It goes into Markdown as it is.
var atForge = regexp.MustCompile(`^https://[A-Za-z0-9.:-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// blobs begins the address of a commit's files at the forge, where the environment of a workflow says which that is.
func blobs(commit string) string {
	repository := os.Getenv("GITHUB_SERVER_URL") + "/" + os.Getenv("GITHUB_REPOSITORY")
	if !atForge.MatchString(repository) {
		return ""
	}
	return repository + "/blob/" + commit + "/"
}

// printGateTable is for a person at a terminal: the totals, then what was found, then what to review by hand.
func (a *app) printGateTable(out io.Writer, r *review.Report) error {
	verdict := "passed"
	if !r.Passed {
		verdict = "failed"
	}
	rows := [][]string{
		{"gate", verdict},
		{"range", fmt.Sprintf("%d commits, %.12s to %.12s", r.Commits, r.MergeBase, r.Head)},
		{"records", fmt.Sprintf("%d new, with %d refused calls", r.Records, r.Refused)},
		{"traced", fmt.Sprintf("%s of %d changed lines", review.FormatPercent(r.Percent), r.Lines.Changed())},
		{"findings", fmt.Sprintf("%d errors, %d warnings, %d notes", r.Count("", review.Error), r.Count("", review.Warning), r.Count("", review.Note))},
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	for _, table := range [][][]string{gateIntents(r), gateFiles(r), gateFindings(r)} {
		if len(table) < 2 {
			continue
		}
		fmt.Fprintln(out)
		if err := printTable(out, table); err != nil {
			return err
		}
	}
	if len(r.Unproven) > 0 {
		fmt.Fprintln(out, "\nNot proven:")
	}
	for _, sentence := range r.Unproven {
		fmt.Fprintf(out, "- %s\n", printable(sentence))
	}
	if !r.Passed || r.Count("", review.Warning) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n%s\n", a.styled(styleGreen, "The gate passes: nothing was found."))
	return err
}

func gateIntents(r *review.Report) [][]string {
	rows := [][]string{{"INTENT", "DECLARED BY", "RECORDS", "PATHS", "LINES", "REFUSED", "NAME"}}
	for _, in := range r.Intents {
		id := in.ID
		if id == "" {
			id = "(none)"
		}
		rows = append(rows, []string{clipped(id, 64), in.Origin, strconv.Itoa(in.Records), strconv.Itoa(in.Paths), strconv.Itoa(in.Lines),
			strconv.Itoa(in.Refused), clipped(in.Name, 60)})
	}
	return rows
}

func gateFiles(r *review.Report) [][]string {
	rows := [][]string{{"FILE", "STATUS", "ADDED", "REMOVED", "TRACED", "INTENTS", "REVIEW"}}
	for _, f := range r.Files {
		advice := "yes"
		if f.Evidence == mutation.Proven {
			advice = "proven refactor"
		}
		rows = append(rows, []string{f.Path, f.Status, strconv.Itoa(f.Lines.Added), strconv.Itoa(f.Lines.Removed),
			review.FormatPercent(f.Lines.Percent()), clipped(strings.Join(f.Intents, " "), 60), advice})
	}
	return rows
}

func gateFindings(r *review.Report) [][]string {
	rows := [][]string{{"FINDING", "CHECK", "WHERE", "WHAT"}}
	for i := range r.Findings {
		f := &r.Findings[i]
		rows = append(rows, []string{string(f.Severity), string(f.Check), f.Where(), f.Message})
	}
	return rows
}
