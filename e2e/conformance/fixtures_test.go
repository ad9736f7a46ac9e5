package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// fixtures is a server of an embedder that offers what the suite looks for.
type fixtures struct {
	address string
	calls   atomic.Int64 // that went through the gate to their end
}

// embedded starts one. Its tools are such that need no intent: what the suite looks at is the protocol.
func embedded(t *testing.T) *fixtures {
	t.Helper()
	f := &fixtures{}
	srv := check.Value(server.New(server.Options{
		Dir: workspace(t), Settings: settings.Defaults(), Version: "conformance", UserDir: t.TempDir(), Logger: zerolog.Nop(),
	}))(t)
	srv.AddPostHook(hooks.PostFunc("counts", func(context.Context, *hooks.Call, *hooks.Outcome) error {
		f.calls.Add(1)
		return nil
	}))
	for _, tool := range tools() {
		tool.Class = hooks.Safe
		check.OK(t, srv.AddHandler(tool))
	}
	offerResources(t, srv)
	offerPrompts(t, srv)
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeHTTP(ctx, listener, server.HTTPOptions{Token: "of-the-test"}) }()
	t.Cleanup(func() {
		stop()
		check.NoError(t, errors.Join(<-ended, srv.Close()))
	})
	f.address = withToken(t, "http://"+listener.Addr().String(), "of-the-test")
	return f
}

// judge holds that the suite's calls were calls.
func (f *fixtures) judge(t *testing.T) {
	t.Helper()
	check.That(t, f.calls.Load() > 20, "%d calls went through the gate", f.calls.Load())
}

const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// tool is one that gives the same always.
func tool(name string, content ...mcp.Content) server.Handler {
	return does(name, "{}", func(context.Context) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{Content: content}, nil })
}

// does is one that works.
func does(name, properties string, run func(ctx context.Context) (*mcp.CallToolResult, error)) server.Handler {
	return server.Handler{
		Tool:   mcp.Tool{Name: name, Description: "For the conformance suite.", RawInputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `}`)},
		Handle: func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) { return run(ctx) },
	}
}

func text(format string, args ...any) *mcp.CallToolResult {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...))
}

func tools() []server.Handler {
	return append([]server.Handler{
		tool("test_simple_text", mcp.NewTextContent("This is a simple text response for testing.")),
		tool("test_image_content", mcp.NewImageContent(png, "image/png")),
		tool("test_audio_content", mcp.NewAudioContent(wav, "audio/wav")),
		tool("test_embedded_resource", mcp.NewEmbeddedResource(mcp.TextResourceContents{
			URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
		})),
		tool("test_multiple_content_types", mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(png, "image/png"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{
				URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
			})),
		tool("test_logging_tool", mcp.NewTextContent("It logs nothing to clients.")),
		does("test_error_handling", "{}", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, errors.New("this tool intentionally returns an error for testing")
		}),
		does("test_reconnection", "{}", func(context.Context) (*mcp.CallToolResult, error) {
			time.Sleep(100 * time.Millisecond)
			return text("done"), nil
		}),
		does("test_tool_with_progress", "{}", func(ctx context.Context) (*mcp.CallToolResult, error) {
			for _, done := range []float64{0, 50, 100} {
				server.ClientOf(ctx).Progress("", done, 100)
			}
			return text("done"), nil
		}),
		{
			Tool: mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Tool with JSON Schema 2020-12 features", RawInputSchema: json.RawMessage(dialect)},
			Handle: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("done"), nil
			},
		},
	}, asking()...)
}

// dialect is a schema with what 2020-12 has beyond properties.
const dialect = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}`

func offerResources(t *testing.T, srv *server.Server) {
	t.Helper()
	reads := func(contents mcp.ResourceContents) func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{contents}, nil
		}
	}
	check.OK(t, srv.AddResource(mcp.NewResource("test://static-text", "static-text", mcp.WithMIMEType("text/plain")),
		reads(mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})))
	check.OK(t, srv.AddResource(mcp.NewResource("test://static-binary", "static-binary", mcp.WithMIMEType("image/png")),
		reads(mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: png})))
	check.OK(t, srv.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := r.Params.Arguments["id"].([]string)[0]
			if id == "none" {
				return nil, server.ErrNotFound
			}
			body, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: string(body)}}, err
		}))
}

func offerPrompts(t *testing.T, srv *server.Server) {
	t.Helper()
	says := func(contents ...mcp.Content) *mcp.GetPromptResult {
		r := &mcp.GetPromptResult{}
		for _, c := range contents {
			r.Messages = append(r.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
		}
		return r
	}
	add := func(p mcp.Prompt, get func(arguments map[string]string) *mcp.GetPromptResult) {
		p.Description = "For the conformance suite."
		check.OK(t, srv.AddPrompt(p, func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return get(r.Params.Arguments), nil
		}))
	}
	add(mcp.NewPrompt("test_simple_prompt"), func(map[string]string) *mcp.GetPromptResult {
		return says(mcp.NewTextContent("This is a simple prompt for testing."))
	})
	add(mcp.NewPrompt("test_prompt_with_arguments", mcp.WithArgument("arg1", mcp.RequiredArgument()), mcp.WithArgument("arg2", mcp.RequiredArgument())),
		func(a map[string]string) *mcp.GetPromptResult {
			return says(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))
		})
	add(mcp.NewPrompt("test_prompt_with_embedded_resource", mcp.WithArgument("resourceUri", mcp.RequiredArgument())),
		func(a map[string]string) *mcp.GetPromptResult {
			return says(mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
				mcp.NewTextContent("Please process the embedded resource above."))
		})
	add(mcp.NewPrompt("test_prompt_with_image"), func(map[string]string) *mcp.GetPromptResult {
		return says(mcp.NewImageContent(png, "image/png"), mcp.NewTextContent("Please analyze the image above."))
	})
}
