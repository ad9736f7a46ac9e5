package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type replayCommand struct {
	*app
	intents, config, ignore string
	since, until            string
}

func (a *app) newReplayCommand() *cobra.Command {
	c := replayCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "replay",
		Short: "Judge what agents did again, by other intents, rules and settings",
		Long: `Judge the calls in the ledger again, by the files that you give in the place of the workspace's, or by those as they
are: which calls would be allowed, asked about and refused that were not. The files count as trusted. Nothing is changed.
Without --config your settings and the workspace's hold. --ignore stands for both .intentignore files.

What hangs on the state of a session (what it had selected and read) is taken from the record; what cannot be known is
counted. The exit code is 1 if a call would be decided otherwise.`,
		Example: "  orchestra-mcp replay --intents new.yaml --since 30d\n  orchestra-mcp replay --config strict.yaml --json",
	}, a.paged(c.run))
	flags := cmd.Flags()
	flags.StringVar(&c.intents, "intents", "", "judge by `FILE` in the place of active_intents.yaml")
	flags.StringVar(&c.config, "config", "", "judge by `FILE` in the place of the workspace's config.yaml")
	flags.StringVar(&c.ignore, "ignore", "", "judge by `FILE` in the place of the .intentignore files")
	flags.StringVar(&c.since, "since", "", "only calls from `TIME` on: a date, RFC 3339, today, or an age such as 2h or 30d")
	flags.StringVar(&c.until, "until", "", "only calls before `TIME`")
	return cmd
}

func (c *replayCommand) run(ctx context.Context, _ []string) error {
	return c.ask(ctx, &recordFlags{since: c.since, until: c.until}, func(q *question) error {
		var p operator.Proposed
		for _, file := range []struct {
			flag, name string
			to         **settings.File
		}{{"intents", c.intents, &p.Intents}, {"ignore", c.ignore, &p.Ignore}, {"config", c.config, &p.Config}} {
			var err error
			if *file.to, err = c.readFile(file.flag, file.name); err != nil {
				return err
			}
		}
		report, err := q.Replay(ctx, p, q.filter.Since, q.filter.Until)
		if err != nil {
			return err
		}
		q.answer(report, func() { q.printReplay(report) })
		return errors.Join(q.reportUnread(ctx, report.Problems), found(report.Changed() > 0))
	})
}

// maxProposed bounds a file that is given, in bytes.
const maxProposed = 1 << 20

// readFile reads the file of a flag; nil without one.
func (c *replayCommand) readFile(flag, name string) (*settings.File, error) {
	if name == "" {
		return nil, nil
	}
	content, err := durable.ReadRegular(c.fromWorkDir(name), maxProposed)
	if err != nil {
		return nil, mistakef("--%s: %w", flag, err)
	}
	if content == nil {
		content = []byte{}
	}
	return &settings.File{Name: name, Content: content}, nil
}

func (q *question) printReplay(r *backtest.Report) {
	if r.Calls == 0 {
		q.Println("No calls.")
		return
	}
	unknown := 0
	for _, u := range r.Unknown {
		unknown += u.Calls
	}
	newly := r.Newly()
	q.Printf("%s judged again: %d as recorded, %d otherwise (newly refused %d, asked %d, allowed %d; for another reason %d), %d unknown.\n",
		printer.Count(r.Calls, "call"), r.Same, r.Changed(), newly[backtest.Refused], newly[backtest.Asked], newly[backtest.Allowed],
		r.Changed()-newly[backtest.Refused]-newly[backtest.Asked]-newly[backtest.Allowed], unknown)
	printer.Section(q.Printer, "TIME|RECORD|INTENT|TOOL|WAS|NOW|WHAT", r.Changes, func(c backtest.Change) []any {
		what := cmp.Or(c.Command, strings.Join(c.Paths, ", "))
		return []any{
			c.Time.In(q.now().Location()).Format("2006-01-02 15:04"), brief.ShortID(c.Record), cell(c.Intent), cell(c.Tool), shownDecision(c.Recorded), shownDecision(c.Now), printer.Cell(what, 60),
		}
	})
	q.More(r.Changed(), len(r.Changes), "")
	printer.Section(q.Printer, "UNKNOWN|WHY", r.Unknown, func(u backtest.Unknown) []any { return []any{u.Calls, u.Reason} })
}

// shownDecision is a decision in a cell.
func shownDecision(d backtest.Decision) string {
	if d.ErrorType == "" {
		return d.Decision
	}
	return fmt.Sprintf("%s: %s", d.Decision, printable.Clip(d.ErrorType, 40))
}
