package mcpbridge_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/transcripts")

// TestTranscripts plays golden conversations: a line that starts with "-> " is sent as it is, each "<- " after it is
// the next answer. Answers are compared as JSON, with sorted keys.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	check.Must(t, err == nil && len(files) != 0, "no transcripts: %v", err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want := check.Value(os.ReadFile(file))(t)
			got := play(t, string(want))
			if *update {
				check.OK(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			check.Equal(t, got, string(want), "the conversation went differently:\n%s", difference(string(want), got))
		})
	}
}

func play(t *testing.T, script string) string {
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{MaxLine: 4096})
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch sent, isSent := strings.CutPrefix(line, "-> "); {
		case isSent:
			out.WriteString(line + "\n")
			c.send(strings.ReplaceAll(sent, "{{long}}", strings.Repeat("x", 5000)))
		case strings.HasPrefix(line, "<- "):
			out.WriteString("<- " + canonical(t, c.read().Raw) + "\n")
		default:
			out.WriteString(line + "\n")
		}
	}
	err := c.end()
	check.That(t, err == nil, "the server ended with %v", err)
	return out.String()
}

// canonical sorts the keys, so that the order of fields is free to change.
func canonical(t *testing.T, raw string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	var value any
	check.OK(t, decoder.Decode(&value))
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	check.OK(t, encoder.Encode(value))
	return strings.TrimSpace(b.String())
}

func difference(want, got string) string {
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i, line := range wantLines {
		if i >= len(gotLines) || gotLines[i] != line {
			return "want " + line + "\ngot  " + strings.Join(gotLines[i:min(i+1, len(gotLines))], "")
		}
	}
	return "more than wanted"
}
