package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/images"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type showFlags struct {
	noDiff bool
	json   *bool
}

func (a *app) newShowCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show RECORD…",
		Short: "Show records in full, with what they changed",
		Long: "Show all that the ledger has of a record: when, who, under which intent, the mutation class and what proves it, each\n" +
			"file with its hashes and its diff as far as the contents can still be had (from the kept images, the files as they\n" +
			"are, or git), the command or the decision, and the later records that took it back.\n\n" +
			"RECORD is the id, or the hash of the line; the first 4 or more characters are enough where they mean one record.\n" +
			"With --json the record's lines are printed exactly as they stand in the ledger.",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRecord(func(ledger.Entry) bool { return true }),
	}
	cmd.Flags().BoolVar(&f.noDiff, "no-diff", false, "leave out the diffs")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.paged(func() error { return a.show(cmd.Context(), args, f) })
	})
	return cmd
}

func (a *app) show(ctx context.Context, names []string, f showFlags) error {
	return a.ask(ctx, func(q *question) error {
		found, problems, err := q.findRecords(ctx, names)
		if err != nil {
			return errors.Join(err, q.reportUnread(ctx, problems))
		}
		out := bufio.NewWriterSize(q.out, 64<<10)
		if *f.json {
			err = printRecordLines(out, found)
		} else {
			err = q.showAll(ctx, out, found, f)
		}
		if flushErr := out.Flush(); err == nil {
			err = flushErr
		}
		return errors.Join(err, q.reportUnread(ctx, problems))
	})
}

func printRecordLines(out io.Writer, found []foundRecord) error {
	for _, r := range found {
		for _, e := range r.lines {
			if _, err := fmt.Fprintf(out, "%s\n", printableJSON(e.Raw)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *question) showAll(ctx context.Context, out io.Writer, found []foundRecord, f showFlags) error {
	mentions, err := q.mentions(ctx, found)
	if err != nil {
		return err
	}
	files, err := workspace.Open(q.root.Name())
	if err != nil {
		return err
	}
	defer files.Close()
	objects := blame.OpenObjects(ctx, q.root.Name())
	defer objects.Close()
	v := &recordView{
		question: q, ctx: ctx, out: out, names: q.intentNames(),
		contents: contents{files: files, kept: images.Open(q.root, images.Options{}).Get, git: objects.Content},
		noDiff:   f.noDiff,
	}
	for i, r := range found {
		if i > 0 {
			v.line("")
		}
		v.record(r, mentions[r.first().Hash])
	}
	return v.err
}
