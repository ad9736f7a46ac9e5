package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/advicetest"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

type args map[string]any

// bench is a workspace with the tools and the gate on it, without a server: nothing is recorded, and no command runs.
type bench struct {
	t        testing.TB
	dir      string
	engine   *hooks.Engine
	commands *tools.Commands
	session  string // of INT-005, which owns everything
	answers  *advicetest.Answers
}

// newBench makes a workspace of the given files; change may set limits before the tools are made.
func newBench(t testing.TB, files map[string]string, change ...func(*tools.Files)) *bench {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"src/a.txt": "one\ntwo\nthree\n", "docs/other.md": "# Other\n",
		".orchestration/active_intents.yaml": "active_intents:\n  - {id: INT-005, name: Everything, status: IN_PROGRESS, owned_scope: [\"**\"]}\n"}
	maps.Copy(all, files)
	for name, content := range all {
		check.Write(t, dir, name, content)
	}
	place := check.Value(workspace.Open(dir))(t)
	sessions, intents, fresh := session.Open(nil, session.Options{}), intent.Open(place.Root()), gate.NewFreshness(false)
	t.Cleanup(func() { sessions.Close(); _ = place.Close() })
	family := &tools.Files{Workspace: place, Fresh: fresh, Limit: 10 << 20, Match: edit.Options{Threshold: 1}}
	for _, c := range change {
		c(family)
	}
	g := &gate.Gate{Intents: intents, Fresh: fresh, Ledger: &unrecorded{}, Policy: gate.Policy{QuietClass: true}}
	engine := hooks.NewEngine(hooks.Options{Sessions: sessions, Recorder: &unrecorded{}, Logger: zerolog.Nop(), Gate: g.Hooks(false), Stale: fresh.Stale,
		QuietClass: true, Observers: []hooks.PostHook{trace.Seen(fresh.Remember)}})
	b := &bench{t: t, dir: dir, engine: engine, commands: &tools.Commands{Files: family}, answers: advicetest.NewAnswers()}
	brain := &tools.Brain{Files: family, Intents: intents}
	for _, tool := range tools.All(tools.Families{Files: family, Brain: brain, Commands: b.commands,
		Intents: &tools.Intents{Store: intents, Sessions: sessions, Ledger: &unrecorded{}, Brain: brain, ContextLimit: 24 << 10}}, b.engine) {
		check.OK(t, b.engine.AddTool(tool))
		spec := tool.Spec()
		check.OK(t, b.answers.Add(spec.Name, spec.InputSchema(), spec.OutputSchema(), spec.ResultSchema()))
	}
	_, handle, err := sessions.Select(t.Context(), session.Caller{Connection: "c"}, "", "INT-005", "")
	check.OK(t, err)
	b.session = handle
	return b
}

// patched is newBench with the arguments of apply_patch for a patch of lines.
func patched(t *testing.T, files map[string]string) (*bench, func(lines ...string) args) {
	t.Helper()
	return newBench(t, files), func(lines ...string) args { return args{"patch": patch(lines...)} }
}

func patch(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

// unrecorded is a ledger that takes everything and keeps nothing.
type unrecorded struct{ records int }

func (*unrecorded) Settle(context.Context) error   { return nil }
func (*unrecorded) Writable(context.Context) error { return nil }
func (*unrecorded) Query(context.Context, record.Filter) (ledger.Result, error) {
	return ledger.Result{}, nil
}

// Recent has read only the last of what was done under INT-OLD.
func (u *unrecorded) Recent(_ context.Context, f record.Filter) (ledger.Result, bool, error) {
	return ledger.Result{}, f.IntentID != "INT-OLD", nil
}
func (*unrecorded) Refused(*hooks.Call, string, *refusal.Refusal) {}
func (u *unrecorded) Begin(context.Context, *hooks.Call, *hooks.Pending) (hooks.Inflight, error) {
	return inflight{u}, nil
}
func (u *unrecorded) Record(context.Context, *hooks.Call, *hooks.Outcome) (string, error) {
	u.records++
	return fmt.Sprint("record ", u.records), nil
}

type inflight struct{ *unrecorded }

func (i inflight) Record(ctx context.Context, o *hooks.Outcome) (string, error) {
	return i.unrecorded.Record(ctx, nil, o)
}
func (inflight) Done()                         {}
func (inflight) Abort(back func() error) error { return back() }

type reply struct {
	t      testing.TB
	Text   string
	Image  []byte
	Error  bool
	Object map[string]any
}

func (r reply) str(key string) string {
	r.t.Helper()
	s, ok := r.Object[key].(string)
	check.Must(r.t, ok, "no text %q in %v", key, r.Object)
	return s
}

func (r reply) details() map[string]any {
	d, _ := r.Object["details"].(map[string]any)
	return d
}

// call makes a call on the connection of the session, and holds its answer to what its tool promises.
func (b *bench) call(tool string, arguments args) reply {
	b.t.Helper()
	raw := check.Value(json.Marshal(arguments))(b.t)
	result := b.engine.Do(b.t.Context(), hooks.Request{Tool: tool, Caller: session.Caller{Connection: "c"}, Arguments: hooks.ReadArguments(raw)})
	r := reply{t: b.t, Text: result.Text, Error: result.IsError}
	for _, image := range result.Content {
		r.Image = image.Data
	}
	check.OK(b.t, json.Unmarshal(result.Structured, &r.Object))
	for _, fault := range b.answers.Faults(tool, result.Structured, result.IsError) {
		b.t.Errorf("%s: %s", tool, fault)
	}
	return r
}

func (b *bench) ok(tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	check.Must(b.t, !r.Error, "%s %v was refused: %s", tool, arguments, r.Text)
	return r
}

func (b *bench) refused(code, tool string, arguments args) reply {
	b.t.Helper()
	r := b.call(tool, arguments)
	check.Must(b.t, r.Error && r.Object["error_type"] == code, "%s %v: want %s, got error=%v %s", tool, arguments, code, r.Error, r.Text)
	return r
}

func (b *bench) read(name string) string {
	b.t.Helper()
	return string(check.Value(os.ReadFile(filepath.Join(b.dir, name)))(b.t))
}

// holds demands the content of files; "" is a file that is not there.
func (b *bench) holds(files map[string]string) {
	b.t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(b.dir, name))
		check.That(b.t, (want != "" || err != nil) && (want == "" || string(got) == want), "%s is %q, want %q", name, got, want)
	}
}
