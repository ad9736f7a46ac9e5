package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

type gateCommand struct {
	*app
	base, head             string
	keys                   []string
	ledgers                []string
	minTraced              float64
	failOn, format         string
	markdown, sarif, junit string
}

func (a *app) newGateCommand() *cobra.Command {
	f := gateCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "gate --base REVISION",
		Short: "Judge the commits of a pull request by the ledger that comes with them",
		Long: `Judge what HEAD has and the base has not: whether the ledger lost nothing and holds, every recorded change is in the
scope that the base gives its intent, no refactor claim is contradicted, the range did not change its own rules, and
how many of the changed lines a record explains. Only commits count, not the work tree. The exit code is 0 if it
passes, 1 if not, 3 if it could not judge.

Keys are trusted as by verify. In CI fetch the whole history: fetch-depth: 0.`,
		Example: "  orchestra-mcp gate --base origin/main --markdown report.md",
	}, f.run)
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
	completeFlag(cmd, "fail-on", "error", "warning")
	completeFlag(cmd, "format", "table", "markdown", "junit", "sarif", "json")
	return cmd
}

func (c *gateCommand) check() error {
	if c.json {
		if c.format != "table" && c.format != "json" {
			return usageErrorf("--json and --format %s: give one of them", c.format)
		}
		c.format = "json"
	}
	switch {
	case c.base == "":
		return usageErrorf("--base is needed: the revision to compare with, such as --base origin/main")
	case c.minTraced < 0 || c.minTraced > 100 || c.minTraced != c.minTraced:
		return usageErrorf("--min-traced is a percentage, from 0 to 100")
	case c.failOn != "error" && c.failOn != "warning":
		return usageErrorf("--fail-on is error or warning, not %q", c.failOn)
	case !slices.Contains([]string{"table", "markdown", "junit", "sarif", "json"}, c.format):
		return usageErrorf("--format is table, markdown, junit, sarif or json, not %q", c.format)
	}
	return nil
}

func (c *gateCommand) run(ctx context.Context, _ []string) error {
	if err := c.check(); err != nil {
		return err
	}
	seals, err := c.sealKeys(c.keys)
	if err != nil {
		return err
	}
	return c.withWorkspace(func(root *os.Root) error {
		for _, source := range c.ledgers {
			if _, err := gitref.Fetch(ctx, root, c.bundleOr(source)); err != nil {
				return mistakef("--ledger: %w", err)
			}
		}
		c.bringRecords(ctx, root)
		report, err := review.Run(ctx, root, review.Options{
			Base: c.base, Head: c.head, MinTraced: c.minTraced, Strict: c.failOn == "warning", Seals: seals, Fetched: len(c.ledgers) > 0,
		})
		if err != nil {
			return c.aboutRange(ctx, root, err)
		}
		for _, file := range []struct{ format, name string }{{"markdown", c.markdown}, {"sarif", c.sarif}, {"junit", c.junit}} {
			if err := c.writeFile(report, file.format, file.name); err != nil {
				return fmt.Errorf("--%s: %w", file.format, err)
			}
		}
		switch c.format {
		case "json":
			c.JSON(report)
		case "table":
			c.printGateTable(report)
		default:
			_ = writeReport(c, report, c.format) // the printer remembers
		}
		return found(!report.Passed)
	})
}

// aboutRange is the error of a review for people.
func (a *app) aboutRange(ctx context.Context, root *os.Root, err error) error {
	if errors.Is(err, review.ErrNoLedger) {
		remote := cmp.Or(gitref.Remote(ctx, root), "origin")
		return fmt.Errorf("%w: the records travel in a ref that this clone does not have; fetch it: git fetch %s %s:%s, or give gate --ledger %s. "+
			"Those of a fork come by --ledger URL", err, remote, gitref.Ref, gitref.Ref, remote)
	}
	if errors.Is(err, review.ErrUnknownRevision) || errors.Is(err, review.ErrNoRepository) {
		return fmt.Errorf("%s", printable.Text(err.Error()))
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

func (c *gateCommand) writeFile(report *review.Report, format, name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(c.fromWorkDir(name))
	if err != nil {
		return err
	}
	return errors.Join(writeReport(file, report, format), file.Close())
}

func writeReport(out io.Writer, report *review.Report, format string) error {
	switch format {
	case "markdown":
		return report.WriteMarkdown(out, blobs(report.Head))
	case "sarif":
		return report.WriteSARIF(out, buildinfo.Read().Version)
	}
	return report.WriteJUnit(out)
}

// atForge is the address of a repository. It goes into Markdown as it is.
var atForge = lazy.Regexp(`^https://[A-Za-z0-9.:-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// blobs begins the address of a commit's files at the forge, where the environment of a workflow says which that is.
func blobs(commit string) string {
	repository := os.Getenv("GITHUB_SERVER_URL") + "/" + os.Getenv("GITHUB_REPOSITORY")
	if !atForge().MatchString(repository) {
		return ""
	}
	return repository + "/blob/" + commit + "/"
}

// printGateTable is for a person at a terminal: the totals, then what was found, then what to review by hand.
func (a *app) printGateTable(r *review.Report) {
	verdict := "passed"
	if !r.Passed {
		verdict = "failed"
	}
	a.Rows(
		[]any{"gate", verdict},
		[]any{"range", fmt.Sprintf("%d commits, %.12s to %.12s", r.Commits, r.MergeBase, r.Head)},
		[]any{"records", fmt.Sprintf("%d new, with %d refused calls", r.Records, r.Refused)},
		[]any{"traced", fmt.Sprintf("%s of %d changed lines", review.FormatPercent(r.Percent), r.Lines.Changed())},
		[]any{"findings", fmt.Sprintf("%d errors, %d warnings, %d notes", r.Count("", review.Error), r.Count("", review.Warning), r.Count("", review.Note))},
	)
	printer.Section(a.Printer, "INTENT|DECLARED BY|RECORDS|PATHS|LINES|REFUSED|NAME", r.Intents, func(in review.Intent) []any {
		return []any{printable.Clip(cmp.Or(in.ID, "(none)"), 64), in.Origin, in.Records, in.Paths, in.Lines, in.Refused, printable.Clip(in.Name, 60)}
	})
	printer.Section(a.Printer, "FILE|STATUS|ADDED|REMOVED|TRACED|INTENTS|REVIEW", r.Files, func(f review.File) []any {
		advice := "yes"
		if f.Evidence == mutation.Proven {
			advice = "proven refactor"
		}
		return []any{f.Path, f.Status, f.Lines.Added, f.Lines.Removed, review.FormatPercent(f.Lines.Percent()),
			printable.Clip(strings.Join(f.Intents, " "), 60), advice}
	})
	printer.Section(a.Printer, "FINDING|CHECK|WHERE|WHAT", r.Findings, func(f review.Finding) []any {
		return []any{f.Severity, f.Check, f.Where(), f.Message}
	})
	a.List("\nNot proven:", "- ", r.Unproven)
	if r.Passed && r.Count("", review.Warning) == 0 {
		a.Printf("\n%s\n", a.Green("The gate passes: nothing was found."))
	}
}
