//go:build frozen

package frozen_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is longer than any step takes, also on a busy machine.
const patience = 2 * time.Minute

// world is what one play of a case has to itself: a workspace in a git repository, a home, and a transcript.
type world struct {
	t           *testing.T
	top         string
	bin         string            // the directory of the program that is played now
	programs    map[string]string // by who plays: old, tested
	vars        map[string]string // what keep kept
	environment []string
	transcript  bytes.Buffer
	last        string // what the last step printed
	client      *client
}

// newWorld makes a world in top, which is new. All that git hashes is the same in each.
func newWorld(t *testing.T, top, old, tested string) *world {
	t.Helper()
	w := &world{t: t, top: top, bin: tested, programs: map[string]string{"old": old, "tested": tested}, vars: map[string]string{}}
	for _, dir := range []string{"w", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if text, code := w.sh(fixture); code != 0 {
		t.Fatalf("the workspace cannot be made: %s", text)
	}
	return w
}

// fixture is the workspace that every case begins with.
const fixture = `mkdir -p .orchestration src docs old
cat > .orchestration/active_intents.yaml <<'END'
# The work of this test.
active_intents:
  - id: INT-001
    name: Build Weather API
    status: IN_PROGRESS
    description: Serve the <weather> & more.
    owned_scope: ["src/**"]
    constraints: ["Use plain text"]
    acceptance_criteria: ["It reads well"]
    started_at: 2026-02-18T18:30:00Z
  - {id: INT-002, name: Write docs, status: TODO, owned_scope: ["docs/**"]}
  - {id: INT-003, name: Finished, status: DONE, owned_scope: ["old/**"]}
  - {id: INT-004, name: Stuck, status: BLOCKED, owned_scope: ["stuck/**"]}
  - {id: INT-005, name: Everything, status: IN_PROGRESS, owned_scope: ["**"], started_at: 2026-02-18T18:30:00Z}
  - id: INT-006
    name: With rules
    status: IN_PROGRESS
    owned_scope: ["src/**", "verified/**"]
    started_at: 2026-02-18T18:30:00Z
    commands: {deny: ["rm"], ask: ["touch"]}
    rules: [{name: no-eval, when: 'effect.after.contains("eval(")', action: refuse, message: No eval here.}]
    verify: ["test -f verified/done.txt"]
END
printf 'one\ntwo\nthree\n' > src/a.txt
printf 'alpha\nbeta\n\tgamma\nbeta\n' > src/b.txt
printf '# Other\n' > docs/other.md
printf 'past\n' > old/past.txt
git init -q --template= -b main
git config user.name tester
git config user.email tester@example.org
git add .
git commit -qm start`

// env is the environment of all that runs in the world.
func (w *world) env() []string {
	home := filepath.Join(w.top, "home")
	env := []string{
		"PATH=" + w.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(w.top, "tmp"), "TOP=" + w.top, "USER=tester",
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local/state"), "XDG_DATA_HOME=" + filepath.Join(home, ".local/share"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2026-03-01T12:00:00Z", "GIT_COMMITTER_DATE=2026-03-01T12:00:00Z",
		"TZ=UTC", "LC_ALL=C.UTF-8", "ORCHESTRA_APPROVALS_WAIT=0s",
	}
	for name, value := range w.vars {
		env = append(env, name+"="+value)
	}
	return append(env, w.environment...)
}

// command is a program that runs in the workspace.
func (w *world) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = filepath.Join(w.top, "w"), w.env()
	return cmd
}

// sh runs lines of a shell, and is what they print and how they end.
func (w *world) sh(lines string) (text string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, err bytes.Buffer
	cmd := w.command(ctx, "sh", "-c", lines)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &err, time.Second
	var exit *exec.ExitError
	if e := cmd.Run(); e != nil && !errors.As(e, &exit) {
		w.t.Errorf("%s: %v", lines, e)
	}
	text = quoted("", out.String())
	if err.Len() > 0 {
		text += quoted("stderr: ", err.String())
	}
	return text, cmd.ProcessState.ExitCode()
}

// quoted is a text of lines, with a mark where the last one has no end.
func quoted(before, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(before + strings.TrimSuffix(line, "\n") + "\n")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteString("\\ no newline\n")
	}
	return b.String()
}

// say adds to the transcript.
func (w *world) say(format string, args ...any) { fmt.Fprintf(&w.transcript, format, args...) }
