package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// client is an MCP client that we did not write. Methods are named as in the TypeScript SDK.
type client interface {
	request(method string, params any) (json.RawMessage, error)
}

type args map[string]any

// agent plays a model's part through a client.
type agent struct {
	t *testing.T
	client
}

// on lets a subtest fail in its own name.
func (a agent) on(t *testing.T) agent { return agent{t, a.client} }

// answer is a tool's result.
type answer struct {
	t       *testing.T
	IsError bool           `json:"isError"`
	Fields  map[string]any `json:"structuredContent"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// get makes a request that has to succeed.
func (a agent) get(method string, params, result any) {
	a.t.Helper()
	raw, err := a.request(method, params)
	check.Must(a.t, err == nil, "%s %v: %v", method, params, err)
	if err := json.Unmarshal(raw, result); err != nil {
		a.t.Fatalf("%s: %v\n%s", method, err, raw)
	}
}

// call calls a tool. The client itself holds the answer to the tool's schema.
func (a agent) call(tool string, arguments args) answer {
	a.t.Helper()
	r := answer{t: a.t}
	a.get("callTool", args{"name": tool, "arguments": arguments}, &r)
	check.Must(a.t, len(r.Content) != 0 && r.Content[0].Text != "" && r.Fields != nil,
		"%s: an answer needs text and structured content: %+v", tool, r)
	return r
}

// ok demands success.
func (a agent) ok(tool string, arguments args) answer {
	a.t.Helper()
	r := a.call(tool, arguments)
	check.Must(a.t, !r.IsError, "%s %v was refused: %s", tool, arguments, r.text())
	return r
}

// refused demands a refusal, which is the same object in text and structure.
func (a agent) refused(code, tool string, arguments args) answer {
	a.t.Helper()
	r := a.call(tool, arguments)
	check.Must(a.t, r.IsError && r.Fields["error_type"] == code, "%s %v: want %s, got isError=%v %s", tool, arguments, code, r.IsError, r.text())
	var text map[string]any
	err := json.Unmarshal([]byte(r.text()), &text)
	check.That(a.t, err == nil && reflect.DeepEqual(text, r.Fields), "%s: text and structured content differ:\n%s\n%v", tool, r.text(), r.Fields)
	for _, key := range []string{"error", "action_hint", "suggestion", "classification"} {
		s, _ := r.Fields[key].(string)
		check.That(a.t, s != "", "%s: the refusal has no %s: %s", tool, key, r.text())
	}
	return r
}

// selects selects an intent and returns the handle.
func (a agent) selects(intent string) string {
	a.t.Helper()
	return a.ok("select_active_intent", args{"intent_id": intent}).str("session")
}

func (r answer) text() string {
	if len(r.Content) == 0 { // there was no answer
		return ""
	}
	return r.Content[0].Text
}

func (r answer) str(key string) string {
	r.t.Helper()
	s, ok := r.Fields[key].(string)
	check.Must(r.t, ok, "no text %q in %v", key, r.Fields)
	return s
}

func (r answer) details() map[string]any {
	details, _ := r.Fields["details"].(map[string]any)
	return details
}

// user is the person at a client: it is shown a form, and says what it does with it. ctx is done when nobody waits for
// the form any more. It may be called concurrently.
type user func(ctx context.Context, f form) reply

// form is what a server wants to have filled in.
type form struct {
	message string
	schema  json.RawMessage
}

// reply is what a user does with a form.
type reply struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
	// fails has the client itself fail.
	fails string
}

func accepts(content args) reply { return reply{Action: "accept", Content: content} }

// never leaves every form open until it is taken back; each is sent to shown.
func never(shown chan<- form) user {
	return func(ctx context.Context, f form) reply {
		shown <- f
		<-ctx.Done()
		return reply{Action: "cancel"}
	}
}

// onceTold shows each form to who holds the channels, and does what is said.
func onceTold(shown chan<- form, told <-chan reply) user {
	return func(ctx context.Context, f form) reply {
		shown <- f
		select {
		case r := <-told:
			return r
		case <-ctx.Done():
			return reply{Action: "cancel"}
		}
	}
}

const intentsYAML = `# The work of this test.
active_intents:
  - id: INT-001
    name: Build Weather API
    status: IN_PROGRESS
    description: Serve the weather.
    owned_scope: ["src/**"]
    constraints: ["Use TypeScript"]
  - id: INT-002
    name: Write docs
    status: TODO
    owned_scope: ["docs/**"]
  - id: INT-003
    name: Finished
    status: DONE
    owned_scope: ["old/**"]
  - id: INT-004
    name: Stuck
    status: BLOCKED
    owned_scope: ["stuck/**"]
  - id: INT-005
    name: Everything
    status: IN_PROGRESS
    owned_scope: ["**"]
`

// workspace is a governed git repository, with a home of its own for the programs that run on it.
type workspace struct {
	t         *testing.T
	dir, home string
}

// newWorkspace makes a workspace whose ledger is verified when the test has ended and every process on it is gone.
func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	return newWorkspaceAt(t, t.TempDir())
}

func newWorkspaceAt(t *testing.T, dir string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: dir, home: t.TempDir()}
	t.Cleanup(w.verify)
	w.write(".orchestration/active_intents.yaml", intentsYAML)
	w.write(".orchestration/.gitignore", "state/\ncache/\n")
	w.write("src/a.txt", "one\ntwo\nthree\n")
	w.write("docs/other.md", "# Other\n")
	w.git("init", "-q")
	w.git("add", ".")
	w.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	return w
}

// env is the environment of a program that runs on the workspace.
func (w *workspace) env(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "TMPDIR=" + w.home,
		"XDG_CONFIG_HOME=" + filepath.Join(w.home, "config"), "XDG_CACHE_HOME=" + filepath.Join(w.home, "cache"),
		"GIT_CONFIG_NOSYSTEM=1", "ORCHESTRA_APPROVALS_WAIT=0s", // nobody answers, unless a test does
		"GORACE=atexit_sleep_ms=0", // else each program sleeps a second at its end under -race
	}, extra...)
}

func (w *workspace) git(args ...string) {
	w.t.Helper()
	out, err := w.gitCommand(args...).CombinedOutput()
	check.Must(w.t, err == nil, "git %v: %v\n%s", args, err, out)
}

func (w *workspace) gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.env()
	return cmd
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) write(name, content string) {
	w.t.Helper()
	check.OK(w.t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	check.OK(w.t, os.WriteFile(w.path(name), []byte(content), 0o644))
}

func (w *workspace) read(name string) string {
	w.t.Helper()
	content := check.Value(os.ReadFile(w.path(name)))(w.t)
	return string(content)
}

// want demands a file's content.
func (w *workspace) want(name, content string) {
	w.t.Helper()
	check.Equal(w.t, w.read(name), content, "%s is", name)
}

func (w *workspace) remove(name string) {
	w.t.Helper()
	check.OK(w.t, os.RemoveAll(w.path(name)))
}

func (w *workspace) link(to, name string) {
	w.t.Helper()
	check.OK(w.t, os.Symlink(to, w.path(name)))
}

// verify holds that the ledger is intact.
func (w *workspace) verify() {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer root.Close()
	report, err := verify.Verify(context.Background(), root)
	check.That(w.t, err == nil && len(report.Problems) == 0, "the ledger does not verify: %v %+v", err, report.Problems)
}

// records are the lines of the ledger that have all parts.
func (w *workspace) records(parts ...string) []string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(".orchestration/agent_trace.jsonl"))
	check.Must(w.t, err == nil || os.IsNotExist(err), "%v", err)
	var found []string
	for line := range strings.Lines(string(content)) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			found = append(found, line)
		}
	}
	return found
}

func (w *workspace) wantRecord(parts ...string) {
	w.t.Helper()
	if len(w.records(parts...)) == 0 {
		w.t.Errorf("no record has %q:\n%s", parts, strings.Join(w.records(), ""))
	}
}
