package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// An agent in a linked work tree commits, changes branches and rebases there as
// in a plain clone; the work tree that it belongs to keeps its own.
func TestGitInALinkedWorkTree(t *testing.T) {
	t.Parallel()
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	dir := newWorkspace(t)
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	check.Git(t, dir, "add", "-A")
	check.Git(t, dir, "commit", "-qm", "one")
	tree := filepath.Join(t.TempDir(), "tree")
	check.Git(t, dir, "worktree", "add", "-q", "-b", "work", tree)
	was := check.Git(t, dir, "rev-parse", "HEAD") + check.Git(t, dir, "status", "--short", "--branch")
	b, s := start(t, tree).under("INT-001")
	r := b.ok("execute_command", args{"session": s, "command": "echo new > src/new.txt && git add src && git commit -qm two && " +
		"git switch -qc topic HEAD~1 && echo t > src/t.txt && git add src && git commit -qm three && git rebase -q work && git branch -D work && git log --format=%s"})
	code := r.Object["exit_code"]
	check.Must(t, code == float64(0) && strings.Contains(r.Text, "three\ntwo\none"), "%v\n%s", code, r.Text)
	said := map[string]string{}
	for _, c := range r.Object["git_changes"].([]any) {
		change := c.(map[string]any)
		said[change["path"].(string)], _ = change["after"].(string)
	}
	tip := strings.TrimSpace(check.Git(t, tree, "rev-parse", "HEAD"))
	if said[".git/HEAD"] != "ref: refs/heads/topic" || said[".git/refs/heads/topic"] != tip || said[".git/index"] == "" || said[".git/refs/heads/main"] != "" {
		t.Errorf("git_changes: %v", said)
	}
	e := b.lastRecord(record.KindCommand)
	check.That(t, e.Detail["git"] != nil, "the record has %v", e.Detail)
	if r := b.ok("execute_command", args{"session": s, "command": "git config core.hooksPath src"}); r.Object["exit_code"] == float64(0) {
		t.Errorf("the configuration was written\n%s", r.Text)
	}
	is := check.Git(t, dir, "rev-parse", "HEAD") + check.Git(t, dir, "status", "--short", "--branch")
	check.That(t, is == was, "the other work tree was %q and is %q", was, is)
	for _, line := range b.ledgerLines() {
		check.That(t, !strings.Contains(line, "violation"), "a commit is a violation: %s", line)
	}
	// A merge of the other work tree that nobody began there is found.
	r = b.refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": `git rev-parse HEAD > "$(git rev-parse --git-common-dir)/MERGE_HEAD"`})
	check.That(t, strings.Contains(r.Text, "MERGE_HEAD") && strings.Contains(r.Text, "nobody began there"), "%s", r.Text)
	b.verify()
}

// Where git keeps the ledger, git commands of agents stop at it: committing first does not help, and the result says what does.
func TestGitThatMeetsTheLedgerSaysWhoCanRunIt(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/.gitignore", "/state/\n/cache/\n/intent_map.md\n")
	check.Git(t, dir, "config", "user.name", "U")
	check.Git(t, dir, "config", "user.email", "u@example.org")
	b, s := start(t, dir, inTree).under("INT-001")
	run := func(line string) reply { return b.ok("execute_command", args{"session": s, "command": line}) }
	const said = "ask the user to commit .orchestration and to run this git command"
	if r := run("echo x > src/a.txt; git merge nowhere; git switch nowhere"); strings.Contains(r.Text, said) {
		t.Errorf("git failed for another reason: %s", r.Text)
	}
	for _, branch := range []string{"one", "two"} {
		run("echo " + branch + " > src/a.txt")
		check.Git(t, dir, "add", "-A")
		check.Git(t, dir, "commit", "-qm", branch)
		check.Git(t, dir, "branch", branch)
	}
	check.Git(t, dir, "switch", "-q", "one")
	if r := b.refused("PROTECTED_PATH", "execute_command", args{"session": s, "command": "git switch two"}); !strings.Contains(r.Text, "is the ledger") || !strings.Contains(r.Text, "git switch two") {
		t.Errorf("git went on without the ledger: %s", r.Text)
	}
	b.wantRecord("PROTECTED_PATH") // it is not written while git replaces the file
	check.Git(t, dir, "checkout", "-q", "-f", "two")
	check.Git(t, dir, "branch", "side", strings.TrimSpace(check.Git(t, dir, "commit-tree", "-p", "one", "-m", "side", "two^{tree}")))
	run("true") // its record is not committed
	for _, line := range []string{"git switch one", "git checkout -q one", "git rebase side", "git commit -qam three && git rebase side"} {
		r := b.call("execute_command", args{"session": s, "command": line})
		check.That(t, r.Object["exit_code"] != float64(0) && (strings.Contains(r.Text, said) || strings.Contains(r.Text, "is the ledger")),
			"%s: %s", line, r.Text)
		check.Git(t, dir, "restore", "src")
	}
	if r := b.refused("PROTECTED_PATH", "execute_command", args{"session": s, "command": "git stash"}); !strings.Contains(r.Text, "is the ledger") {
		t.Errorf("git stash: %s", r.Text)
	}
}
