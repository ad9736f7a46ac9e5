package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// served answers requests in this process, as a client over HTTP sends them.
type served struct {
	*bench
	handler http.Handler
}

func (b *bench) served(o server.HTTPOptions) served {
	b.t.Helper()
	o.Token = httpToken
	handler, err := b.server.HTTPHandler(o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(b.close)
	return served{b, handler}
}

func (s served) post(session, body string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+httpToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	for _, edit := range edits {
		edit(r)
	}
	out := httptest.NewRecorder()
	s.handler.ServeHTTP(out, r)
	return out
}

// opens gives a session of the initialize era that has asked for something.
func (s served) opens() string {
	s.t.Helper()
	out := s.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	id := out.Header().Get("Mcp-Session-Id")
	if out := s.post(id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); out.Code != http.StatusOK {
		s.t.Fatalf("%d %s", out.Code, out.Body)
	}
	return id
}

// calls gives the structured content of a call's answer.
func (s served) calls(session, tool, arguments string) map[string]any {
	s.t.Helper()
	out := s.post(session, callLine(3, tool, arguments))
	var answer struct {
		Result struct{ StructuredContent map[string]any }
	}
	if err := json.Unmarshal(out.Body.Bytes(), &answer); err != nil || out.Code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", tool, out.Code, out.Body)
	}
	return answer.Result.StructuredContent
}

// However many sessions a token opens, the one whose command runs stays.
func TestSessionWithACommandMakesNoRoom(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t)).served(server.HTTPOptions{})
	first := s.opens()
	handle := s.calls(first, "select_active_intent", `{"intent_id":"INT-001"}`)["session"]
	command := s.calls(first, "execute_command", fmt.Sprintf(`{"session":%q,"command":%q,"background":true}`, handle, waitsForGo))
	for range 300 {
		s.opens()
	}
	listed := s.calls(first, "list_commands", fmt.Sprintf(`{"session":%q}`, handle))["commands"].([]any)
	if len(listed) != 1 || listed[0].(map[string]any)["running"] != true {
		t.Errorf("%v of %v", listed, command)
	}
	write(t, s.dir, "src/go", "")
	s.eventually("the command ends", func() bool { return s.recordsOf(`"exit_code":0`) == 1 })
}

// A server is served by every name that its listener and its settings give it.
func TestNamesOfTheServerAreServed(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t), func(o *server.Options) {
		o.Settings.HTTP.AllowedHosts, o.Settings.HTTP.AllowedOrigins = []string{"proxy.example"}, []string{"https://app.example"}
	}).served(server.HTTPOptions{Names: []string{"box.example"}})
	for _, test := range []struct {
		host, origin string
		want         int
	}{
		{"box.example:7420", "", http.StatusOK},
		{"box.example:7420", "http://box.example:7420", http.StatusOK},
		{"proxy.example", "", http.StatusOK},
		{"proxy.example", "https://app.example", http.StatusOK},
		{"localhost:7420", "", http.StatusOK},
		{"evil.example", "", http.StatusForbidden},
		{"box.example", "https://evil.example", http.StatusForbidden},
	} {
		out := s.post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
			func(r *http.Request) {
				r.Host = test.host
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
			})
		if out.Code != test.want {
			t.Errorf("Host %q, Origin %q: %d, want %d: %s", test.host, test.origin, out.Code, test.want, out.Body)
		}
	}
}

// An agent of 2026-07-28, which has no session of the protocol, is known by the
// handle in its calls: one that sends too many leaves the others of its token
// their places, whatever connections it uses.
func TestAgentsOfOneTokenHaveTheirShares(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t)).served(server.HTTPOptions{})
	calls := 0
	call := func(handle any, tool, rest string) func() *httptest.ResponseRecorder {
		calls++
		from := fmt.Sprintf("192.0.2.1:%d", calls)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"session":%q,%s},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, handle, rest, modern)
		return func() *httptest.ResponseRecorder {
			return s.post("", body, func(r *http.Request) {
				r.RemoteAddr = from
				r.Header.Set("Mcp-Protocol-Version", modern)
				r.Header.Set("Mcp-Method", "tools/call")
				r.Header.Set("Mcp-Name", tool)
			})
		}
	}
	agent := func() any {
		return s.calls(s.opens(), "select_active_intent", `{"intent_id":"INT-001"}`)["session"]
	}
	greedy, other := agent(), agent()
	var sent sync.WaitGroup
	defer sent.Wait()
	defer write(t, s.dir, "src/go", "")
	status := make(chan int, 300)
	send := func(tool, rest string) {
		sends := call(greedy, tool, rest)
		sent.Go(func() { status <- sends().Code })
	}
	send("execute_command", fmt.Sprintf(`"command":%q`, "echo x > src/begun.txt; "+waitsForGo))
	s.eventually("the command runs", func() bool { return s.exists("src/begun.txt") })
	for range 299 { // which wait for it
		send("write_to_file", `"path":"src/x.txt","content":"x"`)
	}
	for range 300 - 256 { // as many are refused where one agent may have all places of its token
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Fatalf("a call that waits was answered with %d", got)
		}
	}
	if out := call(other, "read_file", `"path":"src/a.txt"`)(); out.Code != http.StatusOK {
		t.Errorf("another agent of the token: %d %s", out.Code, out.Body)
	}
}
