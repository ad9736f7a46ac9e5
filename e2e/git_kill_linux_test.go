package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// mergeWorld is a workspace whose branch feature changes docs/, which is out of the scope of INT-001, and src/. A call
// waits at the place that the file .git/hold names, where .git/held then stands: pre and post are before and behind
// the run, filter is in the middle of a checkout, refs before branches move, merged behind that; in a rehearsal with
// "rehearsed-" before it.
func mergeWorld(t *testing.T) *workspace {
	w := newWorkspace(t)
	w.untracked()
	w.git("branch", "-M", "main")
	w.git("switch", "-qc", "feature")
	for i := range 30 {
		w.write(fmt.Sprintf("docs/new/%d.md", i), "new\n")
	}
	w.write("docs/other.md", "# Feature\n")
	w.write("src/a.txt", "ONE\ntwo\nthree\n")
	w.git("add", ".")
	w.git("commit", "-qm", "feature")
	w.git("switch", "-q", "main")
	w.write("docs/main.md", "m\n")
	w.git("add", ".")
	w.git("commit", "-qm", "main")
	hold := w.path(".git/hooks/hold")
	w.write(".git/hooks/hold", fmt.Sprintf(`#!/bin/sh
at=$1
test "$(stat -f -c %%T %[1]s)" != overlayfs || at=rehearsed-$1
if test "$(cat %[1]s/.git/hold 2>&-)" = $at; then
  touch %[1]s/.git/held
  while test -e %[1]s/.git/hold; do sleep 0.05; done
fi
`, w.dir))
	w.write(".git/hooks/post-merge", "#!/bin/sh\n"+hold+" merged\n")
	w.write(".git/hooks/reference-transaction", "#!/bin/sh\ntest $1 != prepared || grep -q ORIG_HEAD || "+hold+" refs\n")
	w.git("config", "filter.hold.smudge", hold+" filter; cat")
	w.write(".git/info/attributes", "docs/new/5.md filter=hold\n")
	for _, name := range []string{"hold", "post-merge", "reference-transaction"} {
		check.OK(t, os.Chmod(w.path(".git/hooks/"+name), 0o755))
	}
	w.configured(fmt.Sprintf(`hooks:
  - {event: pre, command: "%[1]s pre", tools: [Bash]}
  - {event: post, command: "%[1]s post", tools: [Bash]}
`, hold))
	return w
}

// says is what a command of a person's prints.
func (w *workspace) gitSays(arguments ...string) string {
	w.t.Helper()
	out, err := w.gitCommand(arguments...).CombinedOutput()
	check.Must(w.t, err == nil, "git %v: %v\n%s", arguments, err, out)
	return strings.TrimSpace(string(out))
}

// Killed anywhere in a merge of an agent's, the server has not let it begin, or its successor records what stands. What
// git leaves then stops no later command midway, and is cleared up by what the agent is told.
func TestKilledInAMerge(t *testing.T) {
	t.Parallel()
	const merge = "git merge -q feature"
	for at, c := range map[string]struct {
		// left is git's state behind it; said stands in what the next merge says, and tidy makes it pass.
		left, said, tidy string
	}{
		"rehearsed-filter": {}, "rehearsed-merged": {}, "pre": {},
		"filter": {left: "?? docs/new/", said: ".git/index.lock", tidy: "git clean -fdq docs"},
		"refs":   {left: "M  docs/other.md", said: ".git/refs/heads/main.lock", tidy: "git merge --abort"},
		"merged": {said: "MERGE_HEAD exists", tidy: "git merge --abort"},
		"post":   {},
	} {
		if !check.Long() && !slices.Contains([]string{"filter", "refs", "rehearsed-filter"}, at) {
			continue
		}
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := mergeWorld(t)
			before := w.gitSays("rev-parse", "HEAD")
			p := w.initialized()
			session := p.agent().Selects("INT-001")
			w.write(".git/hold", at+"\n")
			p.send(callLine("merge", "execute_command", args{"command": merge, "session": session}))
			held := ".git/held"
			if strings.HasPrefix(at, "rehearsed-") {
				held = ".orchestration/state/layers/*/*/upper/" + held
			}
			eventually(t, "it waits at "+at, func() bool { found, _ := filepath.Glob(w.path(held)); return len(found) > 0 })
			p.kill()
			if at != "pre" && at != "post" { // which the server itself waits for
				eventually(t, "the command ends with its server", func() bool { return !w.isWorkedIn() })
			}
			w.remove(".git/hold")
			w.remove(".git/held")

			a := w.initialized().agent()
			run := func(line string) answer { return a.Call("execute_command", args{"command": line, "session": session}) }
			if r := run("git status --porcelain"); r.Error || !strings.Contains(r.Text, c.left) {
				t.Fatalf("git status does not say %q: %s", c.left, r.Text)
			}
			begun, merged := before != w.gitSays("rev-parse", "HEAD") || c.left != "", at == "merged" || at == "post"
			check.Equal(t, before != w.gitSays("rev-parse", "HEAD"), merged, "the branch moved")
			if !begun && w.gitSays("status", "--porcelain") != "" {
				t.Errorf("it changed something: %s", w.gitSays("status", "--porcelain"))
			}
			w.accountsForMerge(begun, at == "post")

			r := run(merge)
			check.That(t, strings.Contains(r.Text, c.said), "the next merge does not say %q: %s", c.said, r.Text)
			if r.Error {
				_, remedy, _ := strings.Cut(r.Str("suggestion"), "remove it: ")
				a.OK("execute_command", args{"command": remedy, "session": session})
			}
			for _, line := range []string{c.tidy, merge} {
				if r := run(cmp.Or(line, "git status")); r.Error || r.Object["exit_code"] != 0.0 {
					t.Errorf("%s: %s", line, r.Text)
				}
			}
			w.git("merge-base", "--is-ancestor", "feature", "HEAD")
			w.want("docs/other.md", "# Feature\n")
			check.Equal(t, w.gitSays("status", "--porcelain"), "", "git status")
			if len(w.records(`"violations":[{`)) > 0 {
				t.Errorf("violations: %s", w.records("violations"))
			}
		})
	}
}

// isWorkedIn reports whether a process has the workspace as its directory.
func (w *workspace) isWorkedIn() bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	return slices.ContainsFunc(all, func(link string) bool {
		dir, err := os.Readlink(link)
		return err == nil && dir == w.dir
	})
}

// What a person does to branches or files after the rehearsal of a merge is not overrun: the line does not begin, and
// says so. Sent again, it finds what is there now.
func TestMergeOvertakenByAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, person, said, then string }{
		{"a commit", "git commit -q --allow-empty -m meanwhile", "a branch moved", "exit code: 0"},
		{"a file that is new", "mkdir docs/new && echo mine > docs/new/7.md", "docs/new/7.md was saved", "untracked working tree files"},
		{"a switch", "git switch -qc elsewhere", "a branch moved", "exit code: 0"},
		{"a file that it changes", "echo mine >> docs/other.md", "docs/other.md was saved", "Your local changes"},
	}[:check.Rounds(2, 4)] {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := mergeWorld(t)
			p := w.initialized()
			a := p.agent()
			merge := args{"command": "git merge -q feature", "session": a.Selects("INT-001")}
			w.write(".git/hold", "pre\n")
			p.send(callLine("merge", "execute_command", merge))
			w.appears(".git/held")
			cmd := exec.Command("sh", "-ec", c.person)
			cmd.Dir, cmd.Env = w.dir, w.env()
			out, err := cmd.CombinedOutput()
			check.Must(t, err == nil, "%v: %s", err, out)
			was := w.gitSays("status", "--porcelain", "--branch")
			w.remove(".git/hold")
			r := p.await("merge").result(t)
			check.That(t, r.Object["error_type"] == "BUSY" && strings.Contains(r.Text, c.said), "it does not say %q: %s", c.said, r.Text)
			check.Equal(t, w.gitSays("status", "--porcelain", "--branch"), was, "it was")
			if r := a.OK("execute_command", merge); !strings.Contains(r.Text, c.then) {
				t.Errorf("sent again, it does not say %q: %s", c.then, r.Text)
			}
			w.git("merge-base", "--is-ancestor", "main", "HEAD")
		})
	}
}

// accountsForMerge demands that the records say what became of a merge: nothing of one that did not begin.
func (w *workspace) accountsForMerge(begun, answered bool) {
	w.t.Helper()
	recovered, own := w.records(`"kind":"recovered"`), w.records(`"kind":"git"`)
	switch {
	case !begun && len(recovered)+len(own) > 0:
		w.t.Errorf("it is recorded: %s %s", recovered, own)
	case answered && (len(own) != 1 || len(recovered) > 0):
		w.t.Errorf("records of the kind git: %s, recovered: %s", own, recovered)
	case begun && !answered && (len(recovered) != 1 || !strings.Contains(recovered[0], "docs/new/5.md") || !strings.Contains(recovered[0], "git merge -q feature")):
		w.t.Errorf("recovered: %s", recovered)
	}
	foreign := w.records("external_before")
	check.That(w.t, len(foreign) == 0, "a person is said to have done it: %s", foreign)
}

// Without namespaces the kernel cannot tell the ledger from the rest of .git, which commands.git: trust opens: an
// agent commits there, each result says what that opens, and who takes the ledger away is found at once.
func TestTrustedGitWithoutNamespaces(t *testing.T) {
	t.Parallel()
	all := machines(t)
	i := slices.IndexFunc(all, func(m machine) bool { return m.name == "landlock" })
	if i < 0 {
		return // machines has said why
	}
	w := newWorkspace(t)
	w.untracked()
	w.configured("commands: {git: trust}\n")
	a := w.startedOn(all[i]).agent()
	session := a.Selects("INT-001")
	run := func(line string) answer { return a.Call("execute_command", args{"command": line, "session": session}) }
	r := run("echo x > src/new; git add src; git commit -qm new")
	check.Must(t, !r.Error && r.Object["exit_code"] == 0.0 && strings.Contains(r.Text, "ledger.git: tree"), "%s", r.Text)
	check.Equal(t, w.gitSays("status", "--porcelain")+w.gitSays("log", "-1", "--format=%s"), "new", "git says")
	if r := run("rm -rf .git/orchestra; ls src"); r.Error || r.Object["exit_code"] != 0.0 { // no git in the line
		t.Errorf("%s", r.Text)
	}
	check.Equal(t, len(w.records(`"kind":"command"`)), 2, "records are gone: %s", w.records())
	if r := run("git status -s; mv .git/orchestra src/moved"); r.Object["error_type"] != "COMMAND_OUT_OF_SCOPE" || !strings.Contains(r.Text, "no longer has the record") {
		t.Errorf("%s", r.Text)
	}
	a.Refused("LEDGER_UNAVAILABLE", "execute_command", args{"command": "true", "session": session})
	eventually(t, "the refusal is recorded in a new place", func() bool {
		begun, _ := filepath.Glob(w.path(".git/orchestra/*/.orchestration/agent_trace.jsonl"))
		if len(begun) == 0 {
			return false
		}
		content, err := os.ReadFile(begun[0])
		return err == nil && strings.Contains(string(content), "LEDGER_UNAVAILABLE")
	})
	back := exec.Command("sh", "-ec", `f=$(cd .git/orchestra && find . -name agent_trace.jsonl); cat .git/orchestra/$f >> src/moved/$f; rm -r .git/orchestra; mv src/moved .git/orchestra`)
	back.Dir = w.dir
	if out, err := back.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a.OK("execute_command", args{"command": "git commit --allow-empty -qm again", "session": session})
}

// untracked makes the repository as init does: what is the server's own is in no commit, and nobody is asked who commits.
func (w *workspace) untracked() {
	w.t.Helper()
	w.write(".git/info/exclude", "/.orchestration/\n")
	w.git("config", "user.name", "t")
	w.git("config", "user.email", "t@example.org")
	w.git("rm", "-rq", "--cached", ".orchestration")
	w.git("commit", "-qm", "as init makes it")
}

// configured writes the user's settings.
func (w *workspace) configured(text string) {
	w.t.Helper()
	check.OK(w.t, os.MkdirAll(w.home+"/config/orchestra-mcp", 0o755))
	check.OK(w.t, os.WriteFile(w.home+"/config/orchestra-mcp/config.yaml", []byte(text), 0o644))
}
