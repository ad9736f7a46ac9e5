package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/stats"
)

type statsCommand struct {
	*app
	recordFlags
	top int
}

const defaultTop = 10

func (a *app) newStatsCommand() *cobra.Command {
	c := statsCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "stats",
		Short: "Count what was done, by intent, class, model and path",
		Long: `Count the ledger's records: changes and lines by intent, mutation class (refactor against evolution, and what is
proven of it), contributor, model, path, kind and day, and refusals by their code. Lines are those of the changes:
an edited line is one added and one removed. Days are in UTC.`,
		Example: "  orchestra-mcp stats --since 7d\n  orchestra-mcp stats --intent INT-001 --path src/api --json",
	}, a.paged(c.run))
	c.addWhich(a, cmd)
	cmd.Flags().IntVar(&c.top, "top", defaultTop, "at most `N` rows of each table, 0 for all")
	return cmd
}

func (c *statsCommand) run(ctx context.Context, _ []string) error {
	if c.top < 0 {
		return usageErrorf("--top %d: give 0 for all rows, or a positive number", c.top)
	}
	return c.ask(ctx, &c.recordFlags, func(q *question) error {
		collector := stats.New(stats.Options{Path: q.filter.Path, Top: c.top})
		problems, err := q.Ledger.Each(ctx, q.filter, func(e record.Entry) error { collector.Add(e); return nil })
		if err != nil {
			return err
		}
		report := collector.Report()
		if report.Records == 0 {
			if err := q.nothingFound(ctx); err != nil {
				return errors.Join(err, q.reportUnread(ctx, problems))
			}
		}
		q.answer(report, func() { q.printStats(report) })
		return q.reportUnread(ctx, problems)
	})
}

func (a *app) printStats(r stats.Report) {
	if r.Records == 0 {
		a.Println("No records.")
		return
	}
	a.printStatsHead(r)
	names := a.intentNames()
	statsTable(a, r, "intents", "INTENT|CHANGED|LINES|REFACTOR|EVOLUTION|COMMANDS|REFUSED|LAST|NAME", r.Intents, func(i stats.Intent) []any {
		return []any{cell(i.IntentID), i.Records, lines(i.Tally), i.Refactor.Records, i.Evolution.Records,
			i.Commands, i.Refused, i.Last.UTC().Format(time.DateOnly), printable.Clip(names[i.IntentID], 40)}
	})
	statsTable(a, r, "classes", "CLASS|CHANGED|LINES|OVERRULED|EVIDENCE", r.Classes, func(c stats.Class) []any {
		var evidence []string
		for _, word := range slices.Sorted(maps.Keys(c.Evidence)) {
			evidence = append(evidence, fmt.Sprintf("%s %d", word, c.Evidence[word]))
		}
		return []any{cell(c.MutationClass), c.Records, lines(c.Tally), c.Overruled, strings.Join(evidence, ", ")}
	})
	statsTable(a, r, "contributors", "CONTRIBUTOR|CHANGED|LINES", r.Contributors, func(c stats.Contributor) []any {
		return []any{cell(c.Type), c.Records, lines(c.Tally)}
	})
	statsTable(a, r, "models", "MODEL|CHANGED|LINES|REFACTOR|EVOLUTION|REFUSED", r.Models, func(m stats.Model) []any {
		return []any{cmp.Or(printable.Clip(m.ModelID, 60), "not known"), m.Records, lines(m.Tally), m.Refactor.Records, m.Evolution.Records, m.Refused}
	})
	statsTable(a, r, "paths", "PATH|CHANGED|LINES|LAST", r.Paths, func(p stats.Path) []any {
		return []any{printable.Clip(p.Path, 100), p.Records, lines(p.Tally), p.Last.UTC().Format(time.DateOnly)}
	})
	statsTable(a, r, "kinds", "KIND|RECORDS", r.Kinds, func(k stats.Kind) []any { return []any{cell(k.Kind), k.Records} })
	statsTable(a, r, "refusals", "REFUSED WITH|CALLS", r.Refusals, func(x stats.Refusal) []any { return []any{cell(x.ErrorType), x.Count} })
	statsTable(a, r, "days", "DAY|CHANGED|LINES|REFUSED", r.Days, func(d stats.Day) []any {
		return []any{d.Day, d.Records, lines(d.Tally), d.Refused}
	})
	for _, name := range r.Merged {
		a.Printf("\nThere are too many different %s to tell all apart; the last are counted together.\n", name)
	}
}

// statsTable prints a table, and how many rows it has no place for.
func statsTable[T any](a *app, r stats.Report, what, heading string, items []T, row func(T) []any) {
	printer.Section(a.Printer, heading, items, row)
	a.More(r.Omitted[what], 0, " "+what)
}

func (a *app) printStatsHead(r stats.Report) {
	when := func(t *time.Time) string { return t.In(a.now().Location()).Format("2006-01-02 15:04") }
	a.Printf("records    %d, sessions %d, %s to %s\n", r.Records, r.Sessions, when(r.First), when(r.Last))
	a.Printf("changed    records %d, files %d, lines %s\n", r.Changed.Records, r.Changed.Changes, lines(r.Changed))
	c, d := r.Commands, r.Decisions
	a.Printf("commands   %d, failed %d, timed out %d, changes out of scope %d\n", c.Runs, c.Failed, c.TimedOut, c.Violations)
	a.Printf("decisions  refused %d, asked %d, approved %d, denied %d\n", d.Refused, d.Asked, d.Approved, d.Denied)
	if r.Foreign > 0 {
		a.Printf("not ours   %d lines of other tools, not counted\n", r.Foreign)
	}
}

func lines(t stats.Tally) string { return fmt.Sprintf("+%d -%d", t.LinesAdded, t.LinesRemoved) }

func cell(text string) string { return cmp.Or(printable.Clip(text, 60), "-") }
