package native_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/native"
)

// idOf is the id of the job in a line that the client is to run.
func idOf(t *testing.T, line string) string {
	t.Helper()
	_, rest, found := strings.Cut(line, " exec ")
	check.Must(t, found, "no exec in %q", line)
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// job plays exec: it claims the job of a line, and says that it begins.
func (w *world) job(line, id string) *hookdoor.Caller {
	w.t.Helper()
	_, lock, err := native.ClaimJob(w.dir, id, line, w.dir, time.Now())
	check.Must(w.t, err == nil, "%v", err)
	w.t.Cleanup(func() { _ = lock.Close() })
	conn := check.Value(hookdoor.Find(os.Getenv).Dial(w.dir))(w.t)
	w.t.Cleanup(func() { _ = conn.Close() })
	reply := check.Value(conn.Ask(hookdoor.Request{Op: "begins", Job: id}))(w.t)
	check.Must(w.t, reply.OK, "the server does not let it begin")
	return conn
}

// commands are the commands on record.
func (w *world) commands() []record.Entry { return w.records("", record.KindCommand) }

// A job is one line in one directory, once.
func TestJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	const line = "touch src/made.txt"
	a := w.pre("Bash", args{"command": line, "description": "x"})
	id := idOf(t, a.command)
	for what, try := range map[string][3]string{
		"a made-up id": {"aaaa", line, w.dir}, "another line": {id, "touch src/other.txt", w.dir}, "another directory": {id, line, w.at("src")},
	} {
		_, _, err := native.ClaimJob(w.dir, try[0], try[1], try[2], time.Now())
		check.That(t, errors.Is(err, native.ErrJob), "%s: %v", what, err)
	}
	b := w.pre("Bash", args{"command": line, "description": "x"})
	id = idOf(t, b.command)
	_, _, err := native.ClaimJob(w.dir, id, line, w.dir, time.Now().Add(2*native.JobLife))
	check.That(t, errors.Is(err, native.ErrJob), "expired: %v", err)
	c := w.pre("Bash", args{"command": line, "description": "x"})
	id = idOf(t, c.command)
	conn := w.job(line, id)
	_, _, err = native.ClaimJob(w.dir, id, line, w.dir, time.Now())
	check.That(t, errors.Is(err, native.ErrJob), "used: %v", err)
	w.write("src/made.txt", "")
	code := 3
	check.OK(t, conn.Tell(hookdoor.Request{Op: "ended", Job: id, ExitCode: &code}))
	w.post(c, args{"stdout": "", "stderr": "", "interrupted": false, "isImage": false})
	w.idle()
	got := w.commands()
	check.Must(t, len(got) == 1 && got[0].Command.ExitCode == 3 && got[0].Command.Command == line, "%+v", got)
	check.Equal(t, fmt.Sprint(len(got[0].Changes), got[0].Changes[0].Path), "1src/made.txt")
}

// A command that the client runs in the background is recorded when it ends, whatever the client says before.
func TestBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	const line = "make watch"
	a := w.pre("Bash", args{"command": line, "run_in_background": true, "description": "x"})
	id := idOf(t, a.command)
	conn := w.job(line, id)
	w.post(a, args{"stdout": "", "stderr": "", "interrupted": false, "isImage": false, "backgroundTaskId": "b1"})
	w.idle()
	check.Equal(t, len(w.commands()), 0, "records of a command that runs")
	w.write("src/watched.txt", "x\n")
	check.OK(t, conn.Close()) // its process was killed
	w.end()
	w.start()
	got := w.commands()
	check.Must(t, len(got) == 1 && got[0].Command.ExitCode == -1 && len(got[0].Changes) == 1, "%+v", got)
}

// What is let through and never begun is no command.
func TestNotBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	a := w.pre("Bash", args{"command": "touch src/x", "description": "x"})
	id := idOf(t, a.command)
	w.idle()
	w.end()
	w.start()
	check.Equal(t, len(w.commands()), 0, "commands")
	lapsed := 0
	for _, e := range w.records("", record.KindDecision) {
		if e.Decision.Outcome == "lapsed" {
			lapsed++
		}
	}
	check.Equal(t, lapsed, 1, "records of what was not begun")
	_, _, err := native.ClaimJob(w.dir, id, "touch src/x", w.dir, time.Now())
	check.That(t, errors.Is(err, native.ErrJob), "it can still be run: %v", err)
}

// A rule of the user's that asks, where the client cannot, waits for the operator; the same line passes when it is approved.
func TestARuleWithoutAPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client, w.alone = "codex", true
	check.Write(t, os.Getenv("HOME"), ".codex/rules/native.rules", `prefix_rule(pattern=["only-here", "asked"], decision="prompt")
prefix_rule(pattern=["only-here", "denied"], decision="forbidden")
`)
	w.uses("INT-001")
	check.Equal(t, w.pre("Bash", args{"command": "only-here denied"}).code(), "COMMAND_BLOCKED")
	a := w.pre("Bash", args{"command": "true && only-here asked"})
	check.Equal(t, a.code(), "APPROVAL_REQUIRED")
	_, id, found := strings.Cut(a.reason, `approval_id: "`)
	check.Must(t, found, "no id in %q", a.reason)
	id, _, _ = strings.Cut(id, `"`)
	root := check.Value(os.OpenRoot(w.dir))(t)
	defer root.Close()
	store := approval.Open(root, approval.Options{UserDir: w.options.UserDir})
	_, _, err := store.Answer(id, approval.Answer{Decision: approval.Once, By: "op", Via: approval.Inbox})
	check.OK(t, err)
	b := w.pre("Bash", args{"command": "true && only-here asked"})
	check.That(t, b.decision == "allow" && strings.Contains(b.command, " exec "), "%+v", b)
	check.Equal(t, w.pre("Bash", args{"command": "true && only-here asked"}).code(), "APPROVAL_REQUIRED", "once more")
}
