package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// agent is what the clients that we did not write have in common.
type agent interface {
	version() string
	instructions() string
	tools(ctx context.Context) ([]string, error)
	call(ctx context.Context, name string, arguments map[string]any) (text string, structured any, isError bool, err error)
	prompt(ctx context.Context, name string, arguments map[string]string) (string, error)
	read(ctx context.Context, uri string) (string, error)
	complete(ctx context.Context, prompt, argument, value string) ([]string, error)
	// cancels tells whether giving up on a call reaches the server: mcp-go's
	// client sends no cancellation over HTTP, and SSE has no response to close.
	cancels() bool
	close() error
}

// TestForeignClients takes two client libraries through everything that the
// server offers, over each transport, in each era that they speak on it.
func TestForeignClients(t *testing.T) {
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		for name, connect := range map[string]func(*testing.T, *handler, string) agent{
			"mcp-go/stdio": mcpgoStdio,
			"mcp-go/http":  mcpgoHTTP,
			"go-sdk/stdio": sdkStdio,
			"go-sdk/http":  sdkHTTP,
		} {
			t.Run(era+"/"+name, func(t *testing.T) {
				h := newHandler(t)
				goThrough(t, connect(t, h, era), h, era)
			})
		}
	}
	t.Run("2024-11-05/mcp-go/sse", func(t *testing.T) {
		h := newHandler(t)
		goThrough(t, mcpgoSSE(t, h), h, "2024-11-05")
	})
	t.Run("2025-11-25/go-sdk/sse", func(t *testing.T) {
		h := newHandler(t)
		goThrough(t, sdkSSE(t, h), h, "2025-11-25")
	})
}

func goThrough(t *testing.T, a agent, h *handler, era string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := a.version()
	check.Must(t, got == era, "revision %q in use, want %q", got, era)
	check.Equal(t, a.instructions(), "Select an intent first.", "instructions")
	names, err := a.tools(ctx)
	want := "whoami echo refuse wait panics arrive_panics progress rich"
	check.That(t, err == nil && strings.Join(names, " ") == want, "tools %v, %v; want %s", names, err, want)
	text, structured, isError, err := a.call(ctx, "echo", map[string]any{"a": "<é&\u2028>"})
	var echoed struct{ A string }
	if err != nil || isError || json.Unmarshal([]byte(text), &echoed) != nil || echoed.A != "<é&\u2028>" {
		t.Errorf("echo: %q, %v, %v", text, isError, err)
	}
	check.Equal(t, fmt.Sprint(structured), "map[a:<é&\u2028>]", "structured")
	if text, _, isError, err := a.call(ctx, "refuse", nil); err != nil || !isError || text != `{"status":"error"}` {
		t.Errorf("refuse: %q, %v, %v", text, isError, err)
	}
	if _, _, _, err := a.call(ctx, "nothing", nil); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
	if got, err := a.prompt(ctx, "protocol", map[string]string{"intent": "INT-001"}); err != nil || got != "Work on INT-001" {
		t.Errorf("prompt: %q, %v", got, err)
	}
	if got, err := a.read(ctx, "orchestra://intent/INT-001"); err != nil || got != `{"id":"INT-001"}` {
		t.Errorf("resource: %q, %v", got, err)
	}
	if _, err := a.read(ctx, "orchestra://intent/INT-999"); err == nil {
		t.Error("a missing resource was read")
	}
	if got, err := a.complete(ctx, "protocol", "intent", ""); err != nil || len(got) != 100 {
		t.Errorf("completion: %d values, %v", len(got), err)
	}
	if a.cancels() {
		cancelOne(t, a, h)
	}
	if err := a.close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// cancelOne gives up on a call: the server must notice.
func cancelOne(t *testing.T, a agent, h *handler) {
	t.Helper()
	running, ended := waiting(h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, _, _, err := a.call(ctx, "wait", map[string]any{})
		done <- err
	}()
	receive(t, running, `{}`)
	cancel()
	err := <-done
	check.That(t, err != nil, "a cancelled call was answered")
	receive(t, ended, `{}`)
}

// pipes serves stdio and returns the client's ends.
func pipes(t *testing.T, h *handler) (io.ReadCloser, io.WriteCloser) {
	t.Helper()
	s := newServer(t, h)
	inReader, in := io.Pipe()
	outReader, out := io.Pipe()
	go func() {
		defer out.Close()
		err := s.ServeStdio(context.Background(), inReader, out, mcpbridge.StdioOptions{})
		check.That(t, err == nil || strings.Contains(err.Error(), "closed pipe"), "stdio ended with %v", err)
	}()
	t.Cleanup(func() { in.Close(); outReader.Close() })
	return outReader, in
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func httpClient() *http.Client { return &http.Client{Transport: bearer{aliceToken}} }

// mcpgo is mcp-go's own client.
type mcpgo struct {
	c      *client.Client
	on     *mcp.InitializeResult
	silent bool // gives up on calls without a word
}

func mcpgoConnect(t *testing.T, c *client.Client, era string) agent {
	t.Helper()
	check.OK(t, c.Start(context.Background()))
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = era
	request.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
	result := check.Value(c.Initialize(t.Context(), request))(t)
	_, overHTTP := c.GetTransport().(transport.HTTPConnection)
	return mcpgo{c: c, on: result, silent: era == "2024-11-05" || overHTTP && era < "2026-07-28"}
}

func mcpgoStdio(t *testing.T, h *handler, era string) agent {
	out, in := pipes(t, h)
	return mcpgoConnect(t, client.NewClient(transport.NewIO(out, in, io.NopCloser(strings.NewReader("")))), era)
}

func mcpgoHTTP(t *testing.T, h *handler, era string) agent {
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	c := check.Value(client.NewStreamableHttpClient(w.url+"/mcp", transport.WithHTTPBasicClient(httpClient())))(t)
	return mcpgoConnect(t, c, era)
}

func mcpgoSSE(t *testing.T, h *handler) agent {
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
	c := check.Value(client.NewSSEMCPClient(w.url+"/sse", client.WithHTTPClient(httpClient())))(t)
	return mcpgoConnect(t, c, "2024-11-05")
}

func (m mcpgo) version() string      { return m.on.ProtocolVersion }
func (m mcpgo) instructions() string { return m.on.Instructions }
func (m mcpgo) cancels() bool        { return !m.silent }
func (m mcpgo) close() error         { return m.c.Close() }

func (m mcpgo) tools(ctx context.Context) (names []string, err error) {
	result, err := m.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (m mcpgo) call(ctx context.Context, name string, arguments map[string]any) (string, any, bool, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = name, arguments
	result, err := m.c.CallTool(ctx, request)
	if err != nil {
		return "", nil, false, err
	}
	return result.Content[0].(mcp.TextContent).Text, result.StructuredContent, result.IsError, nil
}

func (m mcpgo) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	request := mcp.GetPromptRequest{}
	request.Params.Name, request.Params.Arguments = name, arguments
	result, err := m.c.GetPrompt(ctx, request)
	if err != nil {
		return "", err
	}
	return result.Messages[0].Content.(mcp.TextContent).Text, nil
}

func (m mcpgo) read(ctx context.Context, uri string) (string, error) {
	request := mcp.ReadResourceRequest{}
	request.Params.URI = uri
	result, err := m.c.ReadResource(ctx, request)
	if err != nil {
		return "", err
	}
	return result.Contents[0].(mcp.TextResourceContents).Text, nil
}

func (m mcpgo) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	request := mcp.CompleteRequest{}
	request.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: prompt}
	request.Params.Argument = mcp.CompleteArgument{Name: argument, Value: value}
	result, err := m.c.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

// gosdk is the official Go SDK's client.
type gosdk struct{ s *sdk.ClientSession }

func sdkConnect(t *testing.T, over sdk.Transport, era string) agent {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "go-sdk", Version: "1"}, nil)
	s := check.Value(c.Connect(t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: era}))(t)
	return gosdk{s}
}

func sdkStdio(t *testing.T, h *handler, era string) agent {
	out, in := pipes(t, h)
	return sdkConnect(t, &sdk.IOTransport{Reader: out, Writer: in}, era)
}

func sdkHTTP(t *testing.T, h *handler, era string) agent {
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	return sdkConnect(t, &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: httpClient()}, era)
}

func sdkSSE(t *testing.T, h *handler) agent {
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
	return sdkConnect(t, &sdk.SSEClientTransport{Endpoint: w.url + "/sse", HTTPClient: httpClient()}, "2025-11-25")
}

func (g gosdk) version() string      { return g.s.InitializeResult().ProtocolVersion }
func (g gosdk) instructions() string { return g.s.InitializeResult().Instructions }
func (g gosdk) cancels() bool        { return true }
func (g gosdk) close() error         { return g.s.Close() }

func (g gosdk) tools(ctx context.Context) (names []string, err error) {
	result, err := g.s.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (g gosdk) call(ctx context.Context, name string, arguments map[string]any) (string, any, bool, error) {
	result, err := g.s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", nil, false, err
	}
	return result.Content[0].(*sdk.TextContent).Text, result.StructuredContent, result.IsError, nil
}

func (g gosdk) prompt(ctx context.Context, name string, arguments map[string]string) (string, error) {
	result, err := g.s.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: arguments})
	if err != nil {
		return "", err
	}
	return result.Messages[0].Content.(*sdk.TextContent).Text, nil
}

func (g gosdk) read(ctx context.Context, uri string) (string, error) {
	result, err := g.s.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return result.Contents[0].Text, nil
}

func (g gosdk) complete(ctx context.Context, prompt, argument, value string) ([]string, error) {
	result, err := g.s.Complete(ctx, &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/prompt", Name: prompt},
		Argument: sdk.CompleteParamsArgument{Name: argument, Value: value},
	})
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}

// TestTwoModernClientsAtOnce has two go-sdk clients of 2026-07-28 with the
// same ids in flight on one server. One gives up; the other does not notice.
func TestTwoModernClientsAtOnce(t *testing.T) {
	h := newHandler(t)
	running, ended := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	connect := func() agent {
		return sdkConnect(t, &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: httpClient()}, "2026-07-28")
	}
	one, other := connect(), connect()
	start := func(a agent, who string) (context.CancelFunc, chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, _, err := a.call(ctx, "wait", map[string]any{"who": who})
			done <- err
		}()
		receive(t, running, fmt.Sprintf(`{"who":%q}`, who))
		return cancel, done
	}
	giveUp, gaveUp := start(one, "one")
	finish, finished := start(other, "other")
	defer finish()
	giveUp()
	receive(t, ended, `{"who":"one"}`)
	if err := <-gaveUp; err == nil {
		t.Error("the call that was given up was answered")
	}
	nothing(t, ended)
	select {
	case err := <-finished:
		t.Errorf("the other client's call ended with %v", err)
	default:
	}
	for _, call := range h.calls() {
		check.Equal(t, call.Caller.Connection, "", "a modern call has the connection")
	}
}
