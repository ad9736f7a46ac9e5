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
			"With -f the last records are shown oldest first, then each new one as it comes, until you press Ctrl-C.",
		Example: "  orchestra-mcp log --intent INT-001 --since 3d\n" +
			"  orchestra-mcp log --path src/api --kind mutation,command\n" +
			"  orchestra-mcp log -f --json --kind decision",
		Args: cobra.NoArgs,
	}
	f.addWhich(cmd)
	f.addNarrow(cmd)
	cmd.Flags().IntVarP(&f.limit, "limit", "n", defaultLog, "at most `N` records, 0 for all; with -f as many before the new ones (10)")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is recorded from now on")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if f.follow && !cmd.Flags().Changed("limit") {
			f.limit = defaultFollow
		}
		return a.log(cmd.Context(), f)
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
	printed int
}

func newLogPrinter(a *app, out io.Writer, asJSON bool) *logPrinter {
	return &logPrinter{app: a, out: out, json: asJSON}
}

func (p *logPrinter) print(e ledger.Entry) error {
	if p.printed++; p.json {
		_, err := fmt.Fprintf(p.out, "%s\n", printableJSON(e.Raw))
		return err
	}
	if p.printed == 1 {
		heading := logRow("TIME", "RECORD", "KIND", "INTENT", "WHO", "CLASS", "WHAT")
		if _, err := fmt.Fprintln(p.out, p.styled(styleBold, heading)); err != nil {
			return err
		}
	}
	line := logRow(e.Time.In(p.now().Location()).Format("2006-01-02 15:04:05"), shortID(nameOf(e)), string(e.Kind), e.IntentID, who(e),
		e.MutationClass, brief.Line(e))
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

// logRow pads all but the last cell. An empty one is shown as -, so that columns can be told apart.
func logRow(cells ...string) string {
	var row strings.Builder
	for i, width := range []int{19, 8, 9, 12, 22, 16} {
		cell := printable(clipped(cells[i], 30))
		if cell == "" {
			cell = "-"
		}
		row.WriteString(cell)
		row.WriteString(strings.Repeat(" ", max(width-utf8.RuneCountInString(cell), 0)+2))
	}
	row.WriteString(cells[len(cells)-1])
	return row.String()
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
