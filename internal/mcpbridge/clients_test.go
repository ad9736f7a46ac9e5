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

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// foreign is mcp-go's own client, whose user does the same with each form.
type foreign struct {
	*client.Client
	on     *mcp.InitializeResult
	answer mcp.ElicitationResponse
	asked  []string // the messages that were shown
}

func (f *foreign) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	f.asked = append(f.asked, request.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: f.answer}, nil
}

// eachForeign connects a client that we did not write in each way, and each era that it speaks in that way. pkg/server and
// e2e have the official clients.
func eachForeign(t *testing.T, test func(t *testing.T, h *handler, f *foreign, era, way string)) {
	for _, era := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"} {
		for way, over := range map[string]func(*testing.T, *handler) transport.Interface{"stdio": overPipes, "http": overWeb, "sse": overEvents} {
			if (way == "sse") != (era == "2024-11-05") {
				continue
			}
			t.Run(era+"/"+way, func(t *testing.T) {
				h, f := newHandler(t), &foreign{}
				f.Client = client.NewClient(over(t, h), client.WithElicitationHandler(f))
				check.OK(t, f.Start(context.Background()))
				request := mcp.InitializeRequest{}
				request.Params.ProtocolVersion = era
				request.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
				f.on = check.Value(f.Initialize(t.Context(), request))(t)
				test(t, h, f, era, way)
				err := f.Close()
				check.That(t, err == nil, "close: %v", err)
			})
		}
	}
}

// overPipes serves stdio.
func overPipes(t *testing.T, h *handler) transport.Interface {
	s := newServer(t, h)
	inReader, in := io.Pipe()
	outReader, out := io.Pipe()
	go func() {
		defer out.Close()
		err := s.ServeStdio(context.Background(), inReader, out, mcpbridge.StdioOptions{})
		check.That(t, err == nil || strings.Contains(err.Error(), "closed pipe"), "stdio ended with %v", err)
	}()
	t.Cleanup(func() { in.Close(); outReader.Close() })
	return transport.NewIO(outReader, in, io.NopCloser(strings.NewReader("")))
}

func overWeb(t *testing.T, h *handler) transport.Interface {
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	return check.Value(transport.NewStreamableHTTP(w.url+"/mcp", transport.WithHTTPBasicClient(httpClient())))(t)
}

func overEvents(t *testing.T, h *handler) transport.Interface {
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
	return check.Value(transport.NewSSE(w.url+"/sse", transport.WithHTTPClient(httpClient())))(t)
}

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func httpClient() *http.Client { return &http.Client{Transport: bearer{aliceToken}} }

func (f *foreign) call(ctx context.Context, name string, arguments map[string]any) (text string, result *mcp.CallToolResult, err error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = name, arguments
	if result, err = f.CallTool(ctx, request); err == nil {
		text = result.Content[0].(mcp.TextContent).Text
	}
	return text, result, err
}

// TestForeignClients takes the client through everything that the server offers.
func TestForeignClients(t *testing.T) {
	eachForeign(t, func(t *testing.T, h *handler, f *foreign, era, way string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		check.Equal(t, f.on.ProtocolVersion, era, "revision")
		check.Equal(t, f.on.Instructions, "Select an intent first.", "instructions")
		var names []string
		for _, tool := range check.Value(f.ListTools(ctx, mcp.ListToolsRequest{}))(t).Tools {
			names = append(names, tool.Name)
		}
		check.Equal(t, strings.Join(names, " "), "whoami echo refuse wait panics arrive_panics progress rich", "tools")
		text, result, err := f.call(ctx, "echo", map[string]any{"a": "<é&\u2028>"})
		check.OK(t, err)
		var echoed struct{ A string }
		check.OK(t, json.Unmarshal([]byte(text), &echoed))
		check.That(t, echoed.A == "<é&\u2028>" && !result.IsError && fmt.Sprint(result.StructuredContent) == "map[a:<é&\u2028>]", "echo: %q, %+v", text, result)
		text, result, err = f.call(ctx, "refuse", nil)
		check.That(t, err == nil && result.IsError && text == `{"status":"error"}`, "refuse: %q, %v", text, err)
		_, _, err = f.call(ctx, "nothing", nil)
		check.That(t, err != nil && strings.Contains(err.Error(), "unknown tool"), "an unknown tool: %v", err)

		prompt := mcp.GetPromptRequest{}
		prompt.Params.Name, prompt.Params.Arguments = "protocol", map[string]string{"intent": "INT-001"}
		check.Equal(t, check.Value(f.GetPrompt(ctx, prompt))(t).Messages[0].Content.(mcp.TextContent).Text, "Work on INT-001")
		resource := mcp.ReadResourceRequest{}
		resource.Params.URI = "orchestra://intent/INT-001"
		check.Equal(t, check.Value(f.ReadResource(ctx, resource))(t).Contents[0].(mcp.TextResourceContents).Text, `{"id":"INT-001"}`)
		resource.Params.URI = "orchestra://intent/INT-999"
		_, err = f.ReadResource(ctx, resource)
		check.That(t, err != nil, "a missing resource was read")
		complete := mcp.CompleteRequest{}
		complete.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "protocol"}
		complete.Params.Argument = mcp.CompleteArgument{Name: "intent"}
		check.Equal(t, len(check.Value(f.Complete(ctx, complete))(t).Completion.Values), 100, "completion")

		if way == "stdio" || era == "2026-07-28" { // elsewhere it gives up on calls without a word
			f.givesUp(t, h)
		}
	})
}

// givesUp gives up on a call: the server must notice.
func (f *foreign) givesUp(t *testing.T, h *handler) {
	t.Helper()
	running, ended := waiting(h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, _, err := f.call(ctx, "wait", map[string]any{})
		done <- err
	}()
	receive(t, running, `{}`)
	cancel()
	err := <-done
	check.That(t, err != nil, "a cancelled call was answered")
	receive(t, ended, `{}`)
}

// The client's user answers a form, which comes as a request of the server or as a result.
func TestForeignClientsAnswer(t *testing.T) {
	eachForeign(t, func(t *testing.T, h *handler, f *foreign, era, way string) {
		if way == "sse" {
			return // its revision has no forms
		}
		h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
			if !call.Caller.Modern {
				return ask(ctx, call)
			}
			return askByResult(ctx, call)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for action, want := range map[mcp.ElicitationResponseAction]string{
			"accept": `accept approve_once fine`, "decline": "decline", "cancel": "cancel",
		} {
			f.answer = mcp.ElicitationResponse{Action: action}
			if action == "accept" {
				f.answer.Content = map[string]any{"decision": "approve_once", "reason": "fine"}
			}
			text, _, err := f.call(ctx, "wait", map[string]any{})
			check.That(t, err == nil && strings.HasSuffix(text, want), "%s: %q, %v; want %s", action, text, err, want)
		}
		check.That(t, len(f.asked) == 3 && f.asked[0] == approval().Message, "the user was shown %q", f.asked)
	})
}
