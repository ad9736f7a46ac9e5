package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/agenttrace"
)

type exportFlags struct {
	recordFlags
	agentTrace, strict bool
	output             string
	json               *bool
}

func (a *app) newExportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --agent-trace",
		Short: "Write the ledger's changes for other tools",
		Long: "Write one Agent Trace 0.1.0 record a line for each record that changed files, to " + agentTraceFile + " of the workspace.\n" +
			"The file is made anew each time: nothing needs to be kept of it, and nobody should trust it more than the ledger, since\n" +
			"whoever may write in the workspace can change it. A file with lines of another tool is not replaced.",
		Example: "  orchestra-mcp export --agent-trace --strict\n  orchestra-mcp export --agent-trace --intent INT-001 --output -",
		Args:    cobra.NoArgs,
	}
	f.addWhich(a, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.agentTrace, "agent-trace", false, "the format, github.com/cursor/agent-trace 0.1.0; there is no other yet")
	flags.BoolVar(&f.strict, "strict", false, "put what Agent Trace does not name into metadata, for readers that refuse other keys")
	flags.StringVarP(&f.output, "output", "o", "", "write to `FILE` instead; - is standard output")
	f.json = addJSONFlag(cmd)
	flags.Lookup("json").Usage = "print as JSON what was written; the records themselves are JSON lines anyway"
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		// An interrupt ends the writing, so that no half of a file is left.
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return a.export(ctx, f)
	})
	return cmd
}

func (a *app) export(ctx context.Context, f exportFlags) error {
	if !f.agentTrace {
		return usageErrorf("export: say which format; there is --agent-trace")
	}
	filter, err := f.filter(a)
	if err != nil {
		return err
	}
	return a.ask(ctx, func(q *question) error {
		if filter.Path, err = q.pathFilter(f.path); err != nil {
			return err
		}
		x := &exporter{question: q, ctx: ctx, filter: filter, strict: f.strict}
		if some, err := q.has(ctx, filter); err != nil {
			return err
		} else if !some {
			if err := q.nothingFound(ctx, filter, f.path); err != nil {
				return err
			}
		}
		if f.output == "-" {
			err := x.write(q.out)
			return errors.Join(err, q.reportUnread(ctx, x.problems))
		}
		place, err := q.exportPlace(f.output)
		if err != nil {
			return err
		}
		defer place.close()
		if err := place.replace(x.write); err != nil {
			return errors.Join(err, q.reportUnread(ctx, x.problems))
		}
		if *f.json {
			err = printJSON(q.out, exported{place.shown, x.written})
		} else {
			_, err = fmt.Fprintf(q.err, "%d records in %s\n", x.written, printable(place.shown))
		}
		if err != nil {
			return err
		}
		return q.reportUnread(ctx, x.problems)
	})
}

// exported is what export --json prints.
type exported struct {
	File    string `json:"file"`
	Records int    `json:"records"`
}

// exporter writes the records of a filter.
type exporter struct {
	*question
	ctx      context.Context
	filter   ledger.Filter
	strict   bool
	written  int
	problems []ledger.Problem
}

// errIncomplete keeps an earlier export: one without the records of a file that cannot be read now would look whole.
var errIncomplete = errors.New("a part of the ledger could not be read")

func (x *exporter) write(to io.Writer) error {
	out := bufio.NewWriterSize(to, 256<<10)
	problems, err := x.records.Each(x.ctx, x.filter, func(e ledger.Entry) error { return x.line(out, e) })
	x.problems = problems
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	for _, p := range problems {
		if err == nil && p.Kind == ledger.ProblemUnreadable {
			err = errIncomplete
		}
	}
	return err
}

func (x *exporter) line(out *bufio.Writer, e ledger.Entry) error {
	if !agenttrace.Changed(e) {
		return nil
	}
	line, err := agenttrace.Line(e, x.strict)
	if err != nil {
		fmt.Fprintf(x.err, "orchestra-mcp: left out: record %s: %s\n", printable(clipped(nameOf(e), 80)), printable(clipped(err.Error(), 300)))
		return nil
	}
	x.written++
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}
