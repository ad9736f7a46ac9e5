package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// client is an MCP client that we did not write. Methods are named as in the TypeScript SDK.
type client interface {
	request(method string, params any) (json.RawMessage, error)
}

type (
	args   = agenttest.Args
	answer = agenttest.Answer
)

// agent plays a model's part through a client.
type agent struct {
	agenttest.Agent
	client
}

// newAgent is one whose client itself holds the answers to the tools' schemas.
func newAgent(t *testing.T, c client) agent {
	return agent{agenttest.Agent{T: t, Send: func(tool string, arguments args) (json.RawMessage, error) {
		return c.request("callTool", args{"name": tool, "arguments": arguments})
	}}, c}
}

// on lets a subtest fail in its own name.
func (a agent) on(t *testing.T) agent { return newAgent(t, a.client) }

// get makes a request that has to succeed.
func (a agent) get(method string, params, result any) {
	a.T.Helper()
	raw, err := a.request(method, params)
	check.Must(a.T, err == nil, "%s %v: %v", method, params, err)
	if err := json.Unmarshal(raw, result); err != nil {
		a.T.Fatalf("%s: %v\n%s", method, err, raw)
	}
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

const intentsYAML = agenttest.Intents

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
	agenttest.Workspace(t, dir)
	w.write(".orchestration/.gitignore", "state/\ncache/\n")
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
	cmd := exec.Command("git", append([]string{"-c", "maintenance.auto=false"}, args...)...)
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
func (w *workspace) verify() { agenttest.Verify(w.t, w.dir, false) }

// records are the lines of the ledger that have all parts.
func (w *workspace) records(parts ...string) []string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(".orchestration/agent_trace.jsonl"))
	check.Must(w.t, err == nil || os.IsNotExist(err), "%v", err)
	return agenttest.Having(slices.Collect(strings.Lines(string(content))), parts...)
}

func (w *workspace) wantRecord(parts ...string) {
	w.t.Helper()
	if len(w.records(parts...)) == 0 {
		w.t.Errorf("no record has %q:\n%s", parts, strings.Join(w.records(), ""))
	}
}
