package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// others plays servers behind this one, and what they offer.
type others struct {
	mu    sync.Mutex
	tools []catalogue.Tool
	// does is what a tool does, by its own name; without one it answers with its arguments.
	does  map[string]func(ctx context.Context, arguments map[string]any) (string, error)
	calls []string // tool and arguments
}

func (o *others) Tool(name string) (catalogue.Tool, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.tools, func(t catalogue.Tool) bool { return t.Name == name })
	if i < 0 {
		return catalogue.Tool{}, false
	}
	return o.tools[i], true
}

func (o *others) Withheld(name string) string {
	if name == "many_waits" {
		return "It waits: orchestra-mcp servers review many"
	}
	return ""
}

func (o *others) Tools(context.Context) []catalogue.Tool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.tools)
}

func (o *others) Call(ctx context.Context, t catalogue.Tool, arguments json.RawMessage, _ func(string, float64, float64)) (json.RawMessage, error) {
	o.mu.Lock()
	o.calls = append(o.calls, t.Own+" "+string(arguments))
	does := o.does[t.Own]
	o.mu.Unlock()
	if does == nil {
		return said(string(arguments)), nil
	}
	var decoded map[string]any
	if err := json.Unmarshal(arguments, &decoded); err != nil {
		return nil, err
	}
	text, err := does(ctx, decoded)
	if strings.HasPrefix(text, "{") {
		return json.RawMessage(text), err
	}
	return said(text), err
}

func said(text string) json.RawMessage {
	encoded, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	return encoded
}

// made counts the calls that a server got.
func (o *others) made() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls)
}

// offers is a tool with a schema of its input.
func (o *others) offers(server, own, input string, change ...func(*catalogue.Tool)) {
	t := catalogue.Tool{Server: server, Own: own, Name: server + "_" + own, Hash: "sha256:" + strings.Repeat("1", 64), Description: "Does " + own + ".", Input: json.RawMessage(input)}
	for _, c := range change {
		c(&t)
	}
	definition := map[string]any{"name": own, "description": t.Description, "inputSchema": t.Input, "annotations": map[string]any{"readOnlyHint": true}}
	if t.Output != nil {
		definition["outputSchema"] = t.Output
	}
	t.Definition, _ = json.Marshal(definition)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tools = slices.DeleteFunc(o.tools, func(old catalogue.Tool) bool { return old.Name == t.Name })
	o.tools = append(o.tools, t)
}

func safe(t *catalogue.Tool) { t.Safe = true }

const pathSchema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// files is a server with files, of which a test says more.
func files(change ...func(*upstream.Definition)) upstream.Definition {
	d := upstream.Definition{Name: "files", Prefix: "files_", Command: []string{"x"}, Findings: upstream.Ask, Effects: []mapping.Effect{
		{Tool: "read", Reads: []string{"path"}}, {Tool: "write", Writes: []string{"path"}}, {Tool: "remove", Deletes: []string{"path"}},
		{Tool: "run", Commands: []string{"line"}}, {Tool: "open", URLs: []string{"url"}},
	}}
	for _, c := range change {
		c(&d)
	}
	return d
}

// law is a server with others behind it, without a client.
type law struct {
	*bench
	*others
	upstreams *tools.Upstreams
	session   string
}

func behind(t *testing.T, dir string, definitions []upstream.Definition, with func(*tools.UpstreamOptions), changes ...func(*server.Options)) *law {
	t.Helper()
	o := &others{does: map[string]func(context.Context, map[string]any) (string, error){}}
	o.offers("files", "read", pathSchema, safe)
	o.offers("files", "write", pathSchema)
	o.offers("files", "remove", pathSchema)
	o.offers("files", "run", `{"type":"object","properties":{"line":{"type":"string"}}}`)
	o.offers("files", "open", `{"type":"object","properties":{"url":{"type":"string"}}}`, safe)
	o.offers("files", "send", `{"type":"object"}`)
	b := start(t, dir, changes...)
	t.Cleanup(b.close)
	options := tools.UpstreamOptions{Definitions: definitions, Offer: o, Server: o, Secrets: func(arguments json.RawMessage) []catalogue.Finding {
		if bytes.Contains(arguments, []byte("hunter2")) {
			return []catalogue.Finding{{Kind: catalogue.Secret, Where: "x", Text: "a password"}}
		}
		return nil
	}}
	if with != nil {
		with(&options)
	}
	u := check.Value(b.server.Behind(options))(t)
	return &law{bench: b, others: o, upstreams: u}
}

// answer is a result, of ours or of another server.
type answer struct {
	hooks.Result
	Object map[string]any
	texts  []string
	meta   map[string]any
}

func (l *law) call(tool string, a args) answer {
	l.t.Helper()
	raw := check.Value(json.Marshal(a))(l.t)
	r := l.server.Do(l.t.Context(), hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "c", ClientName: "t"}})
	got := answer{Result: r}
	if r.Raw != nil {
		var sent struct {
			Content           []struct{ Text string }
			StructuredContent map[string]any
			IsError           bool
			Meta              map[string]any `json:"_meta"`
		}
		check.OK(l.t, json.Unmarshal(r.Raw, &sent))
		check.Equal(l.t, sent.IsError, r.IsError)
		for _, c := range sent.Content {
			got.texts = append(got.texts, c.Text)
		}
		got.Object, got.meta = sent.StructuredContent, sent.Meta
		return got
	}
	check.OK(l.t, json.Unmarshal(r.Structured, &got.Object))
	return got
}

func (l *law) passes(tool string, a args) answer {
	l.t.Helper()
	r := l.call(tool, a)
	check.Must(l.t, r.Raw != nil && !r.IsError, "%s %v: %s %s", tool, a, r.Text, r.Raw)
	return r
}

func (l *law) stopped(code, tool string, a args) answer {
	l.t.Helper()
	before := l.made()
	r := l.call(tool, a)
	check.Must(l.t, r.IsError && r.Object["error_type"] == code, "%s %v: want %s, got %s %s", tool, a, code, r.Text, r.Raw)
	check.Equal(l.t, l.made(), before, "the server was asked")
	return r
}

func (l *law) selects(id string) string {
	l.t.Helper()
	r := l.call("select_active_intent", args{"intent_id": id})
	handle, _ := r.Object["session"].(string)
	check.Must(l.t, handle != "", "%s", r.Text)
	return handle
}

// last is the newest record of a kind, with what it says of another server.
func (l *law) last(kind record.Kind) (record.Entry, record.Upstream) {
	l.t.Helper()
	e := l.lastRecord(kind)
	u, _ := e.Upstream()
	return e, u
}
