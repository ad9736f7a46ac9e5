package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func TestMain(m *testing.M) {
	check.Waiting()
	home, err := os.MkdirTemp("", "hooks-")
	if err == nil {
		for name, value := range map[string]string{
			"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "c"), "XDG_CACHE_HOME": filepath.Join(home, "k"), "XDG_RUNTIME_DIR": home,
		} {
			_ = os.Setenv(name, value)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// world is a workspace, the server of its hooks, and a client that calls it as a hook does.
type world struct {
	t      *testing.T
	dir    string
	client clienthook.Client
	id     string // the client's session
	mode   string
	agent  string
	alone  bool // nobody is there to answer the client

	connection string // of calls of our tools

	options server.Options
	server  *server.Server
	calls   int
	end     func()
}

func newWorld(t *testing.T, changes ...func(*server.Options)) *world {
	t.Helper()
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	agenttest.Workspace(t, dir)
	furnish(t, dir)
	w := &world{t: t, dir: dir, client: clienthook.ClaudeCode, id: "s1", mode: "default"}
	w.options = server.Options{
		Dir: dir, Settings: settings.Defaults(), Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		UserDir: filepath.Join(t.TempDir(), "user"),
	}
	w.options.Settings.Durability = settings.OS
	for _, change := range changes {
		change(&w.options)
	}
	w.start()
	t.Cleanup(func() {
		w.end()
		agenttest.Verify(t, dir, false)
	})
	return w
}

// furnish makes what stands in a world beside what agenttest makes.
func furnish(t *testing.T, dir string) {
	t.Helper()
	for name, content := range map[string]string{
		".intentignore": "secret:keys/**\nsrc/closed.txt\n", "keys/k": "secret\n", "src/a.txt": "one\ntwo\nthree\n", "docs/other.md": "# Other\n",
	} {
		check.Write(t, dir, name, content)
	}
}

// start starts a server, which also answers hooks.
func (w *world) start() {
	w.t.Helper()
	w.server = check.Value(server.New(w.options))(w.t)
	l := check.Value(hookdoor.Find(os.Getenv).Listen(w.dir))(w.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	srv := w.server
	go func() { done <- srv.ServeHooks(ctx, l, 0) }()
	ended := false
	w.end = func() {
		if !ended {
			ended = true
			cancel()
			check.NoError(w.t, <-done)
			check.NoError(w.t, srv.Close())
		}
	}
}

// restart is a server that was killed, as far as its memory goes, and the next one.
func (w *world) restart() {
	w.end()
	w.start()
}

// uses selects an intent for the session, by a code from a refusal.
func (w *world) uses(intent string) {
	w.t.Helper()
	tool, input := "Write", args{"file_path": w.at("src/none.txt"), "content": "x\n"}
	if w.client == "codex" {
		tool, input = "apply_patch", args{"command": "*** Begin Patch\n*** Add File: src/none.txt\n+x\n*** End Patch\n"}
	}
	reason := w.pre(tool, input).reason
	_, code, found := strings.Cut(reason, `join: "`)
	check.Must(w.t, found, "no code in %q", reason)
	code, _, _ = strings.Cut(code, `"`)
	r := w.tool("select_active_intent", args{"intent_id": intent, "join": code})
	check.Must(w.t, r.Refusal == nil, "%s", r.Text)
}

type args map[string]any

func (w *world) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// tool calls a tool of ours.
func (w *world) tool(name string, a args) hooks.Result {
	w.t.Helper()
	raw := check.Value(json.Marshal(a))(w.t)
	return w.server.Do(w.t.Context(), hooks.Request{Tool: name, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "mcp" + w.connection}})
}

// answer is what Claude Code makes of a hook's output.
type answer struct {
	decision, reason, command, note string
	call                            string
	input                           args
	tool                            string
}

// code is the refusal's, "" where nothing stood against the call.
func (a answer) code() string {
	if a.decision != "deny" {
		return a.decision
	}
	code, _, _ := strings.Cut(a.reason, ":")
	return code
}

// send sends one event.
func (w *world) send(event args) answer {
	w.t.Helper()
	return w.raw(check.Value(json.Marshal(event))(w.t))
}

// ask gives a hook's output.
func (w *world) ask(event []byte) hookdoor.Reply {
	w.t.Helper()
	conn := check.Value(hookdoor.Find(os.Getenv).Dial(w.dir))(w.t)
	defer conn.Close()
	return check.Value(conn.Ask(hookdoor.Request{Op: "event", Client: string(w.client), Event: event, Attended: !w.alone}))(w.t)
}

func (w *world) raw(event []byte) answer {
	w.t.Helper()
	reply := w.ask(event)
	var out struct {
		Specific struct {
			Decision string         `json:"permissionDecision"`
			Reason   string         `json:"permissionDecisionReason"`
			Input    map[string]any `json:"updatedInput"`
			Note     string         `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if len(reply.Stdout) > 0 {
		check.NoError(w.t, json.Unmarshal(reply.Stdout, &out))
	}
	a := answer{decision: out.Specific.Decision, reason: out.Specific.Reason, note: out.Specific.Note}
	a.command, _ = out.Specific.Input["command"].(string)
	if reply.ExitCode == 2 {
		a.decision, a.reason = "deny", string(reply.Stderr)
	}
	return a
}

func (w *world) event(name, call, tool string, input args) args {
	e := args{
		"session_id": w.id, "transcript_path": "", "cwd": w.dir, "permission_mode": w.mode, "hook_event_name": name,
		"tool_name": tool, "tool_input": input, "tool_use_id": call,
	}
	if w.agent != "" {
		e["agent_id"], e["agent_type"] = w.agent, "general-purpose"
	}
	return e
}

// pre announces a call.
func (w *world) pre(tool string, input args) answer {
	w.t.Helper()
	w.calls++
	call := fmt.Sprintf("toolu_%d", w.calls)
	a := w.send(w.event("PreToolUse", call, tool, input))
	a.call, a.input, a.tool = call, input, tool
	return a
}

// post tells its end.
func (w *world) post(a answer, response args) answer {
	w.t.Helper()
	e := w.event("PostToolUse", a.call, a.tool, a.input)
	e["tool_response"] = response
	return w.send(e)
}

// idle tells the end of a turn, and waits for what follows from it, as from all before.
func (w *world) idle() {
	w.t.Helper()
	w.send(args{"session_id": w.id, "transcript_path": "", "cwd": w.dir, "permission_mode": w.mode, "hook_event_name": "Stop", "stop_hook_active": false})
	w.send(args{"session_id": w.id, "transcript_path": "", "cwd": w.dir, "permission_mode": w.mode, "hook_event_name": "Stop", "stop_hook_active": false})
}

func (w *world) write(name, content string) {
	w.t.Helper()
	check.Write(w.t, w.dir, name, content)
}

// records are those of a path, oldest first.
func (w *world) records(path string, kinds ...record.Kind) []record.Entry {
	w.t.Helper()
	r := check.Value(w.server.Ledger().Query(w.t.Context(), record.Filter{Path: path, Kinds: kinds}))(w.t)
	return r.Entries
}

// changed are the changes of a path on record.
func (w *world) changed(path string) []record.Entry { return w.records(path, record.ChangeKinds()...) }
