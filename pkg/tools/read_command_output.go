package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type outputArgs struct {
	Session    string `json:"session"`
	ArtifactID string `json:"artifact_id"`
	Search     string `json:"search"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
}

type outputResult struct {
	ArtifactID string `json:"artifact_id"`
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	TotalBytes int64  `json:"total_bytes"`
	Matches    int    `json:"matches"`
	Next       int    `json:"next"`
}

func readCommandOutput(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "read_command_output", Title: "Read a command's output", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "Read the kept output of an earlier execute_command, by lines, or search it for a regular expression.",
		InputSchema: input([]string{"artifact_id"}, schema{
			"artifact_id": schema{"type": "string", "minLength": 1, "description": "As execute_command returned it."},
			"search":      text("Only lines that match this (RE2, letter case ignored)."),
			"offset":      number("First line, 1-based.", 1),
			"limit":       number("How many lines.", 1),
		}),
		OutputSchema: output(open([]string{"artifact_id", "content", "total_lines", "total_bytes", "matches", "next"}, schema{
			"artifact_id": text("As given."),
			"content":     text("Numbered lines."),
			"total_lines": number("Lines of the whole output, as far as it was read.", 0),
			"total_bytes": number("Bytes of the whole output.", 0),
			"matches":     number("Lines that match the search.", 0),
			"next":        number("The offset to go on with, 0 at the end.", 0),
		})),
	}
	return newSimple(spec, func(_ context.Context, _ *hooks.Call, a outputArgs) (*reply, error) {
		page, err := d.Artifacts.Read(a.ArtifactID, a.Offset, a.Limit, a.Search)
		if errors.Is(err, command.ErrNoArtifact) {
			return nil, refusal.Newf(refusal.FileNotFound, "There is no kept output %q; it may have been pruned.", clip(a.ArtifactID, 100)).
				WithHint(refusal.HintFixArguments).Suggest("Use the artifact_id of a recent execute_command, or run the command again.")
		}
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for _, line := range page.Lines {
			fmt.Fprintf(&b, "%d | %s", line.Number, line.Text)
			if line.Cut {
				b.WriteString("…")
			}
			b.WriteByte('\n')
		}
		result := outputResult{a.ArtifactID, b.String(), page.TotalLines, page.TotalBytes, page.Matches, page.Next}
		switch {
		case len(page.Lines) == 0:
			b.WriteString("[no such lines]\n")
		case page.Next > 0:
			fmt.Fprintf(&b, "[more: offset: %d]\n", page.Next)
		}
		return &reply{text: strings.TrimRight(b.String(), "\n"), structured: result}, nil
	})
}
