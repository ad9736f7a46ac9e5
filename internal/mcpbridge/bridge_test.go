package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

type toolFunc = func(context.Context, mcpbridge.Call) mcpbridge.Result

// handler is a ToolHandler whose tools are functions. It checks the contract: what Arrive returned runs exactly once.
type handler struct {
	t     testing.TB
	tools map[string]toolFunc

	mu      sync.Mutex
	arrived []mcpbridge.Call
	pending int
}

// incoming is a call of which the arguments have been read.
type incoming struct {
	*handler
	agent string
}

func (i incoming) Agent() string { return i.agent }

func (h *handler) Read(_ string, arguments json.RawMessage) mcpbridge.Incoming {
	var a struct{ Session string }
	_ = json.Unmarshal(arguments, &a)
	return incoming{h, a.Session}
}

func (h *handler) Arrive(call mcpbridge.Call) func(context.Context) mcpbridge.Result {
	if call.Tool == "arrive_panics" {
		panic("arrive")
	}
	h.mu.Lock()
	h.arrived = append(h.arrived, call)
	h.pending++
	h.mu.Unlock()
	var once sync.Once
	return func(ctx context.Context) mcpbridge.Result {
		ran := false
		once.Do(func() { ran = true })
		check.That(h.t, ran, "a call was run twice")
		defer func() {
			h.mu.Lock()
			h.pending--
			h.mu.Unlock()
		}()
		return h.tools[call.Tool](ctx, call)
	}
}

func (h *handler) calls() []mcpbridge.Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]mcpbridge.Call(nil), h.arrived...)
}

func (h *handler) waitIdle() {
	h.t.Helper()
	eventually(h.t, "every arrived call has run", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.pending == 0
	})
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("did not come true: %s", what)
}

func echo(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
	return mcpbridge.Result{Text: string(call.Arguments), Structured: call.Arguments}
}

// newHandler has the tools that all tests can call.
func newHandler(t testing.TB) *handler {
	return &handler{t: t, tools: map[string]toolFunc{
		"echo": echo,
		"refuse": func(context.Context, mcpbridge.Call) mcpbridge.Result {
			return mcpbridge.Result{Text: `{"status":"error"}`, Structured: json.RawMessage(`{"status":"error"}`), IsError: true}
		},
		"wait": func(ctx context.Context, _ mcpbridge.Call) mcpbridge.Result {
			<-ctx.Done()
			return mcpbridge.Result{Text: "cancelled", IsError: true}
		},
		"panics": func(context.Context, mcpbridge.Call) mcpbridge.Result { panic("run") },
		"progress": func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
			call.Progress("first", 1, 2)
			call.Progress("again", 1, 2)
			call.Progress("last", 2, 2)
			return mcpbridge.Result{Text: "done"}
		},
		"whoami": func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
			who, _ := json.Marshal(call.Caller)
			return mcpbridge.Result{Text: string(who), Structured: who}
		},
		"rich": func(context.Context, mcpbridge.Call) mcpbridge.Result {
			return mcpbridge.Result{Text: "text", Content: []mcpbridge.Content{{MIMEType: "image/png", Data: "iVBORw0KGgo="}}}
		},
	}}
}

const objectSchema = `{"type":"object"}`

func schema(text string) func() json.RawMessage {
	return func() json.RawMessage { return json.RawMessage(text) }
}

func tool(name string) mcpbridge.Tool {
	return mcpbridge.Tool{Name: name, Title: "Title of " + name, Description: "Does " + name + ".", InputSchema: schema(objectSchema)}
}

// newServer has the tools of the configuration, or others.
func newServer(t testing.TB, h mcpbridge.ToolHandler, others ...mcpbridge.Tool) *mcpbridge.Server {
	t.Helper()
	config := bridgeConfig(h)
	if len(others) > 0 {
		config.Tools = others
	}
	return check.Value(mcpbridge.New(config))(t)
}

func bridgeConfig(h mcpbridge.ToolHandler) mcpbridge.Config {
	echoTool := tool("echo")
	echoTool.ReadOnly, echoTool.Idempotent, echoTool.App = true, true, "ui://test/view"
	echoTool.OutputSchema = schema(`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`)
	return mcpbridge.Config{
		Name: "bridge-test", Title: "Bridge", Version: "1.2.3",
		Instructions: func() string { return "Select an intent first." },
		Tools: []mcpbridge.Tool{tool("whoami"), echoTool, tool("refuse"), tool("wait"), tool("panics"),
			tool("arrive_panics"), tool("progress"), tool("rich")},
		Handler: h, Disconnected: func(string) {}, Busy: func(string) bool { return false },
		Prompts: []mcpbridge.Prompt{{
			Name: "protocol", Title: "Protocol", Description: "How to work here.",
			Arguments: []mcpbridge.PromptArgument{{Name: "intent", Description: "An intent."}},
			Get:       func(arguments map[string]string) string { return "Work on " + arguments["intent"] },
		}},
		Resources: []mcpbridge.Resource{{
			URI: "orchestra://intents", Name: "intents", Title: "Intents", MIMEType: "application/json",
			Read: func(context.Context, map[string]string) (string, error) { return "[]", nil },
		}, {
			URI: "ui://test/view", Name: "view", MIMEType: mcpbridge.AppMIMEType,
			Read: func(context.Context, map[string]string) (string, error) { return "<!doctype html>", nil },
		}},
		ResourceTemplates: []mcpbridge.Resource{{
			URI: "orchestra://intent/{id}", Name: "intent", MIMEType: "application/json",
			Read: func(_ context.Context, variables map[string]string) (string, error) {
				if variables["id"] != "INT-001" {
					return "", fmt.Errorf("orchestra://intent/%s: %w", variables["id"], mcpbridge.ErrNotFound)
				}
				return `{"id":"INT-001"}`, nil
			},
		}},
		Complete: func(_, begun string) (values []string) {
			for i := range 120 {
				if value := fmt.Sprintf("INT-%03d", i); strings.HasPrefix(value, begun) {
					values = append(values, value)
				}
			}
			return values
		},
		Logger: zerolog.Nop(),
	}
}

// stdio is a client on the other end of ServeStdio.
type stdio struct {
	t     testing.TB
	in    *io.PipeWriter
	lines *bufio.Reader
	ended chan error
	stop  context.CancelFunc
}

func startStdio(t testing.TB, s *mcpbridge.Server, options mcpbridge.StdioOptions) *stdio {
	t.Helper()
	inReader, in := io.Pipe()
	outReader, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	c := &stdio{t: t, in: in, lines: bufio.NewReaderSize(outReader, 1<<20), ended: make(chan error, 1), stop: stop}
	go func() {
		err := s.ServeStdio(ctx, inReader, out, options)
		out.Close()
		c.ended <- err
	}()
	t.Cleanup(func() {
		in.Close()
		outReader.Close()
		stop()
	})
	return c
}

// send writes lines as they are.
func (c *stdio) send(lines ...string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n")
	check.Must(c.t, err == nil, "send: %v", err)
}

// answer is any message from the server.
type answer struct {
	Raw    string          `json:"-"`
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result *struct {
		Content []struct {
			Type, Text, Data, MIMEType string
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		ResultType        string          `json:"resultType"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func parseAnswer(t testing.TB, line string) answer {
	t.Helper()
	a := answer{Raw: strings.TrimSpace(line)}
	err := json.Unmarshal([]byte(line), &a)
	check.Must(t, err == nil, "the server sent %q: %v", line, err)
	return a
}

func (a answer) text(t testing.TB) string {
	t.Helper()
	check.Must(t, a.Result != nil && len(a.Result.Content) != 0, "no text in %s", a.Raw)
	return a.Result.Content[0].Text
}

func (a answer) wantError(t testing.TB, id string, code int, inMessage string) {
	t.Helper()
	if a.Error == nil || a.Error.Code != code || string(a.ID) != id || !strings.Contains(a.Error.Message, inMessage) {
		t.Fatalf("got %s, want error %d with id %s saying %q", a.Raw, code, id, inMessage)
	}
}

func (c *stdio) read() answer {
	c.t.Helper()
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := c.lines.ReadString('\n')
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		check.Must(c.t, r.err == nil, "read: %v", r.err)
		return parseAnswer(c.t, r.line)
	case <-time.After(patience):
		c.t.Fatal("no answer")
		return answer{}
	}
}

// end closes the input and waits for the server.
func (c *stdio) end() error {
	c.t.Helper()
	c.in.Close()
	return c.wait()
}

func (c *stdio) wait() error {
	c.t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c.lines) }()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		c.t.Fatal("the server did not end")
		return nil
	}
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"tester","version":"9"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	modernMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"modern","version":"2"}}`
)

func (c *stdio) initialize() *stdio {
	c.t.Helper()
	c.send(initialize, initialized)
	a := c.read()
	check.Must(c.t, a.Error == nil, "initialize: %s", a.Raw)
	return c
}

func callLine(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

func modernLine(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, name, arguments, modernMeta)
}

func cancelLine(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}
