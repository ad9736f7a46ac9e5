package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
)

type logFlags struct {
	recordFlags
	limit  int
	follow bool
	json   *bool
}

// Records that are shown if nobody says how many.
const (
	defaultLog    = 50
	defaultFollow = 10 // before the new ones
)

func (a *app) newLogCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what the ledger has recorded, newest first",
		Long: "Show the records of the ledger, newest first: when, the beginning of the record's id (for show), kind, intent, who,\n" +
			"mutation class, and what was done. With --json the records themselves are printed as JSON lines, exactly as they\n" +
			"stand in the ledger.\n\n" +
			"On a terminal the table fits its width, and goes through $PAGER, or less.\n\n" +
			"With -f the last records are shown oldest first, then each new one as it comes, until you press Ctrl-C.",
		Example: "  orchestra-mcp log --intent INT-001 --since 3d\n" +
			"  orchestra-mcp log --path src/api --kind mutation,command\n" +
			"  orchestra-mcp log -f --json --kind decision",
		Args: cobra.NoArgs,
	}
	f.addWhich(a, cmd)
	f.addNarrow(a, cmd)
	cmd.Flags().IntVarP(&f.limit, "limit", "n", defaultLog, "at most `N` records, 0 for all; with -f as many before the new ones (10)")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is recorded from now on")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if f.follow && !cmd.Flags().Changed("limit") {
			f.limit = defaultFollow
		}
		if f.follow {
			return a.log(cmd.Context(), f)
		}
		return a.paged(func() error { return a.log(cmd.Context(), f) })
	})
	return cmd
}

func (a *app) log(ctx context.Context, f logFlags) error {
	filter, err := f.filter(a)
	switch {
	case err != nil:
		return err
	case f.limit < 0:
		return usageErrorf("--limit %d: give 0 for all records, or a positive number", f.limit)
	case f.follow && f.until != "":
		return usageErrorf("--until says where to end and --follow not to: give one of them")
	}
	filter.Newest, filter.Limit = true, f.limit
	return a.ask(ctx, func(q *question) error {
		if filter.Path, err = q.pathFilter(f.path); err != nil {
			return err
		}
		if f.follow {
			if err := q.knownIntent(ctx, f.intent); err != nil {
				return err
			}
			return q.followLog(ctx, filter, *f.json)
		}
		return q.log(ctx, filter, f)
	})
}

func (q *question) log(ctx context.Context, filter ledger.Filter, f logFlags) error {
	out := bufio.NewWriterSize(q.out, 64<<10)
	printer := newLogPrinter(q.app, out, *f.json)
	problems, err := q.records.Each(ctx, filter, printer.print)
	if err == nil && printer.printed == 0 {
		if err = q.nothingFound(ctx, filter, f.path); err == nil && !*f.json {
			_, err = fmt.Fprintln(out, "No records.")
		}
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	return errors.Join(err, q.reportUnread(ctx, problems))
}

// logPrinter prints records as lines. The columns have fixed widths, because a record is printed before the next one is
// known.
type logPrinter struct {
	*app
	out     io.Writer
	json    bool
	columns []logColumn
	width   int // of the terminal; 0 for none
	printed int
}

func newLogPrinter(a *app, out io.Writer, asJSON bool) *logPrinter {
	p := &logPrinter{app: a, out: out, json: asJSON, width: a.width()}
	p.columns = p.fitting()
	return p
}

// logColumn is one of the columns before the last one, which says what was done and has the rest of the line.
type logColumn struct {
	heading string
	width   int
	cell    func(ledger.Entry) string
}

func (p *logPrinter) allColumns() []logColumn {
	moment := func(layout string) func(ledger.Entry) string {
		return func(e ledger.Entry) string { return e.Time.In(p.now().Location()).Format(layout) }
	}
	return []logColumn{
		{"TIME", 19, moment("2006-01-02 15:04:05")}, {"RECORD", 8, func(e ledger.Entry) string { return shortID(nameOf(e)) }},
		{"KIND", 9, func(e ledger.Entry) string { return string(e.Kind) }}, {"INTENT", 12, func(e ledger.Entry) string { return e.IntentID }},
		{"WHO", 22, who}, {"CLASS", 16, func(e ledger.Entry) string { return e.MutationClass }},
		{"TIME", 11, moment("01-02 15:04")},
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

func (p *logPrinter) print(e ledger.Entry) error {
	if p.printed++; p.json {
		_, err := fmt.Fprintf(p.out, "%s\n", printableJSON(e.Raw))
		return err
	}
	if p.printed == 1 {
		var cells []string
		for _, c := range p.columns {
			cells = append(cells, c.heading)
		}
		heading := p.row(cells, "WHAT")
		if _, err := fmt.Fprintln(p.out, p.styled(styleBold, heading)); err != nil {
			return err
		}
	}
	var cells []string
	for _, c := range p.columns {
		cells = append(cells, c.cell(e))
	}
	line := p.row(cells, brief.Line(e))
	if e.Decision != nil && e.Decision.Outcome != "approved" {
		line = p.styled(styleAmber, line)
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// nameOf is what show takes to find a record: its id, else the hash of its line.
func nameOf(e ledger.Entry) string {
	if e.ID == "" {
		return e.Hash
	}
	return e.ID
}

// row pads the cells before what was done, and cuts the line where the terminal ends. An empty cell is shown as -, so that
// columns can be told apart.
func (p *logPrinter) row(cells []string, what string) string {
	var row strings.Builder
	for i, column := range p.columns {
		cell := printable(clipped(cells[i], 30))
		if cell == "" {
			cell = "-"
		}
		row.WriteString(cell)
		row.WriteString(strings.Repeat(" ", max(column.width-utf8.RuneCountInString(cell), 0)+2))
	}
	row.WriteString(what)
	if p.width == 0 {
		return row.String()
	}
	return ansi.Truncate(row.String(), p.width, "…")
}

// who names who made a record: a human, the model without its provider, else the client.
func who(e ledger.Entry) string {
	switch c := e.Contributor; {
	case c.Type == ledger.ContributorHuman:
		return c.Type
	case c.ModelID != "":
		return path.Base(c.ModelID)
	case e.Client.Name != "":
		return e.Client.Name
	default:
		return c.Type
	}
}
