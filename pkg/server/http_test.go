package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// served answers requests in this process, as a client over HTTP sends them.
type served struct {
	*bench
	handler http.Handler
}

func (b *bench) served(o server.HTTPOptions) served {
	b.t.Helper()
	o.Token = httpToken
	handler := check.Value(b.server.HTTPHandler(o))(b.t)
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
	err := json.Unmarshal(out.Body.Bytes(), &answer)
	check.Must(s.t, err == nil && out.Code == http.StatusOK, "%s: %d %s", tool, out.Code, out.Body)
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
	check.That(t, len(listed) == 1 && listed[0].(map[string]any)["running"] == true, "%v of %v", listed, command)
	check.Write(t, s.dir, "src/go", "")
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
		check.Equal(t, out.Code, test.want, "Host %q, Origin %q", test.host, test.origin)
	}
}

// An agent of 2026-07-28, which has no session of the protocol, is known by the handle in its calls: one that sends too
// many leaves the others of its token their places, whatever connections it uses.
func TestAgentsOfOneTokenHaveTheirShares(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t), direct).served(server.HTTPOptions{})
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
	defer check.Write(t, s.dir, "src/go", "")
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
		got := <-status
		check.Must(t, got == http.StatusServiceUnavailable, "a call that waits was answered with %d", got)
	}
	check.Equal(t, call(other, "read_file", `"path":"src/a.txt"`)().Code, http.StatusOK, "another agent of the token")
}

const httpToken = "a-token-of-tests"

type withToken struct{ http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+httpToken)
	return w.RoundTripper.RoundTrip(r)
}

// overHTTP serves the workspace on the loopback. A call to the returned function connects a client of that revision.
func (b *bench) overHTTP() func(version string) *bench {
	b.t.Helper()
	handler := check.Value(b.server.HTTPHandler(server.HTTPOptions{Token: httpToken}))(b.t)
	served := httptest.NewServer(handler)
	b.t.Cleanup(b.close)
	b.t.Cleanup(served.Close)
	return func(version string) *bench {
		b.t.Helper()
		transport := &http.Transport{}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session := check.Value(client.Connect(b.t.Context(), &mcp.StreamableClientTransport{
			Endpoint: served.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken{transport}}, DisableStandaloneSSE: true,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version}))(b.t)
		got := session.InitializeResult().ProtocolVersion
		check.Must(b.t, got == version, "the client speaks %s, not %s", got, version)
		hangUp := func() { session.Close(); transport.CloseIdleConnections() }
		b.t.Cleanup(hangUp)
		c := &bench{t: b.t, dir: b.dir, userDir: b.userDir, server: b.server, client: session, hangUp: hangUp}
		c.Agent = agenttest.Agent{T: c.t, Send: c.send}
		return c
	}
}

// recordsOf counts the records of commands.
func (b *bench) recordsOf(parts ...string) (n int) {
	b.t.Helper()
next:
	for _, line := range b.ledgerLines() {
		for _, part := range append(parts, `"kind":"command"`) {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		n++
	}
	return n
}

const waitsForGo = "echo begun; while [ ! -e src/go ]; do sleep 0.02; done; echo x > src/by.txt; echo over"

// Where closing the response would end the command, one that takes long goes on without its call: the agent has its id,
// and its end is recorded, whatever becomes of the connection.
func TestLongCommandsAreHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), direct, func(o *server.Options) { o.HandOverAfter(time.Millisecond) })
	connect := b.overHTTP()
	first := connect(modern)
	s := first.Selects("INT-001")
	r := first.OK("execute_command", args{"session": s, "command": waitsForGo, "timeout": 100})
	id := r.Str("command_id")
	if r.Object["running"] != true || r.Object["exit_code"] != nil || id == "" || !strings.Contains(r.Text, id) || !strings.Contains(r.Text, "goes on without this call") {
		t.Fatalf("%v", r.Object)
	}
	b.wantRecord(`"started":true`, id, r.Str("record_id"))
	first.OK("write_to_file", args{"session": s, "path": "src/meanwhile.txt", "content": "not behind the command\n"})
	first.hangUp()

	second := connect(modern)
	var listed map[string]any
	b.eventually("the shell runs", func() bool {
		listed = second.commands(s)[0]
		return listed["artifact_id"] != ""
	})
	check.That(t, listed["command_id"] == id && listed["running"] == true, "%v", listed)
	check.Write(t, b.dir, "src/go", "")
	b.eventually("the command ends", func() bool {
		listed = second.commands(s)[0]
		return listed["running"] == false
	})
	check.That(t, listed["exit_code"] == 0.0 && listed["ended_by"] == "", "%v", listed)
	b.wantRecord(`"path":"src/by.txt"`, listed["record_id"].(string))
	b.wantRecord(`"exit_code":0`, `"background":true`, id, listed["record_id"].(string))
	read := second.OK("read_command_output", args{"session": s, "artifact_id": listed["artifact_id"]})
	check.That(t, strings.Contains(read.Str("content"), "over"), "%v", read.Object)
	again := second.OK("execute_command", args{"session": s, "command": "while [ ! -e src/never ]; do sleep 0.02; done"})
	stopped := second.OK("stop_command", args{"session": s, "command_id": again.Str("command_id")})
	check.That(t, stopped.Object["running"] == false && stopped.Str("ended_by") == "stopped by its session", "%v", stopped.Object)
}

// A command that ends in time is one in the foreground, with one record, over HTTP as anywhere; so is its refusal.
func TestQuickCommandsAreNotHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	c := b.overHTTP()(modern)
	s := c.Selects("INT-001")
	r := c.OK("execute_command", args{"session": s, "command": "echo hi; echo x > src/by.txt; exit 3"})
	check.That(t, r.Object["exit_code"] == 3.0 && r.Str("output") == "hi\n" && r.Object["running"] == nil && r.Object["command_id"] == nil,
		"%v", r.Object)
	changed, _ := r.Object["changed_files"].([]any)
	check.That(t, len(changed) == 1, "%v", r.Object)
	b.wantRecord(`"exit_code":3`, r.Str("record_id"))
	n, marked := b.recordsOf(), b.recordsOf(`"background":true`)
	check.That(t, n == 1 && marked == 0, "%d records, %d of the background", n, marked)
	if c := c.commands(s); len(c) != 0 {
		t.Errorf("%v", c)
	}
	c.Refused("INVALID_ARGUMENTS", "execute_command", args{"session": s, "command": strings.Repeat("x", 200_000)})
}

// Until it is handed over a command ends with its call.
func TestClosingEndsWhatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), direct)
	c := b.overHTTP()(modern)
	s := c.Selects("INT-001")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.client.CallTool(ctx, &mcp.CallToolParams{Name: "execute_command", Arguments: args{"session": s, "command": "echo x > src/by.txt; " + waitsForGo}})
	}()
	b.eventually("the command runs", func() bool { return b.exists("src/by.txt") })
	leave()
	<-left
	b.eventually("its end is recorded", func() bool { return b.recordsOf() == 1 })
	n := b.recordsOf(`"background":true`)
	check.That(t, n == 0 && len(c.commands(s)) == 0, "%d records of the background", n)
}

// What another call needs the result of is not handed over, nor what can be resumed.
func TestWhatIsWaitedForIsNotHandedOver(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `    constraints: ["Use TypeScript"]`, `    verify: ["sleep 0.05; test -e src/a.txt"]`, 1))
	b := start(t, dir, func(o *server.Options) { o.HandOverAfter(time.Nanosecond) })
	connect := b.overHTTP()
	old := connect(legacy)
	s := old.Selects("INT-001")
	r := old.OK("execute_command", args{"session": s, "command": "sleep 0.05; echo hi"})
	check.That(t, r.Object["exit_code"] == 0.0 && r.Object["running"] == nil, "in the initialize era: %v", r.Object)
	c := connect(modern)
	s = c.Selects("INT-001")
	c.OK("update_intent", args{"session": s, "intent_id": "INT-001", "status": "DONE"})
	check.Equal(t, b.recordsOf(`"background":true`), 0)
}
