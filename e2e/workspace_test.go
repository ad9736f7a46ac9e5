package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

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

// workspace is a governed git repository, with a home of its own for the
// programs that run on it.
type workspace struct {
	t         *testing.T
	dir, home string
}

// newWorkspace makes a workspace whose ledger is verified when the test has
// ended and every process on it is gone.
func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir(), home: t.TempDir()}
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
	if out, err := w.gitCommand(args...).CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *workspace) gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.env()
	return cmd
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) read(name string) string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// want demands a file's content.
func (w *workspace) want(name, content string) {
	w.t.Helper()
	if got := w.read(name); got != content {
		w.t.Errorf("%s is %q, want %q", name, got, content)
	}
}

func (w *workspace) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) link(to, name string) {
	w.t.Helper()
	if err := os.Symlink(to, w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// verify holds that the ledger is intact.
func (w *workspace) verify() {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer root.Close()
	report, err := ledger.Verify(context.Background(), root)
	if err != nil || len(report.Problems) > 0 {
		w.t.Errorf("the ledger does not verify: %v %+v", err, report.Problems)
	}
}

// records are the lines of the ledger that have all parts.
func (w *workspace) records(parts ...string) []string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(".orchestration/agent_trace.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
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
