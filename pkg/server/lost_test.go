//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

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
	r := b.call("execute_command", args{"session": s, "command": line})
	check.Must(t, r.Object["error_type"] == "COMMAND_OUT_OF_SCOPE" && strings.Contains(r.Text, "no longer has the record"), "%s", r.Text)
	e := b.lastRecord(record.KindCommand)
	check.That(t, slices.ContainsFunc(e.Violations, func(v record.Violation) bool { return v.Kind == "ledger" }), "violations %+v", e.Violations)
	write := args{"session": s, "path": "src/new.txt", "content": "x\n"}
	if r := b.call("write_to_file", write); r.Object["error_type"] != "LEDGER_UNAVAILABLE" || !strings.Contains(r.Text, "ledger restore") {
		t.Errorf("afterwards: %s", r.Text)
	}
	if r := b.call("execute_command", args{"session": s, "command": "true"}); r.Object["error_type"] != "LEDGER_UNAVAILABLE" {
		t.Errorf("afterwards: %s", r.Text)
	}
	problems := b.problems()
	check.That(t, len(problems) != 0 && problems[0].Kind == ledger.ProblemMissing, "verify: %+v", problems)
	b.restoreLedger()
	b.ok("write_to_file", write)
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
		b.ok("execute_command", args{"session": s, "command": line})
		b.ok("execute_command", args{"session": s, "command": "true"})
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
	b.call("execute_command", args{"session": s, "command": takeAway(dir)})
	b.ok("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"})
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
	r := b.ok("execute_command", args{"session": s, "command": "git add -A && git commit -qm two && touch src/other && git switch -q -c older HEAD~1"})
	said := map[string]bool{}
	changes, _ := r.Object["git_changes"].([]any)
	for _, c := range changes {
		said[c.(map[string]any)["path"].(string)] = true
	}
	check.That(t, said[".git/HEAD"] && said[".git/refs/heads/first"] && said[".git/refs/heads/older"], "git_changes: %v", r.Object["git_changes"])
	e := b.lastRecord(record.KindCommand)
	check.That(t, len(e.Violations) == 0 && e.Detail["git"] != nil, "violations %+v, detail %v", e.Violations, e.Detail)
	b.ok("write_to_file", args{"session": s, "path": "src/new.txt", "content": "x\n"})
	// The same without git in the line, and without a commit that has them: lost.
	r = b.call("execute_command", args{"session": s, "command": "cp .orchestration/agent_trace.jsonl src/aside; sh -c 'git stash -q; git stash drop -q; rm -f .orchestration/agent_trace.jsonl'"})
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
