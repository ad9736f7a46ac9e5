package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/intentgov/orchestra-mcp/pkg/server"
)

const httpToken = "a-token-of-tests"

type withToken struct{ http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+httpToken)
	return w.RoundTripper.RoundTrip(r)
}

// overHTTP serves the workspace on the loopback. A call to the returned
// function connects a client of that revision.
func (b *bench) overHTTP() func(version string) *bench {
	b.t.Helper()
	handler, err := b.server.HTTPHandler(server.HTTPOptions{Token: httpToken})
	if err != nil {
		b.t.Fatal(err)
	}
	served := httptest.NewServer(handler)
	b.t.Cleanup(b.close)
	b.t.Cleanup(served.Close)
	return func(version string) *bench {
		b.t.Helper()
		transport := &http.Transport{}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(b.t.Context(), &mcp.StreamableClientTransport{
			Endpoint: served.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken{transport}}, DisableStandaloneSSE: true,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			b.t.Fatal(err)
		}
		if got := session.InitializeResult().ProtocolVersion; got != version {
			b.t.Fatalf("the client speaks %s, not %s", got, version)
		}
		hangUp := func() { session.Close(); transport.CloseIdleConnections() }
		b.t.Cleanup(hangUp)
		return &bench{t: b.t, dir: b.dir, server: b.server, client: session, hangUp: hangUp}
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

// Where closing the response would end the command, one that takes long goes
// on without its call: the agent has its id, and its end is recorded, whatever
// becomes of the connection.
func TestLongCommandsAreHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.HandOverAfter(time.Millisecond) })
	connect := b.overHTTP()
	first := connect(modern)
	s := first.selects("INT-001")
	r := first.ok("execute_command", args{"session": s, "command": waitsForGo, "timeout": 100})
	id := r.str("command_id")
	if r.Object["running"] != true || r.Object["exit_code"] != nil || id == "" || !strings.Contains(r.Text, id) || !strings.Contains(r.Text, "goes on without this call") {
		t.Fatalf("%v", r.Object)
	}
	b.wantRecord(`"started":true`, id, r.str("record_id"))
	first.ok("write_to_file", args{"session": s, "path": "src/meanwhile.txt", "content": "not behind the command\n"})
	first.hangUp()

	second := connect(modern)
	var listed map[string]any
	b.eventually("the shell runs", func() bool {
		listed = second.commands(s)[0]
		return listed["artifact_id"] != ""
	})
	if listed["command_id"] != id || listed["running"] != true {
		t.Errorf("%v", listed)
	}
	write(t, b.dir, "src/go", "")
	b.eventually("the command ends", func() bool {
		listed = second.commands(s)[0]
		return listed["running"] == false
	})
	if listed["exit_code"] != 0.0 || listed["ended_by"] != "" {
		t.Errorf("%v", listed)
	}
	b.wantRecord(`"path":"src/by.txt"`, listed["record_id"].(string))
	b.wantRecord(`"exit_code":0`, `"background":true`, id, listed["record_id"].(string))
	read := second.ok("read_command_output", args{"session": s, "artifact_id": listed["artifact_id"]})
	if !strings.Contains(read.str("content"), "over") {
		t.Errorf("%v", read.Object)
	}
	again := second.ok("execute_command", args{"session": s, "command": "while [ ! -e src/never ]; do sleep 0.02; done"})
	stopped := second.ok("stop_command", args{"session": s, "command_id": again.str("command_id")})
	if stopped.Object["running"] != false || stopped.str("ended_by") != "stopped by its session" {
		t.Errorf("%v", stopped.Object)
	}
}

// A command that ends in time is one in the foreground, with one record, over
// HTTP as anywhere; so is its refusal.
func TestQuickCommandsAreNotHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	c := b.overHTTP()(modern)
	s := c.selects("INT-001")
	r := c.ok("execute_command", args{"session": s, "command": "echo hi; echo x > src/by.txt; exit 3"})
	if r.Object["exit_code"] != 3.0 || r.str("output") != "hi\n" || r.Object["running"] != nil || r.Object["command_id"] != nil {
		t.Errorf("%v", r.Object)
	}
	if changed, _ := r.Object["changed_files"].([]any); len(changed) != 1 {
		t.Errorf("%v", r.Object)
	}
	b.wantRecord(`"exit_code":3`, r.str("record_id"))
	if n, marked := b.recordsOf(), b.recordsOf(`"background":true`); n != 1 || marked != 0 {
		t.Errorf("%d records, %d of the background", n, marked)
	}
	if c := c.commands(s); len(c) != 0 {
		t.Errorf("%v", c)
	}
	c.refused("INVALID_ARGUMENTS", "execute_command", args{"session": s, "command": strings.Repeat("x", 200_000)})
}

// Until it is handed over a command ends with its call.
func TestClosingEndsWhatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	c := b.overHTTP()(modern)
	s := c.selects("INT-001")
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
	if n := b.recordsOf(`"background":true`); n != 0 || len(c.commands(s)) != 0 {
		t.Errorf("%d records of the background", n)
	}
}

// What another call needs the result of is not handed over, nor what can be
// resumed.
func TestWhatIsWaitedForIsNotHandedOver(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `    constraints: ["Use TypeScript"]`, `    verify: ["sleep 0.05; test -e src/a.txt"]`, 1))
	b := start(t, dir, func(o *server.Options) { o.HandOverAfter(time.Nanosecond) })
	connect := b.overHTTP()
	old := connect(legacy)
	s := old.selects("INT-001")
	r := old.ok("execute_command", args{"session": s, "command": "sleep 0.05; echo hi"})
	if r.Object["exit_code"] != 0.0 || r.Object["running"] != nil {
		t.Errorf("in the initialize era: %v", r.Object)
	}
	c := connect(modern)
	s = c.selects("INT-001")
	c.ok("update_intent", args{"session": s, "intent_id": "INT-001", "status": "DONE"})
	if n := b.recordsOf(`"background":true`); n != 0 {
		t.Errorf("%d records of the background", n)
	}
}
