package mcpbridge_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// answering is what the user of a foreign client does with each form.
type answering struct {
	action  string
	content map[string]any
	asked   []string // the messages that were shown
}

// Elicit makes it a handler of mcp-go's client.
func (a *answering) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a.asked = append(a.asked, request.Params.Message)
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseAction(a.action), Content: a.content}}, nil
}

// elicit makes it one of the Go SDK's.
func (a *answering) elicit(_ context.Context, request *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	a.asked = append(a.asked, request.Params.Message)
	return &sdk.ElicitResult{Action: a.action, Content: a.content}, nil
}

func (a *answering) sdk(t *testing.T, over sdk.Transport, era string) agent {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "go-sdk", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: a.elicit})
	s := check.Value(c.Connect(t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: era}))(t)
	return gosdk{s}
}

// TestForeignClientsAnswer has client libraries that we did not write answer a
// form, as a request of the server and as a result.
func TestForeignClientsAnswer(t *testing.T) {
	type connect = func(t *testing.T, h *handler, a *answering) agent
	overSDK := func(era string) (stdio, http connect) {
		return func(t *testing.T, h *handler, a *answering) agent {
				out, in := pipes(t, h)
				return a.sdk(t, &sdk.IOTransport{Reader: out, Writer: in}, era)
			}, func(t *testing.T, h *handler, a *answering) agent {
				w := startWeb(t, h, mcpbridge.HTTPOptions{})
				return a.sdk(t, &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: httpClient()}, era)
			}
	}
	overMCPGo := func(era string) (stdio, http connect) {
		return func(t *testing.T, h *handler, a *answering) agent {
				out, in := pipes(t, h)
				over := transport.NewIO(out, in, io.NopCloser(strings.NewReader("")))
				return mcpgoConnect(t, client.NewClient(over, client.WithElicitationHandler(a)), era)
			}, func(t *testing.T, h *handler, a *answering) agent {
				w := startWeb(t, h, mcpbridge.HTTPOptions{})
				over := check.Value(transport.NewStreamableHTTP(w.url+"/mcp", transport.WithHTTPBasicClient(httpClient())))(t)
				return mcpgoConnect(t, client.NewClient(over, client.WithElicitationHandler(a)), era)
			}
	}
	clients := make(map[string]connect)
	for _, era := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		clients["go-sdk/stdio/"+era], clients["go-sdk/http/"+era] = overSDK(era)
		clients["mcp-go/stdio/"+era], clients["mcp-go/http/"+era] = overMCPGo(era)
	}
	clients["go-sdk/sse"] = func(t *testing.T, h *handler, a *answering) agent {
		w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
		return a.sdk(t, &sdk.SSEClientTransport{Endpoint: w.url + "/sse", HTTPClient: httpClient()}, "2025-11-25")
	}
	for name, connect := range clients {
		t.Run(name, func(t *testing.T) { answerEach(t, connect) })
	}
}

func answerEach(t *testing.T, connect func(*testing.T, *handler, *answering) agent) {
	h := newHandler(t)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		if !call.Caller.Modern {
			return ask(ctx, call)
		}
		return askByResult(ctx, call)
	}
	user := &answering{}
	a := connect(t, h, user)
	for _, test := range []struct {
		action  string
		content map[string]any
		want    string
	}{
		{"accept", map[string]any{"decision": "approve_once", "reason": "fine"}, `accept {"decision":"approve_once","reason":"fine"}`},
		{"decline", nil, "decline null"},
		{"cancel", nil, "cancel null"},
	} {
		user.action, user.content = test.action, test.content
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		text, _, _, err := a.call(ctx, "wait", map[string]any{})
		cancel()
		check.That(t, err == nil && strings.HasSuffix(text, test.want), "%s: %q, %v; want %s", test.action, text, err, test.want)
	}
	check.That(t, len(user.asked) == 3 && user.asked[0] == approval().Message, "the user was shown %q", user.asked)
	err := a.close()
	check.That(t, err == nil, "close: %v", err)
}
