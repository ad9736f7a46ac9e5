package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

func (a *app) newShowCommand() *cobra.Command {
	var noDiff bool
	cmd := a.command(&cobra.Command{
		Use:   "show RECORD…",
		Short: "Show records in full, with what they changed",
		Long: `Show all that the ledger has of a record: when, who, under which intent, the mutation class and what proves it, each
file with its hashes and its diff as far as the contents are still available (kept, as the files are, or in git), the
command or the decision, and the later records that took it back.

RECORD is the id, or the hash of the line; the first 4 or more characters are enough where they mean one record.
With --json the record's lines are printed exactly as they stand in the ledger.`,
		Example: "  orchestra-mcp show 1f6b3c9a",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRecord(func(record.Entry) bool { return true }),
	}, a.paged(func(ctx context.Context, args []string) error {
		return a.ask(ctx, nil, func(q *question) error {
			found, problems, err := q.findRecords(ctx, args)
			if err == nil {
				err = q.show(ctx, found, noDiff)
			}
			return errors.Join(err, q.reportUnread(ctx, problems))
		})
	}))
	cmd.Flags().BoolVar(&noDiff, "no-diff", false, "leave out the diffs")
	return cmd
}

func (q *question) show(ctx context.Context, found []operator.Record, noDiff bool) error {
	if q.json {
		for _, r := range found {
			for _, e := range r.Lines {
				q.Printf("%s\n", printer.Raw(printable.JSON(e.Raw)))
			}
		}
		return nil
	}
	mentions, err := q.Mentions(ctx, found)
	if err != nil {
		return err
	}
	contents, err := q.Contents(ctx)
	if err != nil {
		return err
	}
	defer contents.Close()
	v := &recordView{
		question: q, ctx: ctx, names: q.intentNames(),
		contents: contents, noDiff: noDiff,
	}
	for i, r := range found {
		if i > 0 {
			v.Println()
		}
		v.record(r, mentions[r.First().Hash])
	}
	return nil
}
