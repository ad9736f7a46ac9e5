package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// A structured result with line breaks between its tokens is still one message.
func TestResultOfSeveralLinesIsOneMessage(t *testing.T) {
	h := newHandler(t)
	want := mcpbridge.Result{Text: "a\nb <&> \u2028", Structured: json.RawMessage("{\n  \"a\": \"x\\ny\"\r\n}"), IsError: true}
	h.tools["echo"] = func(context.Context, mcpbridge.Call) mcpbridge.Result { return want }
	var out bytes.Buffer
	in := strings.NewReader(initialize + "\n" + callLine(7, "echo", "{}") + "\n")
	if err := newServer(t, h).ServeStdio(t.Context(), in, &out, mcpbridge.StdioOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("want two answers, got %q", lines)
	}
	var answer struct {
		Result struct {
			Content           []struct{ Type, Text string }
			StructuredContent struct{ A string }
			IsError           bool
		}
	}
	if err := json.Unmarshal([]byte(lines[1]), &answer); err != nil {
		t.Fatal(err)
	}
	r := answer.Result
	if len(r.Content) != 1 || r.Content[0].Text != want.Text || r.Content[0].Type != "text" || r.StructuredContent.A != "x\ny" || !r.IsError {
		t.Errorf("%s", lines[1])
	}
}
