package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type outputArgs struct {
	sessionArg
	ArtifactID string `json:"artifact_id" is:"name"`
	Search     string `json:"search,omitempty" is:"pattern" doc:"RE2."`
	Offset     int    `json:"offset,omitempty" min:"1" doc:"From 1."`
	Limit      int    `json:"limit,omitempty" min:"1" doc:"Lines; with byte_offset, bytes."`
	Tail       int    `json:"tail,omitempty" min:"1"`
	ByteOffset *int64 `json:"byte_offset,omitempty" min:"0" doc:"Bytes instead of lines."`
}

// check refuses what cannot be meant together.
func (a *outputArgs) check() error {
	if a.ByteOffset != nil && (a.Search != "" || a.Offset > 0 || a.Tail > 0) || a.Tail > 0 && a.Offset > 0 {
		return refusal.New(refusal.InvalidArguments, "byte_offset goes with limit only, and tail not with offset: give one way to say where to read.")
	}
	return nil
}

type outputResult struct {
	ArtifactID string `json:"artifact_id" doc:"As given."`
	Content    string `json:"content" doc:"Numbered lines; with byte_offset the text itself."`
	TotalLines int    `json:"total_lines" min:"0" doc:"Lines of the whole output, as far as it was read."`
	TotalBytes int64  `json:"total_bytes" min:"0" doc:"Bytes of the whole output."`
	Matches    int    `json:"matches" min:"0" doc:"Lines that match the search."`
	Next       int    `json:"next" min:"0" doc:"The offset to go on with, 0 at the end."`
	NextByte   int64  `json:"next_byte" min:"0" doc:"With byte_offset, the one to go on with, 0 at the end."`
	Running    bool   `json:"running" doc:"Whether the command runs in the background now, so that more may come."`
}

func readCommandOutput(commands *Commands) hooks.Tool {
	spec := looking("read_command_output", "Command output", "Read the kept output of a command, also while it runs in the background: "+
		"by lines, or by bytes where lines are too long.")
	return respond[outputArgs, outputResult](spec, func(_ context.Context, call *hooks.Call, a outputArgs) (*reply, error) {
		if err := a.check(); err != nil {
			return nil, err
		}
		running := commands.Jobs.Writes(a.ArtifactID) // before it is read: what ends meanwhile is read to its end
		read := outputLines
		if a.ByteOffset != nil {
			read = outputBytes
		}
		text, result, err := read(commands.Artifacts.For(call.Caller.Principal), a)
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
	page, err := from.Read(a.ArtifactID, cmp.Or(-a.Tail, a.Offset), a.Limit, a.Search)
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
