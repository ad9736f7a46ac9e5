package backtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "orchestra-home-")
	if err == nil {
		for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
			_ = os.Setenv(name, filepath.Join(home, "h"))
		}
		_ = os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

type args = map[string]any

// world is a workspace with a server in it, which has no sandbox, so that it is the same on every machine.
type world struct {
	t        *testing.T
	dir      string
	user     string
	settings settings.Settings
	server   *server.Server
	elicits  bool   // the client can be asked in line, and says nothing
	session  string // its handle
	decided  map[string]int
}

func newWorld(t *testing.T, change func(*settings.Settings)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), user: t.TempDir(), settings: settings.Defaults(), decided: map[string]int{}}
	agenttest.Workspace(t, w.dir)
	w.settings.Durability, w.settings.Approvals.Wait = settings.OS, 0
	w.serve(change)
	t.Cleanup(func() { check.NoError(t, w.server.Close()) })
	return w
}

// serve starts a server with other settings, in the place of the one that runs.
func (w *world) serve(change func(*settings.Settings)) {
	w.t.Helper()
	if w.server != nil {
		check.OK(w.t, w.server.Close())
	}
	if change != nil {
		change(&w.settings)
	}
	w.server = check.Value(server.New(server.Options{
		Dir: w.dir, Settings: w.settings, Logger: zerolog.Nop(), UserDir: w.user, Trusted: func(string) bool { return true },
		Ability: func() sandbox.Ability { return sandbox.Ability{Level: sandbox.None} },
	}))(w.t)
}

func (w *world) write(name, text string) { w.t.Helper(); check.Write(w.t, w.dir, name, text) }

// call makes a call, and counts what was decided about it.
func (w *world) call(tool string, a args) hooks.Result {
	w.t.Helper()
	if w.session != "" && a["session"] == nil {
		a["session"] = w.session
	}
	raw := check.Value(json.Marshal(a))(w.t)
	r := hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "test", ClientName: "test"}}
	if w.elicits {
		r.Ways.Elicit = func(context.Context, hooks.Form) (hooks.Reply, error) { return hooks.Reply{}, nil }
	}
	result := w.server.Do(w.t.Context(), r)
	code := "allowed"
	if result.Refusal != nil {
		code = string(result.Refusal.Code())
	}
	w.decided[code]++
	return result
}

// gets makes a call that has to end so.
func (w *world) gets(code, tool string, a args) hooks.Result {
	w.t.Helper()
	before := w.decided[code]
	r := w.call(tool, a)
	check.Must(w.t, w.decided[code] == before+1, "%s %v: want %s, got %s", tool, a, code, r.Text)
	return r
}

func (w *world) selects(intentID string) {
	w.t.Helper()
	w.session = ""
	var is struct{ Session string }
	check.OK(w.t, json.Unmarshal(w.gets("allowed", "select_active_intent", args{"intent_id": intentID}).Structured, &is))
	w.session = is.Session
}

// approves answers the question of a call.
func (w *world) approves(asked hooks.Result, d approval.Decision) {
	w.t.Helper()
	root := check.Value(os.OpenRoot(w.dir))(w.t)
	defer root.Close()
	id, _ := asked.Refusal.Detail("approval_id").(string)
	_, _, err := approval.Open(root, approval.Options{UserDir: w.user}).Answer(id, approval.Answer{Decision: d, By: "op", Via: approval.Inbox})
	check.OK(w.t, err)
}

// replay judges what was done by other files and settings.
func (w *world) replay(files map[string]string, change func(*settings.Settings), content bool) *backtest.Report {
	w.t.Helper()
	check.OK(w.t, w.server.Ledger().Flush(w.t.Context()))
	root := check.Value(os.OpenRoot(w.dir))(w.t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(w.t)
	defer l.Close(context.Background())
	given := map[string][]byte{}
	for name, text := range files {
		given[name] = []byte(text)
	}
	s := w.settings
	if change != nil {
		change(&s)
	}
	o := backtest.Options{
		Dir: filepath.ToSlash(w.dir), Ledger: l, Book: policies.Book{Root: root},
		Policy: &policies.Policy{Intents: intent.Open(root).TrustedBy(func(string) bool { return true }).Proposed(given), Settings: policies.Of(s)},
	}
	if content {
		var done func()
		o.Content, done = backtest.Contents(w.t.Context(), root)
		defer done()
	}
	return check.Value(backtest.Run(w.t.Context(), o))(w.t)
}

// reproduces holds that every decision comes out again, also where the cache is gone.
func (w *world) reproduces(unknown ...string) {
	w.t.Helper()
	check.OK(w.t, w.server.Ledger().Flush(w.t.Context()))
	check.OK(w.t, os.RemoveAll(filepath.Join(w.dir, ".orchestration/cache")))
	agenttest.Reproduces(w.t, w.dir, unknown...)
}

// changes are those of a report, in the words of the tests, sorted.
func changes(r *backtest.Report) (all []string) {
	for _, c := range r.Changes {
		what := c.Command + strings.Join(c.Paths, ",")
		all = append(all, fmt.Sprintf("%s %s: %s%s -> %s%s", c.Tool, what, c.Recorded.Decision, c.Recorded.ErrorType, c.Now.Decision, c.Now.ErrorType))
	}
	slices.Sort(all)
	return all
}

// kinds counts the records of a kind.
func (w *world) records(kind record.Kind) []record.Entry {
	w.t.Helper()
	found := check.Value(w.server.Ledger().Query(w.t.Context(), record.Filter{Kinds: []record.Kind{kind}}))(w.t)
	return found.Entries
}

// lines are those of the ledger, whole.
func (w *world) lines() (lines []string) {
	w.t.Helper()
	for _, e := range check.Value(w.server.Ledger().Query(w.t.Context(), record.Filter{}))(w.t).Entries {
		lines = append(lines, string(e.Raw))
	}
	return lines
}

// earlierLedger is a ledger whose records say nothing of what their calls were judged by.
func earlierLedger(t *testing.T, n int) *os.Root {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	check.OK(t, ledgertest.Write(t.Context(), root, ledgertest.Shape{Records: n}))
	return root
}

func optionsOf(t *testing.T, root *os.Root, intents string) backtest.Options {
	t.Helper()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	t.Cleanup(func() { l.Close(context.Background()) })
	return backtest.Options{
		Dir: root.Name(), Ledger: l, Book: policies.Book{Root: root},
		Policy: &policies.Policy{Intents: intent.Open(root).Proposed(map[string][]byte{intent.FilePath: []byte(intents)}), Settings: policies.Of(settings.Defaults())},
	}
}
