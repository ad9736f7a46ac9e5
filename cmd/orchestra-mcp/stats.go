package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/stats"
)

type statsFlags struct {
	recordFlags
	top  int
	json *bool
}

const defaultTop = 10

func (a *app) newStatsCommand() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count what was done, by intent, class, model and path",
		Long: "Count the ledger's records: changes and lines by intent, mutation class (refactor against evolution, and what is\n" +
			"proven of it), contributor, model, path, kind and day, and refusals by their code. Lines are those of the changes:\n" +
			"an edited line is one added and one removed. Days are in UTC.",
		Example: "  orchestra-mcp stats --since 7d\n  orchestra-mcp stats --intent INT-001 --path src/api --json",
		Args:    cobra.NoArgs,
	}
	f.addWhich(a, cmd)
	cmd.Flags().IntVar(&f.top, "top", defaultTop, "at most `N` rows of each table, 0 for all")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		return a.paged(func() error { return a.stats(cmd.Context(), f) })
	})
	return cmd
}

func (a *app) stats(ctx context.Context, f statsFlags) error {
	filter, err := f.filter(a)
	switch {
	case err != nil:
		return err
	case f.top < 0:
		return usageErrorf("--top %d: give 0 for all rows, or a positive number", f.top)
	}
	return a.ask(ctx, func(q *question) error {
		if filter.Path, err = q.pathFilter(f.path); err != nil {
			return err
		}
		collector := stats.New(stats.Options{Path: filter.Path, Top: f.top})
		problems, err := q.records.Each(ctx, filter, func(e ledger.Entry) error { collector.Add(e); return nil })
		if err != nil {
			return err
		}
		report := collector.Report()
		if report.Records == 0 {
			if err := q.nothingFound(ctx, filter, f.path); err != nil {
				return errors.Join(err, q.reportUnread(ctx, problems))
			}
		}
		if *f.json {
			err = printJSON(q.out, report)
		} else {
			err = q.printStats(report)
		}
		return errors.Join(err, q.reportUnread(ctx, problems))
	})
}

func (a *app) printStats(r stats.Report) error {
	if r.Records == 0 {
		_, err := fmt.Fprintln(a.out, "No records.")
		return err
	}
	a.printStatsHead(r)
	names := a.intentNames()
	for _, t := range []struct {
		name string
		rows [][]string
	}{
		{"intents", intentRows(r, names)}, {"classes", classRows(r)}, {"contributors", contributorRows(r)}, {"models", modelRows(r)},
		{"paths", pathRows(r)}, {"kinds", kindRows(r)}, {"refusals", refusalRows(r)}, {"days", dayRows(r)},
	} {
		if len(t.rows) < 2 {
			continue
		}
		fmt.Fprintln(a.out)
		if err := printTable(a.out, t.rows); err != nil {
			return err
		}
		if n := r.Omitted[t.name]; n > 0 {
			fmt.Fprintf(a.out, "and %d more %s\n", n, t.name)
		}
	}
	for _, name := range r.Merged {
		fmt.Fprintf(a.out, "\nThere are too many different %s to tell all apart; the last are counted together.\n", name)
	}
	return nil
}

func (a *app) printStatsHead(r stats.Report) {
	moment := func(t *time.Time) string { return t.In(a.now().Location()).Format("2006-01-02 15:04") }
	fmt.Fprintf(a.out, "records    %d, sessions %d, %s to %s\n", r.Records, r.Sessions, moment(r.First), moment(r.Last))
	fmt.Fprintf(a.out, "changed    records %d, files %d, lines %s\n", r.Changed.Records, r.Changed.Changes, lines(r.Changed))
	c, d := r.Commands, r.Decisions
	fmt.Fprintf(a.out, "commands   %d, failed %d, timed out %d, changes out of scope %d\n", c.Runs, c.Failed, c.TimedOut, c.Violations)
	fmt.Fprintf(a.out, "decisions  refused %d, asked %d, approved %d, denied %d\n", d.Refused, d.Asked, d.Approved, d.Denied)
	if r.Foreign > 0 {
		fmt.Fprintf(a.out, "not ours   %d lines of other tools, not counted\n", r.Foreign)
	}
}

func number(n int) string { return strconv.Itoa(n) }

func lines(t stats.Tally) string { return fmt.Sprintf("+%d -%d", t.LinesAdded, t.LinesRemoved) }

func cell(text string) string { return cmp.Or(clipped(text, 60), "-") }

func intentRows(r stats.Report, names map[string]string) [][]string {
	rows := [][]string{{"INTENT", "CHANGED", "LINES", "REFACTOR", "EVOLUTION", "COMMANDS", "REFUSED", "LAST", "NAME"}}
	for _, i := range r.Intents {
		rows = append(rows, []string{cell(i.IntentID), number(i.Records), lines(i.Tally), number(i.Refactor.Records), number(i.Evolution.Records),
			number(i.Commands), number(i.Refused), i.Last.UTC().Format(time.DateOnly), clipped(names[i.IntentID], 40)})
	}
	return rows
}

func classRows(r stats.Report) [][]string {
	rows := [][]string{{"CLASS", "CHANGED", "LINES", "OVERRULED", "EVIDENCE"}}
	for _, c := range r.Classes {
		var evidence []string
		for _, word := range slices.Sorted(maps.Keys(c.Evidence)) {
			evidence = append(evidence, fmt.Sprintf("%s %d", word, c.Evidence[word]))
		}
		rows = append(rows, []string{cell(c.MutationClass), number(c.Records), lines(c.Tally), number(c.Overruled), strings.Join(evidence, ", ")})
	}
	return rows
}

func contributorRows(r stats.Report) [][]string {
	rows := [][]string{{"CONTRIBUTOR", "CHANGED", "LINES"}}
	for _, c := range r.Contributors {
		rows = append(rows, []string{cell(c.Type), number(c.Records), lines(c.Tally)})
	}
	return rows
}

func modelRows(r stats.Report) [][]string {
	rows := [][]string{{"MODEL", "CHANGED", "LINES", "REFACTOR", "EVOLUTION", "REFUSED"}}
	for _, m := range r.Models {
		rows = append(rows, []string{cmp.Or(clipped(m.ModelID, 60), "not known"), number(m.Records), lines(m.Tally), number(m.Refactor.Records),
			number(m.Evolution.Records), number(m.Refused)})
	}
	return rows
}

func pathRows(r stats.Report) [][]string {
	rows := [][]string{{"PATH", "CHANGED", "LINES", "LAST"}}
	for _, p := range r.Paths {
		rows = append(rows, []string{clipped(p.Path, 100), number(p.Records), lines(p.Tally), p.Last.UTC().Format(time.DateOnly)})
	}
	return rows
}

func kindRows(r stats.Report) [][]string {
	rows := [][]string{{"KIND", "RECORDS"}}
	for _, k := range r.Kinds {
		rows = append(rows, []string{cell(k.Kind), number(k.Records)})
	}
	return rows
}

func refusalRows(r stats.Report) [][]string {
	rows := [][]string{{"REFUSED WITH", "CALLS"}}
	for _, x := range r.Refusals {
		rows = append(rows, []string{cell(x.ErrorType), number(x.Count)})
	}
	return rows
}

func dayRows(r stats.Report) [][]string {
	rows := [][]string{{"DAY", "CHANGED", "LINES", "REFUSED"}}
	for _, d := range r.Days {
		rows = append(rows, []string{d.Day, number(d.Records), lines(d.Tally), number(d.Refused)})
	}
	return rows
}
