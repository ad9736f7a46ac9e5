//go:build unix

package server_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/brain"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func withChecks(lessons settings.Lessons, list ...settings.Check) func(*server.Options) {
	return func(o *server.Options) { o.Settings.Checks, o.Settings.Lessons = list, lessons }
}

func (b *bench) lessons() []brain.Entry {
	content, _ := os.ReadFile(filepath.Join(b.dir, ".orchestration", "AGENT.md"))
	return brain.Parse(string(content))
}

func TestChecks(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	const find = `if grep -n TODO $CHANGED_FILES; then exit 1; fi`
	b := start(t, dir, withChecks(settings.Lessons{FailedChecks: true},
		settings.Check{Paths: "src/**/*.{go,txt}", Command: "echo $CHANGED_FILES >> '" + log + "'; " + find},
		settings.Check{Paths: "docs", Command: "exit 9"},
	)).connect()
	s := b.Selects("INT-005")
	check.Equal(t, warnings(b.OK("write_to_file", args{"path": "src/b.txt", "content": "fine\n", "session": s})), "")
	r := b.OK("write_to_file", args{"path": "src/c.txt", "content": "one\nTODO\n", "session": s})
	w := warnings(r)
	check.That(t, strings.Contains(w, "finds problems (exit code 1):\n2:TODO") && r.Str("record_id") != "", "%v", r.Object)
	all := b.lessons()
	if len(all) != 1 || all[0].Path != "src/c.txt" || all[0].Category != brain.FailedCheck || !strings.Contains(all[0].Text, "2:TODO") || all[0].Intent != "INT-005" {
		t.Errorf("%+v", all)
	}
	b.wantRecord(`"lifecycle"`, "failed check")
	// The same problem on another line is known.
	b.OK("write_to_file", args{"path": "src/c.txt", "content": "one\n\n\n\nTODO\n", "session": s})
	// Once for a call, whatever the number of files; reads, unchanged files and other paths start nothing.
	b.OK("apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Add File: src/x.txt\n+1\n*** Add File: src/y.txt\n+1\n*** Add File: other.txt\n+1\n*** End Patch\n"})
	b.OK("read_file", args{"path": "src/x.txt", "session": s})
	b.OK("write_to_file", args{"path": "src/x.txt", "content": "1\n", "session": s})
	said, _ := os.ReadFile(log)
	check.That(t, string(said) == "src/b.txt\nsrc/c.txt\nsrc/c.txt\nsrc/x.txt src/y.txt\n", "%s", said)
	check.Equal(t, len(b.lessons()), 1, "%+v", b.lessons())
	if w := warnings(b.OK("write_to_file", args{"path": "docs/n.md", "content": "x\n", "session": s})); !strings.Contains(w, "exit code 9):\nit printed nothing") {
		t.Errorf("%s", w)
	}
}

// What a check does wrong is its own matter, and bounded.
func TestHostileChecks(t *testing.T) {
	for command, want := range map[string]string{
		"yes problem | head -c 50000000; exit 1":         "lines more]",
		"head -c 9000000 /dev/zero | tr '\\0' x; exit 1": "xxx",
		"sleep 1000":                         "did not end within",
		"sleep 1000 & exit 3":                "exit code 3",
		`printf '\033[2Jred\n'; exit 1`:      "red",
		"echo formatted >> src/n.txt":        "src/n.txt was changed again behind the call",
		"test -z \"$CHECK_TOKEN\" || exit 5": "",
	} {
		t.Setenv("CHECK_TOKEN", "secret")
		b := start(t, newWorkspace(t), withChecks(settings.Lessons{}, settings.Check{Paths: "**", Command: command}), func(o *server.Options) {
			o.Settings.Commands.Timeout = 20 * time.Second
			if command == "sleep 1000" {
				o.Settings.Commands.Timeout = 100 * time.Millisecond
			}
		}).connect()
		r := b.OK("write_to_file", args{"path": "src/n.txt", "content": "x\n", "session": b.Selects("INT-001")})
		w := warnings(r)
		check.That(t, strings.Contains(w, want) && (want != "" || w == "") && len(w) <= 6000 && !strings.Contains(w, "\x1b"),
			"%s: %.500s", command, w)
		check.Equal(t, len(b.lessons()), 0, "noted although the settings say not to")
		b.hangUp()
	}
}

func TestLessonsOfCommandsAndRefusals(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), withChecks(settings.Lessons{FailedCommands: true, RefusedCalls: true})).under("INT-001")
	b.OK("execute_command", args{"command": "echo why; exit 3", "session": s})
	b.OK("execute_command", args{"command": "true", "session": s})
	for range 3 { // said three times, known after the first
		b.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/x.md", "content": "x", "session": s})
	}
	b.Refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "x", "session": s})
	b.Refused("FILE_NOT_FOUND", "read_file", args{"path": "src/none.txt", "session": s})
	all := b.lessons()
	if len(all) != 2 || all[0].Category != brain.FailedCommand || !strings.Contains(all[0].Text, `"echo why; exit 3" fails with exit code 3`) ||
		all[1].Category != brain.RefusedCall || all[1].Path != "docs/x.md" || !strings.Contains(all[1].Text, "SCOPE_VIOLATION") {
		t.Errorf("%+v", all)
	}
	b.Refused("INVALID_ARGUMENTS", "record_lesson", args{"lesson": "x", "category": "failed check"})
}

// An agent that fails all the time does not fill the brain.
func TestLessonsAreRationed(t *testing.T) {
	t.Parallel()
	now := clockFrom(time.Date(2026, 2, 18, 0, 0, 0, 0, time.UTC))
	b, s := start(t, newWorkspace(t), withChecks(settings.Lessons{FailedCommands: true}), now.set, withoutSandbox).under("INT-001")
	fail := func(hour int) {
		for i := range 21 {
			b.OK("execute_command", args{"command": strings.Repeat("x", i+1) + string(rune('a'+hour)), "session": s})
		}
	}
	fail(0)
	check.Equal(t, len(b.lessons()), 20)
	now.forward(time.Hour)
	fail(1)
	check.Equal(t, len(b.lessons()), 40)
	// The whole is bounded too.
	text := ""
	for i := range brain.MaxAutomatic {
		text += fmt.Sprintf("## Lesson Learned (2026-01-01)\n**Category:** failed command\n- %s\n\n", strings.Repeat("y", i+1))
	}
	check.Write(t, b.dir, ".orchestration/AGENT.md", text)
	now.forward(time.Hour)
	b.OK("execute_command", args{"command": "exit 7", "session": s})
	check.Equal(t, b.read(".orchestration/AGENT.md"), text, "more than there may be")
	b.OK("record_lesson", args{"session": s, "lesson": "Agents can still write."})
}

// A program that hangs ends with its client: nothing waits for it, and nothing of it is left.
func TestProgramsEndWithTheClient(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*settings.Settings, string){
		"pre-hook":  func(s *settings.Settings, line string) { s.Hooks = []settings.Hook{pre(line, "Write")} },
		"post-hook": func(s *settings.Settings, line string) { s.Hooks = []settings.Hook{post(line, "Write")} },
		"check":     func(s *settings.Settings, line string) { s.Checks = []settings.Check{{Paths: "**", Command: line}} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			alive := filepath.Join(t.TempDir(), "alive")
			b := start(t, dir, func(o *server.Options) {
				set(&o.Settings, "mkfifo '"+alive+"'; exec sleep 1000 > '"+alive+"'")
			})
			t.Cleanup(b.close)
			in, client := io.Pipe()
			done := make(chan error, 1)
			go func() { done <- b.server.ServeStdio(t.Context(), in, io.Discard) }()
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"select_active_intent","arguments":{"intent_id":"INT-001"}}}`,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"src/n.txt","content":"x"}}}`,
			} {
				check.Value(io.WriteString(client, line+"\n"))(t)
			}
			var reader *os.File
			for reader == nil { // the other end opens when the program runs
				if _, err := os.Stat(alive); err == nil {
					reader, _ = os.Open(alive)
				}
				time.Sleep(time.Millisecond)
			}
			defer reader.Close()
			client.Close()
			select {
			case err := <-done:
				check.NoError(t, err)
			case <-time.After(answerTime):
				t.Fatal("the server did not end with its input")
			}
			if n, err := reader.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%d %v", n, err) // the end of the file says that the program is gone
			}
			check.Equal(t, b.exists("src/n.txt"), (name != "pre-hook"), "written")
		})
	}
}

// takeAway is a command that sets the ledger aside.
func takeAway(dir string) string {
	file := ledgertest.File(dir)
	return "cp " + file + " src/aside; rm " + file
}

// TestRecordsThatACommandTakesAway: the result and the record say so, nothing
// is changed until they are back, and then all is well.
func TestRecordsThatACommandTakesAway(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]func(dir string) string{
		"the file": takeAway,
		"its place": func(dir string) string {
			return "cp " + ledgertest.File(dir) + " src/aside; mv .git/orchestra src/moved"
		},
		"a copy in its place": func(dir string) string {
			return "cp " + ledgertest.File(dir) + " src/aside; cp -R .git/orchestra src/copy; mv .git/orchestra src/moved; mv src/copy .git/orchestra; cp /dev/null " + ledgertest.File(dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			b, s := start(t, dir, withoutSandbox).under("INT-001")
			b.recordsTakenAway(s, line(dir))
		})
	}
}

func (b *bench) recordsTakenAway(s, line string) {
	t := b.t
	t.Helper()
	b.gapsMeant = true
	r := b.Call("execute_command", args{"session": s, "command": line})
	check.Must(t, r.Object["error_type"] == "COMMAND_OUT_OF_SCOPE" && strings.Contains(r.Text, "no longer has the record"), "%s", r.Text)
	e := b.lastRecord(record.KindCommand)
	check.That(t, slices.ContainsFunc(e.Violations, func(v record.Violation) bool { return v.Kind == "ledger" }), "violations %+v", e.Violations)
	write := args{"session": s, "path": "src/new.txt", "content": "x\n"}
	if r := b.Call("write_to_file", write); r.Object["error_type"] != "LEDGER_UNAVAILABLE" || !strings.Contains(r.Text, "ledger restore") {
		t.Errorf("afterwards: %s", r.Text)
	}
	if r := b.Call("execute_command", args{"session": s, "command": "true"}); r.Object["error_type"] != "LEDGER_UNAVAILABLE" {
		t.Errorf("afterwards: %s", r.Text)
	}
	problems := b.problems()
	check.That(t, len(problems) != 0 && problems[0].Kind == ledger.ProblemMissing, "verify: %+v", problems)
	b.restoreLedger()
	b.OK("write_to_file", write)
	if problems := b.problems(); len(problems) > 0 {
		t.Errorf("verify: %+v", problems)
	}
}

// TestTheLinkToTheLedgerIsMadeAgain: a command that removes or replaces what leads to the ledger takes nothing away.
func TestTheLinkToTheLedgerIsMadeAgain(t *testing.T) {
	t.Parallel()
	const link = ".orchestration/agent_trace.jsonl"
	dir := newWorkspace(t)
	b, s := start(t, dir, withoutSandbox).under("INT-001")
	for _, line := range []string{"rm " + link, "rm " + link + "; mkdir src/d; ln -s ../src/d " + link} {
		b.OK("execute_command", args{"session": s, "command": line})
		b.OK("execute_command", args{"session": s, "command": "true"})
		e := b.lastRecord(record.KindCommand)
		check.That(t, len(e.Violations) == 0, "%s: violations %+v", line, e.Violations)
		there, err := os.ReadFile(filepath.Join(dir, link))
		check.That(t, err == nil && string(there) == strings.Join(fileLines(t, dir), "\n")+"\n", "%s: the link leads to %q, %v", line, there, err)
	}
	check.Equal(t, len(b.ledgerLines()), 5)
}

// TestRecordsThatACommandTakesAwayDegraded: changes go on, and the chain still misses what is gone.
func TestRecordsThatACommandTakesAwayDegraded(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir, withoutSandbox, degraded).under("INT-001")
	b.Call("execute_command", args{"session": s, "command": takeAway(dir)})
	b.OK("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"})
	problems := b.problems()
	check.That(t, len(problems) == 1 && problems[0].Kind == ledger.ProblemMissing, "verify: %+v", problems)
	b.restoreLedger()
}

// TestASwitchTakesNoRecordsAway: another branch has another ledger, and the records of the first are safe on it.
func TestASwitchTakesNoRecordsAway(t *testing.T) {
	dir := newWorkspace(t)
	for _, name := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		t.Setenv(name+"_NAME", "a")
		t.Setenv(name+"_EMAIL", "a@example.org")
	}
	git := func(arguments ...string) { t.Helper(); check.Git(t, dir, arguments...) }
	check.Write(t, dir, ".orchestration/.gitignore", "state/\ncache/\n")
	git("checkout", "-q", "-b", "first")
	git("add", ".")
	git("commit", "-qm", "one")
	b, s := start(t, dir, withoutSandbox, inTree).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "command": "git add -A && git commit -qm two && touch src/other && git switch -q -c older HEAD~1"})
	said := map[string]bool{}
	changes, _ := r.Object["git_changes"].([]any)
	for _, c := range changes {
		said[c.(map[string]any)["path"].(string)] = true
	}
	check.That(t, said[".git/HEAD"] && said[".git/refs/heads/first"] && said[".git/refs/heads/older"], "git_changes: %v", r.Object["git_changes"])
	e := b.lastRecord(record.KindCommand)
	check.That(t, len(e.Violations) == 0 && e.Detail["git"] != nil, "violations %+v, detail %v", e.Violations, e.Detail)
	b.OK("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"})
	// The same without git in the line, and without a commit that has them: lost.
	r = b.Call("execute_command", args{"session": s, "command": "cp .orchestration/agent_trace.jsonl src/aside; sh -c 'git stash -q; git stash drop -q; rm -f .orchestration/agent_trace.jsonl'"})
	check.That(t, strings.Contains(r.Text, "no longer has the record"), "%s", r.Text)
	b.restoreLedger()
}

// restoreLedger puts back what the command has set aside, before what came since.
func (b *bench) restoreLedger() {
	b.t.Helper()
	var lines []byte
	trace := ledgertest.File(b.dir)
	for _, name := range []string{filepath.Join(b.dir, "src/aside"), trace} {
		content := check.Value(os.ReadFile(name))(b.t)
		lines = append(lines, content...)
	}
	check.OK(b.t, os.WriteFile(trace, lines, 0o644))
}
