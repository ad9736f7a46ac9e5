package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	official "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// real is a server that others wrote: over streams, over HTTP, and how it changes its list of tools.
type real struct {
	serve   func(ctx context.Context, in io.ReadCloser, out io.WriteCloser)
	handler func(legacy bool) http.Handler
	change  func()
	waits   chan string // what its tool wait does: begin, and end when it is cancelled
}

// newMCPGo is one of mcp-go.
func newMCPGo() real {
	waits := make(chan string, 2)
	s := server.NewMCPServer("mcp-go", "1", server.WithToolCapabilities(true), server.WithLogging(), server.WithElicitation(), server.WithInstructions("be kind"))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("count"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": 1, "message": "one"})
		return mcp.NewToolResultText("counted"), err
	})
	s.AddTool(mcp.NewTool("ask"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := server.ElicitationResponse(r.Params.InputResponses, "q"); a != nil {
			return mcp.NewToolResultText(fmt.Sprint(a.Action, a.Content)), nil
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
		return server.NewInputRequestBuilder("state").Elicit("q", mcp.ElicitationParams{Message: "Which?", RequestedSchema: schema}).ToolResult(), nil
	})
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		waits <- "begin"
		<-ctx.Done()
		waits <- "end"
		return nil, ctx.Err()
	})
	return real{
		waits: waits,
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) {
			_ = server.NewStdioServer(s).Listen(ctx, in, out)
		},
		handler: func(bool) http.Handler { return server.NewStreamableHTTPServer(s, server.WithStateful(true)) },
		change: func() {
			s.AddTool(mcp.NewTool("more"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(""), nil
			})
		},
	}
}

// newOfficial is one of the official SDK.
func newOfficial() real {
	waits := make(chan string, 2)
	s := official.NewServer(&official.Implementation{Name: "official", Version: "1"}, &official.ServerOptions{Instructions: "be kind"})
	schema := json.RawMessage(`{"type":"object"}`)
	text := func(text string) *official.CallToolResult {
		return &official.CallToolResult{Content: []official.Content{&official.TextContent{Text: text}}}
	}
	add := func(name string, h official.ToolHandler) {
		s.AddTool(&official.Tool{Name: name, InputSchema: schema}, h)
	}
	add("echo", func(_ context.Context, r *official.CallToolRequest) (*official.CallToolResult, error) {
		var args struct{ Text string }
		err := json.Unmarshal(r.Params.Arguments, &args)
		return text(args.Text), err
	})
	add("count", func(ctx context.Context, r *official.CallToolRequest) (*official.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &official.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "one"})
		return text("counted"), err
	})
	add("ask", func(_ context.Context, r *official.CallToolRequest) (*official.CallToolResult, error) {
		if a, is := r.Params.InputResponses["q"].(*official.ElicitResult); is {
			return text(fmt.Sprint(a.Action, a.Content)), nil
		}
		return &official.CallToolResult{InputRequests: official.InputRequestMap{"q": &official.ElicitParams{Message: "Which?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}}, nil
	})
	add("wait", func(ctx context.Context, _ *official.CallToolRequest) (*official.CallToolResult, error) {
		waits <- "begin"
		<-ctx.Done()
		waits <- "end"
		return nil, ctx.Err()
	})
	return real{
		waits: waits,
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) {
			_ = s.Run(ctx, &official.IOTransport{Reader: in, Writer: out})
		},
		handler: func(legacy bool) http.Handler { // it serves the modern revision only where it has no sessions
			return official.NewStreamableHTTPHandler(func(*http.Request) *official.Server { return s }, &official.StreamableHTTPOptions{Stateless: !legacy, PropagateRequestCancellation: true})
		},
		change: func() { add("more", nil) },
	}
}

func (r real) overStreams(t *testing.T, o mcpclient.Options) (*mcpclient.Client, error) {
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	s := &streams{Reader: fromServer, Writer: toServer, ends: []io.Closer{fromServer, toServer, in, out}, shut: make(chan struct{})}
	var served sync.WaitGroup
	served.Go(func() { r.serve(context.Background(), in, out) })
	t.Cleanup(served.Wait)
	c, err := mcpclient.Connect(t.Context(), s, o)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func (r real) overHTTP(t *testing.T, o mcpclient.Options) (*mcpclient.Client, error) {
	site := httptest.NewServer(r.handler(o.Initialize))
	t.Cleanup(site.Close)
	c, err := mcpclient.ConnectHTTP(t.Context(), site.URL+"/mcp", mcpclient.HTTPOptions{}, o)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// TestServersThatOthersWrote drives two of them, in both eras over both transports.
func TestServersThatOthersWrote(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func() real{"mcp-go": newMCPGo, "official": newOfficial} {
		for transport, connect := range map[string]func(real, *testing.T, mcpclient.Options) (*mcpclient.Client, error){"stdio": real.overStreams, "http": real.overHTTP} {
			for _, legacy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/initialize=%v", name, transport, legacy), func(t *testing.T) {
					if name != "mcp-go" || transport != "stdio" { // all of its servers of a process have one session there
						t.Parallel()
					}
					r := create()
					changed := make(chan string, 10)
					o := options
					o.Initialize, o.Changed = legacy, func(list string) { changed <- list }
					c, err := connect(r, t, o)
					check.OK(t, err)
					drive(t, c, r, changed, legacy)
				})
			}
		}
	}
}

func drive(t *testing.T, c *mcpclient.Client, r real, changed chan string, legacy bool) {
	i := c.Identity()
	check.That(t, i.Modern != legacy && i.Instructions == "be kind" && i.Name != "" && c.Offers("tools"), "it says it is %+v", i)
	tools, err := c.List(t.Context(), "tools/list", "tools")
	check.OK(t, err)
	check.Equal(t, len(tools), 4)

	progress := make(chan string, 10)
	h := mcpclient.Handlers{
		Progress: func(message string, done, _ float64) { progress <- fmt.Sprint(message, done) },
		Ask: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			check.That(t, strings.Contains(string(params), `"Which?"`), "asked %s", params)
			return json.RawMessage(`{"action":"accept","content":{"a":"b"}}`), nil
		},
	}
	for call, want := range map[string]string{
		`{"name":"echo","arguments":{"text":"a\nb"}}`: `"a\nb"`,
		`{"name":"count","arguments":{}}`:             `"counted"`,
		`{"name":"ask","arguments":{}}`:               `"acceptmap[a:b]"`,
	} {
		result, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), h)
		check.That(t, err == nil && strings.Contains(string(result), `"text":`+want), "%s: got %s, %v", call, result, err)
	}
	select {
	case got := <-progress:
		check.Equal(t, got, "one1")
	default: // mcp-go can send the answer first, and progress is over then
		check.That(t, i.Name == "mcp-go", "no progress came")
	}
	_, err = c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"no such"}`), h)
	var failure *mcpclient.Error
	check.That(t, errors.As(err, &failure), "got %v", err)

	ctx, cancel := context.WithCancel(t.Context())
	waiting := begin(ctx, c, "tools/call", `{"name":"wait","arguments":{}}`, mcpclient.Handlers{})
	check.Equal(t, <-r.waits, "begin")
	cancel()
	check.Is(t, (<-waiting).err, context.Canceled)
	check.Equal(t, <-r.waits, "end")
	for told := false; !told; { // it can be late in listening to what changes
		r.change()
		select {
		case list := <-changed:
			told = list == "tools"
		case <-time.After(100 * time.Millisecond):
		}
	}
	tools, err = c.List(t.Context(), "tools/list", "tools")
	check.That(t, err == nil && len(tools) == 5, "%d tools, %v", len(tools), err)
}
