package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goClient is the official Go SDK's client.
type goClient struct {
	w       *workspace
	session *mcp.ClientSession
}

// dialGo connects over Streamable HTTP; version "" leaves the choice to the
// client.
func (w *workspace) dialGo(e endpoint, version string) client {
	w.t.Helper()
	return w.dialGoFor(nil, e, version)
}

// dialGoFor connects for somebody who can be asked.
func (w *workspace) dialGoFor(u user, e endpoint, version string) client {
	w.t.Helper()
	transport := &mcp.StreamableClientTransport{
		Endpoint: e.url, HTTPClient: &http.Client{Transport: bearer(e.token)}, DisableStandaloneSSE: true,
	}
	if version == "" {
		version = "2025-11-25"
	}
	options := &mcp.ClientOptions{}
	if u != nil {
		options.ElicitationHandler = elicitationHandler(u)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, options)
	session, err := c.Connect(w.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		w.t.Fatalf("the client speaks %s, not %s", got, version)
	}
	return &goClient{w, session}
}

func elicitationHandler(u user) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		schema, err := json.Marshal(request.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		r := u(ctx, form{request.Params.Message, schema})
		if r.fails != "" {
			return nil, errors.New(r.fails)
		}
		return &mcp.ElicitResult{Action: r.Action, Content: r.Content}, nil
	}
}

// bearer is a token that goes with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (c *goClient) request(method string, params any) (json.RawMessage, error) {
	ctx := c.w.t.Context()
	switch method {
	case "listTools":
		return encoded(c.session.ListTools(ctx, nil))
	case "callTool":
		return sent(params, func(p *mcp.CallToolParams) (any, error) { return c.session.CallTool(ctx, p) })
	case "listPrompts":
		return encoded(c.session.ListPrompts(ctx, nil))
	case "getPrompt":
		return sent(params, func(p *mcp.GetPromptParams) (any, error) { return c.session.GetPrompt(ctx, p) })
	case "listResources":
		return encoded(c.session.ListResources(ctx, nil))
	case "listResourceTemplates":
		return encoded(c.session.ListResourceTemplates(ctx, nil))
	case "readResource":
		return sent(params, func(p *mcp.ReadResourceParams) (any, error) { return c.session.ReadResource(ctx, p) })
	case "complete":
		return sent(params, func(p *mcp.CompleteParams) (any, error) { return c.session.Complete(ctx, p) })
	}
	return nil, fmt.Errorf("no method %s", method)
}

// sent makes the SDK's parameters of plain ones.
func sent[P any](params any, send func(*P) (any, error)) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	p := new(P)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	return encoded(send(p))
}

func encoded(result any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

var _ client = (*goClient)(nil)
