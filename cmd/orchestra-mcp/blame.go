package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/images"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func (a *app) newBlameCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "blame FILE",
		Short: "Show which record and intent each line of a file comes from",
		Long: "Show for each line of a file the ledger record that wrote it, with its intent, mutation class and date, and how\n" +
			"sure that is: exact, shifted, reformatted or moved by somebody else since; untracked if no record explains it.",
		Args: cobra.ExactArgs(1),
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.paged(func() error { return a.blame(cmd.Context(), args[0], *asJSON) })
	})
	return cmd
}

func (a *app) newWhyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why FILE:LINE",
		Short: "Tell the story of one line, newest record first",
		Args:  cobra.ExactArgs(1),
	}
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.why(cmd.Context(), args[0], *asJSON) })
	return cmd
}

// askBlame opens what blame needs, and hands it to about with the path as the ledger has it.
func (a *app) askBlame(ctx context.Context, file string, about func(w blame.Workspace, path string) ([]ledger.Problem, error)) error {
	return a.ask(ctx, func(q *question) error {
		path, err := q.workspacePath(q.root, file)
		if err != nil {
			return err
		}
		problems, err := about(blame.Workspace{Root: q.root, Ledger: q.records, Images: images.Open(q.root, images.Options{}).Get}, path)
		if err != nil {
			return q.blameError(err, path)
		}
		return q.reportUnread(ctx, problems)
	})
}

func (q *question) blameError(err error, path string) error {
	switch {
	case errors.Is(err, blame.ErrNotAFile) && nearestPath(q.root, path) != path:
		return mistakef("%s%s", printable(err.Error()), didYouMean(nearestPath(q.root, path)))
	case errors.Is(err, workspace.ErrBinary):
		return fmt.Errorf("%w; ask `orchestra-mcp log --path %s` for its records", err, printable(path))
	case errors.Is(err, blame.ErrNotAFile), errors.Is(err, blame.ErrNoSuchLine):
		return mistakef("%s", printable(err.Error()))
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

func (a *app) blame(ctx context.Context, file string, asJSON bool) error {
	return a.askBlame(ctx, file, func(w blame.Workspace, path string) ([]ledger.Problem, error) {
		result, err := w.File(ctx, path)
		if err != nil {
			return result.Problems, err
		}
		lines := make([]blameLine, 0, len(result.Lines))
		for _, l := range result.Lines {
			lines = append(lines, newBlameLine(l))
		}
		if asJSON {
			return result.Problems, printJSON(a.out, lines)
		}
		return result.Problems, a.printBlame(lines)
	})
}

// printBlame gives each line its origin in columns, and its text last, so that no width need be known.
func (a *app) printBlame(lines []blameLine) error {
	number := len(strconv.Itoa(len(lines)))
	intent := 0
	for _, l := range lines {
		intent = max(intent, len([]rune(printable(l.IntentID))))
	}
	for _, l := range lines {
		date := ""
		if len(l.Timestamp) >= len(time.DateOnly) {
			date = l.Timestamp[:len(time.DateOnly)]
		}
		origin := fmt.Sprintf("%-8s %-*s %-18s %-10s %-11s", shortID(l.RecordID), intent, printable(l.IntentID),
			printable(l.MutationClass), date, l.Confidence)
		if l.RecordID == "" {
			origin = a.styled(styleAmber, origin)
		}
		_, err := fmt.Fprintf(a.out, "%s %*d | %s\n", origin, number, l.Line, printableLine(l.Text))
		if err != nil {
			return err
		}
	}
	return nil
}

// shortID is the part of a record's id, or of a line's hash, that people read, the same length everywhere. --json has
// all of it, and so has show.
func shortID(id string) string { return brief.ShortID(id) }

// printableLine is printable, with tabs left as they are.
func printableLine(text string) string {
	parts := strings.Split(text, "\t")
	for i, part := range parts {
		parts[i] = printable(part)
	}
	return strings.Join(parts, "\t")
}
