package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func (a *app) newBlameCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "blame FILE",
		Short: "Show which record and intent each line of a file comes from",
		Long: `Show for each line of a file the ledger record that wrote it, with its intent, mutation class and date, and how
sure that is: exact, shifted, reformatted or moved by somebody else since; untracked if no record explains it.`,
		Example: "  orchestra-mcp blame src/main.go",
		Args:    cobra.ExactArgs(1),
	}, a.paged(func(ctx context.Context, args []string) error { return a.blame(ctx, args[0]) }))
}

// askBlame opens what blame needs, and hands it to about with the path as the ledger has it.
func (a *app) askBlame(ctx context.Context, file string, about func(w blame.Workspace, path string) ([]ledger.Problem, error)) error {
	return a.ask(ctx, nil, func(q *question) error {
		path, err := q.workspacePath(q.Root, file)
		if err != nil {
			return err
		}
		problems, err := about(q.Blame(), path)
		if err != nil {
			return q.blameError(err, path)
		}
		return q.reportUnread(ctx, problems)
	})
}

func (q *question) blameError(err error, path string) error {
	switch {
	case errors.Is(err, blame.ErrNotAFile) && nearestPath(q.Root, path) != path:
		return mistakef("%s%s", err.Error(), didYouMean(nearestPath(q.Root, path)))
	case errors.Is(err, workspace.ErrBinary):
		return fmt.Errorf("%w; ask `orchestra-mcp log --path %s` for its records", err, printable.Text(path))
	case errors.Is(err, blame.ErrNotAFile), errors.Is(err, blame.ErrNoSuchLine):
		return mistakef("%s", err.Error())
	}
	return err
}

// blameLine is a line of `blame --json`.
type blameLine struct {
	Line          int              `json:"line"`
	Text          string           `json:"text"`
	RecordID      string           `json:"record_id"`
	IntentID      string           `json:"intent_id"`
	MutationClass string           `json:"mutation_class"`
	ModelID       string           `json:"model_id"`
	Timestamp     string           `json:"timestamp"`
	Confidence    blame.Confidence `json:"confidence"`
}

func newBlameLine(l blame.Line) blameLine {
	line := blameLine{Line: l.Number, Text: l.Text, Confidence: l.Confidence}
	if r := l.Record; r != nil {
		line.RecordID, line.IntentID, line.MutationClass = r.ID, r.IntentID, r.MutationClass
		line.ModelID, line.Timestamp = r.Contributor.ModelID, r.Time.UTC().Format(time.RFC3339Nano)
	}
	return line
}

func (a *app) blame(ctx context.Context, file string) error {
	return a.askBlame(ctx, file, func(w blame.Workspace, path string) ([]ledger.Problem, error) {
		result, err := w.File(ctx, path)
		if err == nil {
			lines := records(result.Lines, newBlameLine)
			a.answer(lines, func() { a.printBlame(lines) })
		}
		return result.Problems, err
	})
}

// printBlame gives each line its origin in columns, and its text last, so that no width need be known.
func (a *app) printBlame(lines []blameLine) {
	number := len(strconv.Itoa(len(lines)))
	intent := 0
	for _, l := range lines {
		intent = max(intent, len([]rune(printable.Text(l.IntentID))))
	}
	for _, l := range lines {
		origin := fmt.Sprintf("%-8s %-*s %-18s %-10.10s %-11s", brief.ShortID(l.RecordID), intent, printable.Text(l.IntentID),
			printable.Text(l.MutationClass), l.Timestamp, l.Confidence)
		shown := printer.Raw(origin)
		if l.RecordID == "" {
			shown = a.Amber(origin)
		}
		a.Printf("%s %*d | %s\n", shown, number, l.Line, printer.Line(l.Text))
	}
}
