package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/rs/zerolog"
)

// serveExample is the environment variable that makes this test program the
// example server on its standard streams.
const serveExample = "ORCHESTRA_E2E_EXAMPLE_SERVER"

// example is a server that only asks: the protocol's side of an approval,
// without what is approved.
type example struct{}

// Arrive implements mcpbridge.ToolHandler.
func (example) Arrive(call mcpbridge.Call) func(context.Context) mcpbridge.Result {
	return func(ctx context.Context) mcpbridge.Result {
		if call.Tool == "echo" {
			return mcpbridge.Result{Text: string(call.Arguments)}
		}
		switch {
		case call.Resumed != nil:
			return told(exampleForm(call).Read(call.Resumed.Answer))
		case call.Caller.Modern && call.Caller.CanElicit:
			return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: exampleForm(call), State: "asked"}}
		case call.Elicit != nil:
			return told(call.Elicit(ctx, exampleForm(call)))
		}
		return mcpbridge.Result{Text: "nobody to ask"}
	}
}

// exampleForm has the fields of an approval; its message shows the call, so
// that a mix-up shows.
func exampleForm(call mcpbridge.Call) mcpbridge.Form {
	return mcpbridge.Form{
		Message: "May it? " + string(call.Arguments),
		Fields: []mcpbridge.Field{
			{Name: "decision", Title: "Decision", Required: true, Options: []mcpbridge.Option{
				{Value: "approve_once", Title: "Allow once"}, {Value: "approve_for_intent", Title: "Allow for this intent"}, {Value: "deny", Title: "Deny"},
			}},
			{Name: "reason", Title: "Reason", Description: "Shown to the agent."},
		},
	}
}

func told(answer mcpbridge.Answer, err error) mcpbridge.Result {
	if err != nil {
		return mcpbridge.Result{Text: "error: " + err.Error()}
	}
	return mcpbridge.Result{Text: strings.TrimSpace(fmt.Sprintf("%s %s %s", answer.Action, answer.Values["decision"], answer.Values["reason"]))}
}

func newExample() (*mcpbridge.Server, error) {
	schema := func() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }
	return mcpbridge.New(mcpbridge.Config{
		Name: "example", Version: "1", Handler: example{}, Logger: zerolog.Nop(),
		Tools: []mcpbridge.Tool{{Name: "ask", InputSchema: schema}, {Name: "echo", InputSchema: schema}},
	})
}

func serveExampleStdio() int {
	s, err := newExample()
	if err == nil {
		err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout, mcpbridge.StdioOptions{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveExampleHTTP serves it to whoever has the token.
func serveExampleHTTP(t *testing.T) endpoint {
	t.Helper()
	s := check.Value(newExample())(t)
	const token = "example-token"
	handler := check.Value(s.HTTPHandler(mcpbridge.HTTPOptions{Authenticate: mcpbridge.StaticToken(token, "example"), SSE: true}))(t)
	server := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Close(); server.Close() })
	return endpoint{url: server.URL, token: token}
}
