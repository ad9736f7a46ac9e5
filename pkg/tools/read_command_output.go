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
	Tail       int    `json:"tail"`
	ByteOffset *int64 `json:"byte_offset"`
}

// check refuses what cannot be meant together.
func (a *outputArgs) check() error {
	if a.ByteOffset != nil && (a.Search != "" || a.Offset > 0 || a.Tail > 0) || a.Tail > 0 && a.Offset > 0 {
		return refusal.New(refusal.InvalidArguments, "byte_offset goes with limit only, and tail not with offset: give one way to say where to read.")
	}
	return nil
}

type outputResult struct {
	ArtifactID string `json:"artifact_id"`
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	TotalBytes int64  `json:"total_bytes"`
	Matches    int    `json:"matches"`
	Next       int    `json:"next"`
	NextByte   int64  `json:"next_byte"`
	Running    bool   `json:"running"`
}

func readCommandOutput(d *Deps) hooks.Tool {
	spec := hooks.Spec{
		Name: "read_command_output", Title: "Read a command's output", Class: hooks.Safe, ReadOnly: true, Idempotent: true,
		Description: "Read the kept output of an earlier execute_command, or of one that runs in the background: by lines, its last lines (tail), " +
			"the lines that match a regular expression, or by bytes where lines are too long.",
		InputSchema: input([]string{"artifact_id"}, schema{
			"artifact_id": given("As execute_command returned it."),
			"search":      pattern("Only lines that match this (RE2, letter case ignored)."),
			"offset":      number("First line, 1-based.", 1),
			"limit":       number("How many lines; with byte_offset how many bytes.", 1),
			"tail":        number("Only the last so many lines.", 1),
			"byte_offset": number("Read bytes instead of lines, from this one on, 0-based.", 0),
		}),
		OutputSchema: output(open([]string{"artifact_id", "content", "total_lines", "total_bytes", "matches", "next", "next_byte", "running"}, schema{
			"artifact_id": text("As given."),
			"content":     text("Numbered lines; with byte_offset the text itself."),
			"total_lines": number("Lines of the whole output, as far as it was read.", 0),
			"total_bytes": number("Bytes of the whole output.", 0),
			"matches":     number("Lines that match the search.", 0),
			"next":        number("The offset to go on with, 0 at the end.", 0),
			"next_byte":   number("With byte_offset, the one to go on with, 0 at the end.", 0),
			"running":     flag("Whether the command runs in the background now, so that more may come."),
		})),
	}
	return newSimple(spec, func(_ context.Context, call *hooks.Call, a outputArgs) (*reply, error) {
		if err := a.check(); err != nil {
			return nil, err
		}
		running := d.Jobs != nil && d.Jobs.Writes(a.ArtifactID) // before it is read: what ends meanwhile is read to its end
		read := outputLines
		if a.ByteOffset != nil {
			read = outputBytes
		}
		text, result, err := read(d.Artifacts.For(call.Caller.Principal), a)
		if errors.Is(err, command.ErrNoArtifact) {
			return nil, refusal.Newf(refusal.FileNotFound, "There is no kept output %q; it may have been pruned.", clip(a.ArtifactID, 100)).
				WithHint(refusal.HintFixArguments).Suggest("Use the artifact_id of a recent execute_command, or run the command again.")
		}
		if err != nil {
			return nil, err
		}
		if result.Running = running; running {
			text += "[the command still runs: more may come]\n"
		}
		return &reply{text: strings.TrimRight(text, "\n"), structured: result}, nil
	})
}

func outputLines(from command.Outputs, a outputArgs) (string, outputResult, error) {
	read := from.Read
	if a.Tail > 0 {
		read = from.Tail
		a.Offset = a.Tail
	}
	page, err := read(a.ArtifactID, a.Offset, a.Limit, a.Search)
	if err != nil {
		return "", outputResult{}, err
	}
	var b strings.Builder
	for _, line := range page.Lines {
		fmt.Fprintf(&b, "%d | %s", line.Number, line.Text)
		if line.Cut {
			b.WriteString("…")
		}
		b.WriteByte('\n')
	}
	result := outputResult{
		ArtifactID: a.ArtifactID, Content: b.String(), TotalLines: page.TotalLines, TotalBytes: page.TotalBytes, Matches: page.Matches, Next: page.Next,
	}
	switch {
	case len(page.Lines) == 0:
		b.WriteString("[no such lines]\n")
	case page.Next > 0:
		fmt.Fprintf(&b, "[more: offset: %d]\n", page.Next)
	}
	for _, line := range page.Lines {
		if line.Cut {
			fmt.Fprintf(&b, "[line %d is longer: byte_offset: %d reads on]\n", line.Number, line.Offset)
			break
		}
	}
	return b.String(), result, nil
}

func outputBytes(from command.Outputs, a outputArgs) (string, outputResult, error) {
	chunk, err := from.ReadBytes(a.ArtifactID, *a.ByteOffset, a.Limit)
	if err != nil {
		return "", outputResult{}, err
	}
	result := outputResult{ArtifactID: a.ArtifactID, Content: chunk.Text, TotalBytes: chunk.TotalBytes, NextByte: chunk.Next}
	text := chunk.Text + "\n"
	if chunk.Next > 0 {
		text += fmt.Sprintf("[more: byte_offset: %d]\n", chunk.Next)
	}
	return text, result, nil
}
