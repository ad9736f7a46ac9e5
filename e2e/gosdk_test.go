package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// goClient is the official Go SDK's client.
type goClient struct {
	w       *workspace
	session *mcp.ClientSession
}

// dialGo connects over Streamable HTTP; version "" leaves the choice to the client.
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
	session := check.Value(c.Connect(w.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}))(w.t)
	w.t.Cleanup(func() { _ = session.Close() })
	got := session.InitializeResult().ProtocolVersion
	check.Must(w.t, got == version, "the client speaks %s, not %s", got, version)
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

const (
	// clients is where package.json is.
	clients = "clients"
	// oldestNode is what the oldest client that is driven here runs on.
	oldestNode = 20
	// inspectorNode is what version 2 of the inspector needs.
	inspectorNode = 22
)

// needsNode skips the test where there is no Node of at least the given major version, or where its clients are not installed.
func needsNode(t *testing.T, atLeast int) (program string) {
	t.Helper()
	program, err := nodeOf(atLeast)
	if err != nil {
		missing(t, err.Error())
	}
	return program
}

// nodeOf finds a Node: the one that clients/package.json brings along, or the machine's own.
func nodeOf(atLeast int) (program string, err error) {
	if _, err := os.Stat(filepath.Join(clients, "node_modules", "@modelcontextprotocol", "sdk")); err != nil {
		return "", errors.New("the Node clients are not installed: run `npm ci` in e2e/clients")
	}
	if found, major := newestNode(); major >= atLeast {
		return found, nil
	}
	return "", fmt.Errorf("no Node %d or later", atLeast)
}

// newestNode is the later of the two.
var newestNode = sync.OnceValues(func() (program string, major int) {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	ours, _ := filepath.Abs(filepath.Join(clients, "node_modules", "node-"+runtime.GOOS+"-"+cmp.Or(arch, runtime.GOARCH), "bin", "node"))
	for _, candidate := range []string{ours, "node"} {
		if found := majorVersion(candidate); found > major {
			program, major = candidate, found
		}
	}
	return program, major
})

func majorVersion(node string) int {
	out, err := exec.Command(node, "--version").Output()
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// missing skips a test on a developer's machine; continuous integration has no excuse.
func missing(t *testing.T, what string) {
	t.Helper()
	check.Must(t, os.Getenv("CI") == "", "%v", what)
	t.Skip(what)
}

// driver is the argument of clients/drive.mjs.
type driver struct {
	SDK       int      `json:"sdk"`
	Pin       string   `json:"pin,omitempty"` // of version 2: a revision of the modern era
	Transport string   `json:"transport"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Env       environ  `json:"env,omitempty"`
	URL       string   `json:"url,omitempty"`
	Token     string   `json:"token,omitempty"`
	// Elicitation is the capability that the client declares; nil for none, or for forms if there is a user.
	Elicitation any  `json:"elicitation,omitempty"`
	User        user `json:"-"`
	Apps        bool `json:"apps,omitempty"`    // it shows apps; of version 2
	Follows     bool `json:"follows,omitempty"` // it hears of lists that change, and of what is logged
	OAuth       any  `json:"oauth,omitempty"`   // clients/oauth.mjs: how it gets its token; nil for the one given
	mortal      bool // it can be killed
}

// environ is a list of NAME=value that is an object in JSON.
type environ []string

func (e environ) MarshalJSON() ([]byte, error) {
	m := make(map[string]string)
	for _, entry := range e {
		name, value, _ := strings.Cut(entry, "=")
		m[name] = value
	}
	return json.Marshal(m)
}

// clientError is what the client threw.
type clientError struct {
	Code    any    `json:"code"`
	Message string `json:"message"`
}

func (e *clientError) Error() string { return fmt.Sprintf("%s (%v)", e.Message, e.Code) }

// testLog shows what a process says on standard error.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

var _ io.Writer = testLog{}

// The command line of the MCP inspector, on stdio and over HTTP. Without ORCHESTRA_LONG=1 it lists the tools and selects an intent.
func TestInspector(t *testing.T) {
	needsNode(t, inspectorNode)
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)
		inspect(w, program, "serve", "--workspace", w.dir)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)
		e := w.serveHTTP("http")
		inspect(w, e.url, "--transport", "http", "--header", "Authorization: Bearer "+e.token)
		if !check.Long() {
			return
		}
		if out, code := w.inspector(e.url, "--transport", "http", "--stored-auth-only", "--method", "tools/list"); code == 0 {
			t.Errorf("the tools are listed without a token: %s", out)
		}
	})
}

func inspect(w *workspace, target ...string) {
	w.t.Helper()
	ask := func(want int, result any, request ...string) {
		w.t.Helper()
		out, code := w.inspector(append(target, request...)...)
		check.Must(w.t, code == want, "%v: exit code %d, want %d:\n%s", request, code, want, out)
		err := json.Unmarshal([]byte(out), result)
		check.Must(w.t, err == nil, "%v: %v\n%s", request, err, out)
	}
	var list struct{ Tools []struct{ Name string } }
	if overHTTP := len(target) > 4; check.Long() || !overHTTP {
		// Strict: schemas that some client cannot read are errors.
		ask(0, &list, "--method", "tools/list", "--strict")
		check.That(w.t, len(list.Tools) >= 17, "%d tools", len(list.Tools))
		if !check.Long() {
			return
		}
	}
	var selected, read, refused struct {
		IsError           bool
		StructuredContent map[string]any
	}
	ask(0, &selected, "--method", "tools/call", "--tool-name", "select_active_intent", "--tool-arg", "intent_id=INT-001")
	session, _ := selected.StructuredContent["session"].(string)
	check.Must(w.t, strings.HasPrefix(session, "ses_"), "select: %+v", selected)
	if !check.Long() {
		return
	}
	// Each run is a process, and on stdio a server, of its own: the handle holds.
	ask(0, &read, "--method", "tools/call", "--tool-name", "write_to_file",
		"--tool-args-json", `{"path": "src/inspected.txt", "content": "x\n", "session": "`+session+`"}`)
	w.want("src/inspected.txt", "x\n")
	const toolIsError = 5
	ask(toolIsError, &refused, "--method", "tools/call", "--tool-name", "write_to_file",
		"--tool-args-json", `{"path": "docs/x.md", "content": "x", "session": "`+session+`"}`)
	check.Equal(w.t, refused.StructuredContent["error_type"], "SCOPE_VIOLATION", "refusal")
}

// inspector runs the inspector once.
func (w *workspace) inspector(arguments ...string) (stdout string, code int) {
	w.t.Helper()
	launcher := filepath.Join(clients, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	cmd := exec.Command(needsNode(w.t, inspectorNode), append([]string{launcher, "--cli"}, arguments...)...)
	cmd.Env = w.env("MCP_STORAGE_DIR="+w.home, "NO_COLOR=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	check.Must(w.t, err == nil || cmd.ProcessState != nil, "%v", err)
	if text := strings.TrimSpace(stderr.String()); text != "" {
		w.t.Logf("inspector: %s", text)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
