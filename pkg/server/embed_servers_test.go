package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// wiki is a server of somebody else's, at an address.
func wiki(t *testing.T) string {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "wiki", Version: "1"}, nil)
	type page struct {
		Page string `json:"page"`
	}
	for _, name := range []string{"read_page", "write_page"} {
		gosdk.AddTool(s, &gosdk.Tool{Name: name, Description: "A page."}, func(_ context.Context, _ *gosdk.CallToolRequest, a page) (*gosdk.CallToolResult, any, error) {
			return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: name + " " + a.Page}}}, nil, nil
		})
	}
	site := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, nil))
	t.Cleanup(site.Close)
	return site.URL
}

// A program that embeds a server puts others behind it by their settings, and its hooks judge what they are asked.
func TestEmbedderPutsServersBehind(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	loaded := check.Value(settings.Load(settings.LoadOptions{
		UserDir: user, Flags: map[string]string{"servers": `[{name: wiki, url: "` + wiki(t) + `", safe: ["read_*"]}]`},
	}))(t)
	b := start(t, newWorkspace(t), func(o *server.Options) { o.UserDir, o.Settings.Servers = user, loaded.Settings.Servers })
	var asked noting
	b.server.AddPreHook(&asked)
	b.connect()
	says := func(want, tool string, a args) {
		t.Helper()
		r := check.Value(b.client.CallTool(t.Context(), &gosdk.CallToolParams{Name: tool, Arguments: a}))(t)
		check.Equal(t, r.Content[0].(*gosdk.TextContent).Text, want)
	}
	says("read_page a", "wiki_read_page", args{"page": "a"})
	b.Refused("MISSING_OR_INVALID_INTENT", "wiki_write_page", args{"page": "a"})
	says("write_page a", "wiki_write_page", args{"page": "a", "session": b.Selects("INT-001")})
	b.wantRecord(`"call":"wiki_write_page"`, `"server":"wiki"`, `"intent_id":"INT-001"`)
	check.Equal(t, strings.Join(asked, ", "), "wiki read_page, wiki write_page")
}

// noting is a hook that notes what other servers are asked.
type noting []string

func (*noting) Name() string { return "noting" }

func (a *noting) Before(_ context.Context, c *hooks.Call) (hooks.Decision, error) {
	if u := c.Effects.Upstream; u != nil {
		*a = append(*a, u.Server+" "+u.Tool)
	}
	return hooks.Allow(), nil
}
