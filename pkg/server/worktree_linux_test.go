package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// denialOf is the only thing that the sandbox is said to have denied, "" if there is none.
func denialOf(t *testing.T, r reply) (path, said string) {
	t.Helper()
	all, _ := r.Object["sandbox_denied"].([]any)
	if len(all) == 0 {
		return "", ""
	}
	first, _ := all[0].(map[string]any)
	path, _ = first["path"].(string)
	var parts []string
	for _, key := range []string{"operation", "intent_id", "action_hint", "reason", "suggestion"} {
		text, _ := first[key].(string)
		parts = append(parts, text)
	}
	said = strings.Join(parts, " | ")
	check.That(t, strings.Contains(r.Text, "[the sandbox denied ") && strings.Contains(r.Text, path), "the text does not say so: %s", r.Text)
	return path, said
}

// What failed because of the sandbox is told with its path, the intent and how to ask; what failed for another reason is not.
func TestWhatTheSandboxDeniedIsSaid(t *testing.T) {
	t.Parallel()
	const expand = "write | INT-001 | request_scope_expansion | it is out of the scope of INT-001 | Call request_scope_expansion with paths: "
	cases := []struct{ name, line, path, said string }{
		{"shell", "echo x > $(printf docs/other.md)", "docs/other.md", expand + `["docs/other.md"]`},
		{"new file", "touch docs/new.md", "docs/new.md", expand + `["docs/new.md"]`},
		{"in the directory of cd", "cd docs && touch new.md", "docs/new.md", expand},
		{"other directory", "mkdir -p other/deep", "other", expand + `["other"]`},
		{"temporary beside", "sed -i s/O/o/ docs/other.md", "docs/other.md", expand + `["docs/other.md"]`},
		{"python", "python3 -c \"open('docs/p.md', 'w')\"", "docs/p.md", expand},
		{"owned by another", "touch docs/new.md", "docs/new.md", "Or select INT-"},
		{"git", "touch .git/x", ".git/x", "write | INT-001 | ask_user"},
		{"governance", "echo x >> $(printf .orchestration/active_intents.yaml)", ".orchestration/active_intents.yaml", "it belongs to the governance files"},
		{"program configuration", "mkdir .cursor", ".cursor", "write_to_file, which asks the operator"},
		{"packages from a script", "mkdir -p node_modules/x", "node_modules", "run that command itself"},
		{"outside", "touch ~/mine", "~/mine", "it is outside of the workspace"},
	}
	plain := []struct{ name, line string }{
		{"permission bits of a file", "cat src/closed.txt; echo x >> src/readonly.txt; false"},
		{"permission bits out of scope", "cat docs/closed.md; echo x >> $(printf docs/closed.md)"},
		{"not executable", "src/a.txt"},
		{"not executable, out of scope", "docs/other.md"},
		{"not there", "cat docs/nothing.md"},
		{"only printed", "grep -rn 'file system' docs; false"},
		{"succeeded", "touch docs/new.md || true"},
		{"failed for itself", "exit 3"},
	}
	for level, able := range map[string]func(*server.Options){"full": func(*server.Options) {}, "landlock": landlockOnly} {
		t.Run(level, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, "go.mod", "module x\n")
			check.Write(t, dir, "src/closed.txt", "x")
			check.Write(t, dir, "src/readonly.txt", "x")
			check.Write(t, dir, "docs/closed.md", "x")
			check.Write(t, dir, "docs/errors.md", "EROFS is\ndocs/other.md:Read-only file system\n")
			for name, mode := range map[string]os.FileMode{"src/closed.txt": 0, "docs/closed.md": 0, "src/readonly.txt": 0o444} {
				check.OK(t, os.Chmod(filepath.Join(dir, name), mode))
			}
			b, s := start(t, dir, able).under("INT-001")
			for _, c := range cases {
				r := b.OK("execute_command", args{"session": s, "command": c.line})
				path, said := denialOf(t, r)
				home := os.Getenv("HOME")
				check.That(t, path == strings.Replace(c.path, "~", home, 1) && strings.Contains(said, c.said),
					"%s: %q: %q: %s\n%s", c.name, c.line, path, said, r.Text)
			}
			for _, c := range plain {
				r := b.OK("execute_command", args{"session": s, "command": c.line})
				if path, said := denialOf(t, r); said != "" {
					t.Errorf("%s: %q is laid to the sandbox: %q: %s\n%s", c.name, c.line, path, said, r.Text)
				}
			}
		})
	}
}

// At full there is more that a command does not have.
func TestWhatElseTheSandboxDeniedIsSaid(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/.intentignore", "secret:.env\n")
	check.Write(t, dir, ".env", "KEY=1\n")
	place := check.Value(os.MkdirTemp("/tmp", "orchestra-test-"))(t) // a command has a /tmp of its own
	defer os.RemoveAll(place)
	shared := filepath.Join(place, "shared.txt")
	check.Write(t, place, "shared.txt", "x")
	b, s := start(t, dir, func(o *server.Options) { o.Settings.Commands.Network = "deny" }).under("INT-001")
	check.Write(t, dir, "go.mod", "module x\n")
	for line, want := range map[string][2]string{
		"cat .env":      {".env", "read |  | choose_different_file"},
		"cat " + shared: {shared, "commands see a private directory in the place of /tmp"},
		"mv src src2":   {"src2", "write | INT-001 | request_scope_expansion"},
		"rm -r src":     {"src", "move |  | follow_constraints"},
		"touch docs/new.md 2>&1 | sed 's/.*: //'; false":                            {"", "write | INT-001 | request_scope_expansion | the command tried to write something"},
		"chown 12345 go.mod":                                                        {"", "root |  | follow_constraints"},
		"python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"": {"", "connect | INT-001 | ask_user | the settings deny commands the network"},
	} {
		check.Write(t, dir, "src/a.txt", "x")
		r := b.OK("execute_command", args{"session": s, "command": line})
		path, said := denialOf(t, r)
		check.That(t, path == want[0] && strings.Contains(said, want[1]), "%q: %q: %s\n%s", line, path, said, r.Text)
	}
}

// What the operator has let through, the sandbox lets through as well, existing or not.
func TestAnApprovedRedirectionIsWritten(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir, asks, func(o *server.Options) { o.Settings.Approvals.ProgramConfig = settings.Ask }).under("INT-001")
	check.Write(t, dir, ".vscode/settings.json", "{}\n")
	for _, line := range []string{"echo new > docs/other.md", "echo new > docs/new.md", "echo new > .vscode/settings.json", "echo new > .mcp.json"} {
		call := args{"session": s, "command": line}
		b.answers(b.required("execute_command", call), approval.Once, "")
		r := b.OK("execute_command", call)
		name := strings.Fields(line)[3]
		check.That(t, r.Object["exit_code"] == float64(0) && b.read(name) == "new\n", "%s: %s", line, r.Text)
	}
}

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
	r := b.OK("execute_command", args{"session": s, "command": "echo new > src/new.txt && git add src && git commit -qm two && " +
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
	if r := b.OK("execute_command", args{"session": s, "command": "git config core.hooksPath src"}); r.Object["exit_code"] == float64(0) {
		t.Errorf("the configuration was written\n%s", r.Text)
	}
	is := check.Git(t, dir, "rev-parse", "HEAD") + check.Git(t, dir, "status", "--short", "--branch")
	check.That(t, is == was, "the other work tree was %q and is %q", was, is)
	for _, line := range b.ledgerLines() {
		check.That(t, !strings.Contains(line, "violation"), "a commit is a violation: %s", line)
	}
	// A merge of the other work tree that nobody began there is found.
	r = b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": `git rev-parse HEAD > "$(git rev-parse --git-common-dir)/MERGE_HEAD"`})
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
	run := func(line string) reply { return b.OK("execute_command", args{"session": s, "command": line}) }
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
	if r := b.Refused("PROTECTED_PATH", "execute_command", args{"session": s, "command": "git switch two"}); !strings.Contains(r.Text, "is the ledger") || !strings.Contains(r.Text, "git switch two") {
		t.Errorf("git went on without the ledger: %s", r.Text)
	}
	b.wantRecord("PROTECTED_PATH") // it is not written while git replaces the file
	check.Git(t, dir, "checkout", "-q", "-f", "two")
	check.Git(t, dir, "branch", "side", strings.TrimSpace(check.Git(t, dir, "commit-tree", "-p", "one", "-m", "side", "two^{tree}")))
	run("true") // its record is not committed
	for _, line := range []string{"git switch one", "git checkout -q one", "git rebase side", "git commit -qam three && git rebase side"} {
		r := b.Call("execute_command", args{"session": s, "command": line})
		check.That(t, r.Object["exit_code"] != float64(0) && (strings.Contains(r.Text, said) || strings.Contains(r.Text, "is the ledger")),
			"%s: %s", line, r.Text)
		check.Git(t, dir, "restore", "src")
	}
	if r := b.Refused("PROTECTED_PATH", "execute_command", args{"session": s, "command": "git stash"}); !strings.Contains(r.Text, "is the ledger") {
		t.Errorf("git stash: %s", r.Text)
	}
}
