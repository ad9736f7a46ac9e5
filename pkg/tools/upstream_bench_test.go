package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// still is a server that answers at once, and what it offers.
type still struct {
	tool   catalogue.Tool
	result json.RawMessage
}

func (s *still) Tool(name string) (catalogue.Tool, bool) { return s.tool, name == s.tool.Name }
func (s *still) Tools(context.Context) []catalogue.Tool  { return []catalogue.Tool{s.tool} }
func (s *still) Withheld(string) string                  { return "" }
func (s *still) Call(context.Context, catalogue.Tool, json.RawMessage, func(string, float64, float64)) (json.RawMessage, error) {
	return s.result, nil
}

// BenchmarkSafeUpstreamCall is what the law adds to a safe call that is not recorded: everything but the server.
func BenchmarkSafeUpstreamCall(b *testing.B) {
	schema := `{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number"},"tail":{"type":"number"}},"required":["path"],"additionalProperties":false}`
	b.Run("our own tool", func(b *testing.B) { // which does nothing: what every call costs
		w := newBench(b, nil)
		own := check.Value(tools.NewHandlerTool(w.commands.Files, tools.Handler{Spec: hooks.Spec{Name: "own", Class: hooks.Safe, ReadOnly: true},
			Run: func(context.Context, json.RawMessage) (hooks.Result, error) { return hooks.Result{Text: "x"}, nil }}))(b)
		check.OK(b, w.engine.AddTool(own))
		for b.Loop() {
			w.engine.Do(b.Context(), hooks.Request{Tool: "own", Caller: session.Caller{Connection: "c"}, Arguments: hooks.NoArguments()})
		}
	})
	for _, bench := range []struct{ name, mapping, arguments string }{
		{"unmapped", "", `{"path":"src/a.txt","head":10}`},
		{"a path", "filesystem", `{"path":"src/a.txt","head":10}`},
		{"in a session", "", `{"path":"src/a.txt","head":10,"session":"SESSION"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w := newBench(b, nil)
			s := &still{catalogue.Tool{Server: "files", Own: "read_file", Name: "files_read_file", Hash: "sha256:1", Safe: true, Input: json.RawMessage(schema),
				Definition: json.RawMessage(`{"name":"read_file","inputSchema":` + schema + `}`)}, json.RawMessage(`{"content":[{"type":"text","text":"one\ntwo"}]}`)}
			u := check.Value(tools.NewUpstreams(tools.UpstreamOptions{Commands: w.commands, Offer: s, Server: s,
				Definitions: []upstream.Definition{{Name: "files", Prefix: "files_", Mapping: bench.mapping}}}))(b)
			w.engine.Beside = u.Tool
			arguments := hooks.ReadArguments(json.RawMessage(strings.ReplaceAll(bench.arguments, "SESSION", w.session)))
			for b.Loop() {
				r := w.engine.Do(b.Context(), hooks.Request{Tool: "files_read_file", Caller: session.Caller{Connection: "c"}, Arguments: arguments})
				if r.Raw == nil {
					b.Fatal(r.Text)
				}
			}
		})
	}
}

// BenchmarkListedUpstreams makes 400 tools of other servers as tools/list has them, for the first time.
func BenchmarkListedUpstreams(b *testing.B) {
	w := newBench(b, nil)
	text := strings.Repeat("What this tool does and when to use it. ", 10)
	input := `{"type":"object","properties":{"a_property_of_some_length":{"type":"string","description":"What it is for, in a sentence or two of the usual length."},"path":{"type":"string"}}}`
	var offered []catalogue.Tool
	for i := range 400 {
		own := fmt.Sprintf("tool_%d", i)
		offered = append(offered, catalogue.Tool{Server: "files", Own: own, Name: "files_" + own, Hash: own, Description: text, Input: json.RawMessage(input),
			Definition: json.RawMessage(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, own, text, input))})
	}
	b.ReportAllocs()
	for b.Loop() {
		u := check.Value(tools.NewUpstreams(tools.UpstreamOptions{Commands: w.commands, Definitions: []upstream.Definition{{Name: "files", Prefix: "files_"}}}))(b)
		check.Equal(b, len(u.Listed(offered)), 400)
	}
}
