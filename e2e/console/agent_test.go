package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

type args = agenttest.Args

// agent works through a server of its own.
type agent struct {
	agenttest.Agent
	session *mcp.ClientSession
	server  *exec.Cmd
}

// agent starts a server on stdio, and connects to it.
func (ws *workspace) agent(name string) *agent {
	ws.w.t.Helper()
	cmd := ws.server("--transport", "stdio")
	return ws.connected(name, cmd, &mcp.CommandTransport{Command: cmd})
}

// remote starts a server that serves HTTP, and connects to it.
func (ws *workspace) remote(name string) *agent {
	ws.w.t.Helper()
	cmd := ws.server("--transport", "http", "--listen", "127.0.0.1:0")
	said := &announcement{ready: make(chan struct{})}
	cmd.Stderr = said
	check.OK(ws.w.t, cmd.Start())
	ws.w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-said.ready:
	case <-time.After(patience):
		ws.w.t.Fatal("the server did not say where it listens")
	}
	transport := &mcp.StreamableClientTransport{Endpoint: said.url, HTTPClient: &http.Client{Transport: bearer(said.token)}, DisableStandaloneSSE: true}
	return ws.connected(name, cmd, transport)
}

func (ws *workspace) server(arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"serve", "--workspace", ws.dir}, arguments...)...)
	cmd.Env = ws.w.env()
	return cmd
}

func (ws *workspace) connected(name string, server *exec.Cmd, transport mcp.Transport) *agent {
	t := ws.w.t
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	session := check.Value(client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	t.Cleanup(func() { _ = session.Close() })
	a := &agent{session: session, server: server}
	a.Agent = agenttest.Agent{T: t, Send: func(tool string, arguments args) (json.RawMessage, error) {
		return a.send(t.Context(), tool, arguments)
	}}
	return a
}

func (a *agent) send(ctx context.Context, tool string, arguments args) (json.RawMessage, error) {
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// begins makes a call that waits for the operator. What it returns waits for its answer.
func (a *agent) begins(tool string, arguments args) func() agenttest.Answer {
	type answer struct {
		raw json.RawMessage
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		raw, err := a.send(a.T.Context(), tool, arguments)
		answered <- answer{raw, err}
	}()
	return func() agenttest.Answer {
		a.T.Helper()
		select {
		case got := <-answered:
			check.OK(a.T, got.err)
			return check.Value(agenttest.Read(a.T, got.raw))(a.T)
		case <-time.After(patience):
			a.T.Fatalf("%s %v was not answered", tool, arguments)
		}
		return agenttest.Answer{}
	}
}

// writes begins a change of a file.
func (a *agent) writes(path, content string) func() agenttest.Answer {
	return a.begins("write_to_file", args{"path": path, "content": content})
}

// kill ends the server at whatever it is doing.
func (a *agent) kill() { check.OK(a.T, a.server.Process.Kill()) }

// goesOn demands that a call has gone through.
func goesOn(t *testing.T, call func() agenttest.Answer) {
	t.Helper()
	if r := call(); r.Error {
		t.Errorf("the call was refused: %s", r.Text)
	}
}

// bearer is a token that goes with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// announcement is a server's standard error: where it listens, and for which token.
type announcement struct {
	ready      chan struct{} // closed when both are known
	url, token string
	text       bytes.Buffer
}

func (a *announcement) Write(p []byte) (int, error) {
	known := a.url != "" && a.token != ""
	a.text.Write(p)
	for line := range strings.Lines(a.text.String()) {
		if token, ok := strings.CutPrefix(line, "bearer token: "); ok {
			a.token = strings.TrimSpace(token)
		}
		if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
			a.url = strings.TrimSpace(url)
		}
	}
	if !known && a.url != "" && a.token != "" {
		close(a.ready)
	}
	return len(p), nil
}
