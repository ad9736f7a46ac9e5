package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/agenttrace"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

type exportCommand struct {
	*app
	recordFlags
	agentTrace, strict bool
	output             string
}

func (a *app) newExportCommand() *cobra.Command {
	c := exportCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "export --agent-trace",
		Short: "Write the ledger's changes for other tools",
		Long: "Write one Agent Trace 0.1.0 record a line for each record that changed files, to " + agentTraceFile + " of the workspace.\n" +
			"The file is made anew each time: nothing needs to be kept of it, and nobody should trust it more than the ledger, since\n" +
			"whoever may write in the workspace can change it. A file with lines of another tool is not replaced.",
		Example: "  orchestra-mcp export --agent-trace --strict\n  orchestra-mcp export --agent-trace --intent INT-001 --output -",
	}, interruptible(c.run)) // so that no half of a file is left
	c.addWhich(a, cmd)
	flags := cmd.Flags()
	flags.BoolVar(&c.agentTrace, "agent-trace", false, "the format, github.com/cursor/agent-trace 0.1.0; there is no other yet")
	flags.BoolVar(&c.strict, "strict", false, "put what Agent Trace does not name into metadata, for readers that refuse other keys")
	flags.StringVarP(&c.output, "output", "o", "", "write to `FILE` instead; - is standard output")
	flags.Lookup("json").Usage = "print as JSON what was written; the records themselves are JSON lines anyway"
	return cmd
}

func (c *exportCommand) run(ctx context.Context, _ []string) error {
	if !c.agentTrace {
		return usageErrorf("export: say which format; there is --agent-trace")
	}
	return c.ask(ctx, &c.recordFlags, func(q *question) error {
		x := &exporter{question: q, ctx: ctx, strict: c.strict}
		if some, err := q.has(ctx, q.filter); err != nil {
			return err
		} else if !some {
			if err := q.nothingFound(ctx); err != nil {
				return err
			}
		}
		if c.output == "-" {
			return errors.Join(x.write(q), q.reportUnread(ctx, x.problems))
		}
		place, err := q.exportPlace(c.output)
		if err != nil {
			return err
		}
		defer place.dir.Close()
		if err := place.replace(x.write); err != nil {
			return errors.Join(err, q.reportUnread(ctx, x.problems))
		}
		if c.json {
			c.JSON(exported{place.shown, x.written})
		} else {
			c.tell("%d records in %s", x.written, place.shown)
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
	strict   bool
	written  int
	problems []ledger.Problem
}

// errIncomplete keeps an earlier export: one without the records of a file that cannot be read now would look whole.
var errIncomplete = errors.New("a part of the ledger could not be read")

func (x *exporter) write(to io.Writer) error {
	out := bufio.NewWriterSize(to, 256<<10)
	problems, err := x.Ledger.Each(x.ctx, x.filter, func(e record.Entry) error { return x.line(out, e) })
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

func (x *exporter) line(out *bufio.Writer, e record.Entry) error {
	if !agenttrace.Changed(e) {
		return nil
	}
	line, err := agenttrace.Line(e, x.strict)
	if err != nil {
		x.warn("left out: record %s: %s", printable.Clip(operator.NameOf(e), 80), printable.Clip(err.Error(), 300))
		return nil
	}
	x.written++
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}

// agentTraceFile is where Agent Trace's own reference implementation keeps its records.
const agentTraceFile = ".agent-trace/traces.jsonl"

// exportPlace is the file that an export replaces as a whole.
type exportPlace struct {
	dir   *os.Root
	name  string
	shown string // to a person
}

// exportPlace opens the directory of the file. In the workspace it must be a directory of its own and no link: a cloned
// repository could lead the export anywhere with one.
func (q *question) exportPlace(output string) (p exportPlace, err error) {
	if output == "" {
		p = exportPlace{name: filepath.Base(agentTraceFile), shown: agentTraceFile}
		if p.dir, err = durable.OpenOwn(q.Root, filepath.Dir(agentTraceFile), 0o755); err != nil {
			err = fmt.Errorf("write %s: %w", agentTraceFile, err)
		}
		return p, err
	}
	full := q.fromWorkDir(output)
	p = exportPlace{name: filepath.Base(full), shown: output}
	if p.dir, err = os.OpenRoot(filepath.Dir(full)); err != nil {
		err = usageErrorf("--output %s: %w", output, err)
	}
	return p, err
}

// replace puts what write gives in the place of the file, or leaves all as it was.
func (p exportPlace) replace(write func(io.Writer) error) error {
	if err := p.replaceable(); err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	temp := ".orchestra-" + rand.Text() + ".tmp"
	file, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.shown, err)
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = p.dir.Rename(temp, p.name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w; it is as it was before", p.shown, errors.Join(err, p.dir.Remove(temp)))
	}
	return durable.FlushDir(p.dir)
}

// replaceable refuses links and other things that are no files, and what another tool wrote.
func (p exportPlace) replaceable() error {
	file, _, err := durable.OpenRegularIn(p.dir, p.name, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, durable.ErrNotRegular):
		return errors.New("it is not a regular file; remove it, or give --output")
	case err != nil:
		return err
	}
	defer file.Close()
	line, err := firstForeign(file)
	if err == nil && line > 0 {
		err = fmt.Errorf("its line %d was not written by orchestra-mcp and would be lost; move the file away, or give --output", line)
	}
	return err
}

// maxExported bounds a line of an earlier export: the ledger writes none that is longer.
const maxExported = 32 << 20

// firstForeign is the first line that no export of ours wrote; 0 if there is none.
func firstForeign(in io.Reader) (int, error) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 64<<10), maxExported)
	n := 0
	for scanner.Scan() {
		n++
		if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 && !isExported(line) {
			return n, nil
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return n + 1, nil
	}
	return 0, scanner.Err()
}

func isExported(line []byte) bool {
	var record struct {
		Tool struct {
			Name string `json:"name"`
		} `json:"tool"`
	}
	return json.Unmarshal(line, &record) == nil && record.Tool.Name == "orchestra-mcp"
}
