package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Who may not speak to the server is turned away before anything is read, on
// every method and path.
func TestHTTPTurnsAway(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.serveHTTP("sse")
	for name, c := range map[string]struct {
		method, path string
		headers      map[string]string
		want         int
	}{
		"no token":                  {"POST", "/mcp", map[string]string{"Authorization": ""}, 401},
		"wrong token":               {"POST", "/mcp", map[string]string{"Authorization": "Bearer " + strings.Repeat("a", len(e.token))}, 401},
		"token of another kind":     {"POST", "/mcp", map[string]string{"Authorization": "Basic " + e.token}, 401},
		"page of a web site":        {"POST", "/mcp", map[string]string{"Origin": "https://example.org"}, 403},
		"page, reading":             {"GET", "/mcp", map[string]string{"Origin": "https://example.org"}, 403},
		"page, older transport":     {"GET", "/sse", map[string]string{"Origin": "null"}, 403},
		"name that was rebound":     {"POST", "/mcp", map[string]string{"Host": "attacker.example.org"}, 403},
		"form":                      {"POST", "/mcp", map[string]string{"Content-Type": "text/plain"}, 415},
		"older transport, no token": {"GET", "/sse", map[string]string{"Authorization": ""}, 401},
		"another path":              {"POST", "/elsewhere", nil, 404},
		"a program, as it should":   {"POST", "/mcp", nil, 200},
	} {
		body := strings.NewReader(strings.Split(initialize, "\n")[0])
		request := check.Value(http.NewRequestWithContext(t.Context(), c.method, strings.TrimSuffix(e.url, "/mcp")+c.path, body))(t)
		request.Header.Set("Authorization", "Bearer "+e.token)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		for header, value := range c.headers {
			request.Header.Set(header, value)
		}
		if host, ok := c.headers["Host"]; ok {
			request.Host = host
		}
		response := check.Value(http.DefaultClient.Do(request))(t)
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		response.Body.Close()
		check.Equal(t, response.StatusCode, c.want, "%s: %s", name, text)
	}
}

// Two clients of the era without sessions, at once on one server and with one
// token: without handles they have nothing, not even what they selected
// themselves, and with a handle only what is its own.
func TestModernClientsShareNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.serveHTTP("http")
	one, two := agent{t, w.dialGo(e, modern)}, agent{t, w.dialGo(e, modern)}
	write := args{"path": "src/new.txt", "content": "x"}

	first := one.selects("INT-001")
	for _, a := range []agent{one, two} {
		a.refused("MISSING_OR_INVALID_INTENT", "write_to_file", write)
		a.refused("MISSING_OR_INVALID_INTENT", "get_active_intent", args{})
	}
	second := two.selects("INT-001")
	if first == second || one.selects("INT-001") == first {
		t.Error("selections without a handle are joined")
	}
	one.ok("read_file", args{"path": "src/a.txt", "session": first})
	two.refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "by two\n", "session": second})
	one.ok("write_to_file", args{"path": "src/a.txt", "content": "by one\n", "session": first})
	w.want("src/a.txt", "by one\n")
	two.refused("STALE_FILE", "edit_file", args{"path": "src/a.txt", "old_string": "one", "new_string": "two", "session": second})
}

// What one principal selected, another cannot use, although it has the handle.
func TestPrincipalsShareNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.embed(func(*server.Server) {})
	for _, version := range []string{"", modern} {
		alice, bob := agent{t, w.dialGo(endpoint{e.url, "token of alice"}, version)}, agent{t, w.dialGo(endpoint{e.url, "token of bob"}, version)}
		session := alice.selects("INT-001")
		stolen := args{"path": "src/stolen.txt", "content": "x", "session": session}
		bob.refused("SESSION_EXPIRED", "write_to_file", stolen)
		bob.refused("SESSION_EXPIRED", "get_active_intent", args{"session": session})
		bob.refused("SESSION_EXPIRED", "select_active_intent", args{"intent_id": "INT-002", "session": session})
		alice.ok("write_to_file", args{"path": "src/" + version + ".txt", "content": "x", "session": session})
	}
}

// Commands in the background, and what commands print, are their principal's.
func TestCommandsOfPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.embed(func(*server.Server) {})
	for _, version := range []string{"", modern} {
		alice, bob := agent{t, w.dialGo(endpoint{e.url, "token of alice"}, version)}, agent{t, w.dialGo(endpoint{e.url, "token of bob"}, version)}
		session, own := alice.selects("INT-001"), bob.selects("INT-001")
		r := alice.ok("execute_command", args{"session": session, "command": "echo hers; exec sleep 100", "background": true})
		id, artifact := r.str("command_id"), r.str("artifact_id")
		for _, stolen := range []string{"list_commands", "stop_command"} {
			arguments := args{"session": session}
			if stolen == "stop_command" {
				arguments["command_id"] = id
			}
			bob.refused("SESSION_EXPIRED", stolen, arguments)
		}
		bob.refused("FILE_NOT_FOUND", "stop_command", args{"session": own, "command_id": id})
		bob.refused("FILE_NOT_FOUND", "read_command_output", args{"session": own, "artifact_id": artifact})
		if listed, _ := bob.ok("list_commands", args{"session": own}).Fields["commands"].([]any); len(listed) != 0 {
			t.Errorf("bob sees %v", listed)
		}
		if read := alice.ok("read_command_output", args{"session": session, "artifact_id": artifact}); read.str("content") != "1 | hers\n" {
			t.Errorf("%v", read.Fields)
		}
		check.Equal(t, alice.ok("stop_command", args{"session": session, "command_id": id}).Fields["running"], false)
	}
}

// A hook or a tool that breaks refuses, in words that its client accepts.
func TestEmbeddedFaults(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	e := w.embed(func(s *server.Server) {
		s.AddPreHook(hooks.PreFunc("broken", func(_ context.Context, call *hooks.Call) (hooks.Decision, error) {
			if call.Tool == "edit_file" {
				panic("the hook broke")
			}
			return hooks.Allow(), nil
		}))
		check.OK(t, s.AddTool(brokenTool{}))
	})
	a := agent{t, w.drive(driver{SDK: 1, Transport: "http", URL: e.url, Token: "token of alice"})}
	var tools any
	a.get("listTools", nil, &tools)
	session := a.selects("INT-001")
	r := a.refused("HOOK_BLOCKED", "edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	if !strings.Contains(r.str("error"), "broken") {
		t.Errorf("the refusal does not name the hook: %s", r.text())
	}
	w.want("src/a.txt", "one\ntwo\nthree\n")
	if r := a.refused("INTERNAL_ERROR", "broken_tool", args{"session": session}); strings.Contains(r.text(), "secret") {
		t.Errorf("the refusal tells an agent about the server's inside: %s", r.text())
	}
	a.ok("write_to_file", args{"path": "src/after.txt", "content": "x", "session": session})
}

// brokenTool panics.
type brokenTool struct{}

func (brokenTool) Spec() hooks.Spec {
	return hooks.Spec{
		Name: "broken_tool", Title: "Broken", Description: "Always fails.",
		InputSchema:  hooks.SchemaText(`{"type":"object","properties":{"session":{"type":"string"}}}`),
		OutputSchema: hooks.SchemaText(`{"type":"object"}`),
	}
}

func (b brokenTool) Decode(hooks.Arguments) (hooks.Decoded, error) { return b, nil }

func (brokenTool) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	panic("a secret of the server")
}

// embed serves the workspace as an embedder does, to two principals.
func (w *workspace) embed(add func(*server.Server)) endpoint {
	w.t.Helper()
	return w.embedWith(settings.Defaults(), add)
}

func (w *workspace) embedWith(set settings.Settings, add func(*server.Server)) endpoint {
	w.t.Helper()
	srv := check.Value(server.New(server.Options{Dir: w.dir, Settings: set, Logger: zerolog.New(testLog{w.t}).Level(zerolog.ErrorLevel)}))(w.t)
	add(srv)
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(w.t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- srv.ServeHTTP(ctx, listener, server.HTTPOptions{Authenticate: func(token string) (string, bool) {
			return strings.CutPrefix(token, "token of ")
		}})
	}()
	w.t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				w.t.Errorf("serving ended with %v", err)
			}
		case <-time.After(patience):
			w.t.Error("serving does not end")
		}
		check.NoError(w.t, srv.Close())
	})
	return endpoint{url: "http://" + listener.Addr().String() + "/mcp"}
}

var _ hooks.Tool = brokenTool{}
