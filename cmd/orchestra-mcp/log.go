package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

type logCommand struct {
	*app
	recordFlags
	limit  int
	follow bool
}

// Records that are shown if nobody says how many.
const (
	defaultLog    = 50
	defaultFollow = 10 // before the new ones
)

func (a *app) newLogCommand() *cobra.Command {
	c := logCommand{app: a}
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what the ledger has recorded, newest first",
		Long: `Show the records of the ledger, newest first: when, the beginning of the record's id (for show), kind, intent, who,
mutation class, and what was done. With --json the records themselves are printed as JSON lines, exactly as they
stand in the ledger.

On a terminal the table fits its width, and goes through $PAGER, or less.

With -f the last records are shown oldest first, then each new one as it comes, until you press Ctrl-C.`,
		Example: "  orchestra-mcp log --intent INT-001 --since 3d\n" +
			"  orchestra-mcp log --path src/api --kind mutation,command\n" +
			"  orchestra-mcp log -f --json --kind decision",
	}
	c.addWhich(a, cmd)
	c.addNarrow(a, cmd)
	cmd.Flags().IntVarP(&c.limit, "limit", "n", defaultLog, "at most `N` records, 0 for all; with -f as many before the new ones (10)")
	cmd.Flags().BoolVarP(&c.follow, "follow", "f", false, "go on with what is recorded from now on")
	return a.command(cmd, func(ctx context.Context, args []string) error {
		if !c.follow {
			return a.paged(c.run)(ctx, args)
		}
		if !cmd.Flags().Changed("limit") {
			c.limit = defaultFollow
		}
		return interruptible(c.run)(ctx, args)
	})
}

func (c *logCommand) run(ctx context.Context, _ []string) error {
	switch {
	case c.limit < 0:
		return usageErrorf("--limit %d: give 0 for all records, or a positive number", c.limit)
	case c.follow && c.until != "":
		return usageErrorf("--until says where to end and --follow not to: give one of them")
	}
	return c.ask(ctx, &c.recordFlags, func(q *question) error {
		q.filter.Newest, q.filter.Limit = true, c.limit
		if !c.follow {
			return q.log(ctx)
		}
		if err := q.knownIntent(ctx, c.intent); err != nil {
			return err
		}
		return q.followLog(ctx)
	})
}

func (q *question) log(ctx context.Context) error {
	lines := newLogPrinter(q.app)
	problems, err := q.Ledger.Each(ctx, q.filter, lines.print)
	if err == nil && lines.printed == 0 {
		if err = q.nothingFound(ctx); err == nil && !q.json {
			q.Println("No records.")
		}
	}
	return errors.Join(err, q.reportUnread(ctx, problems))
}

// followLog prints the last records, oldest first, then each new one at once, until the operator interrupts. The tail is
// taken first, so that no record falls between the two.
func (q *question) followLog(ctx context.Context) error {
	tail, err := q.Ledger.Tail(ctx)
	if err != nil {
		return err
	}
	last, err := q.Ledger.Query(ctx, q.filter)
	if err != nil {
		return err
	}
	lines := newLogPrinter(q.app)
	shown := map[string]bool{}
	for _, e := range slices.Backward(last.Entries) {
		shown[e.Hash] = true
		if err := lines.print(e); err != nil {
			return err
		}
	}
	if err := q.reportUnread(ctx, last.Problems); err != nil {
		return err
	}
	return tail.Follow(ctx, q.filter, func(e record.Entry) error {
		if shown[e.Hash] {
			return nil
		}
		return lines.print(e)
	})
}

// logPrinter prints records as lines. The columns have fixed widths, because a record is printed before the next one is
// known.
type logPrinter struct {
	*app
	columns []logColumn
	width   int // of the terminal; 0 for none
	printed int
}

func newLogPrinter(a *app) *logPrinter {
	p := &logPrinter{app: a, width: a.Width()}
	p.columns = p.fitting()
	return p
}

// logColumn is one of the columns before the last one, which says what was done and has the rest of the line.
type logColumn struct {
	heading string
	width   int
	cell    func(record.Entry) string
}

func (p *logPrinter) allColumns() []logColumn {
	when := func(layout string) func(record.Entry) string {
		return func(e record.Entry) string { return e.Time.In(p.now().Location()).Format(layout) }
	}
	return []logColumn{
		{"TIME", 19, when("2006-01-02 15:04:05")}, {"RECORD", 8, func(e record.Entry) string { return brief.ShortID(operator.NameOf(e)) }},
		{"KIND", 9, func(e record.Entry) string { return string(e.Kind) }}, {"INTENT", 12, func(e record.Entry) string { return e.IntentID }},
		{"WHO", 22, operator.Who}, {"CLASS", 16, func(e record.Entry) string { return e.MutationClass }},
		{"TIME", 11, when("01-02 15:04")},
	}
}

// minWhat is how much of a line what was done should have, in characters.
const minWhat = 30

// fitting leaves columns out of a narrow terminal, the least needed first: who did what is in show too.
func (p *logPrinter) fitting() []logColumn {
	all := p.allColumns()
	short := append([]logColumn{all[6]}, all[1:4]...)
	layouts := [][]logColumn{all[:6], all[:5], all[:4], short, short[:3], short[:2]}
	for _, layout := range layouts {
		taken := 0
		for _, c := range layout {
			taken += c.width + 2
		}
		if p.width == 0 || taken+minWhat <= p.width {
			return layout
		}
	}
	return layouts[len(layouts)-1]
}

// print prints a record. Its error ends the reading where nobody gets the answer.
func (p *logPrinter) print(e record.Entry) error {
	if p.printed++; p.json {
		p.Printf("%s\n", printer.Raw(printable.JSON(e.Raw)))
	} else {
		if p.printed == 1 {
			heading := p.row(func(c logColumn) string { return c.heading }, "WHAT")
			p.Println(p.Bold(heading))
		}
		line := p.row(func(c logColumn) string { return c.cell(e) }, brief.Line(e))
		if e.Decision != nil && e.Decision.Outcome != "approved" {
			p.Println(p.Amber(line))
		} else {
			p.Println(line)
		}
	}
	err, _ := p.Failure()
	return err
}

// row pads the cells before what was done, and cuts the line where the terminal ends. An empty cell is shown as -, so that
// columns can be told apart.
func (p *logPrinter) row(cell func(logColumn) string, what string) string {
	var row strings.Builder
	for _, column := range p.columns {
		text := cmp.Or(printable.Text(printable.Clip(cell(column), 30)), "-")
		row.WriteString(text)
		row.WriteString(strings.Repeat(" ", max(column.width-utf8.RuneCountInString(text), 0)+2))
	}
	row.WriteString(what)
	if p.width == 0 {
		return row.String()
	}
	return ansi.Truncate(row.String(), p.width, "…")
}
