package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	session := a.selects("INT-001")
	run := func(line string) answer { return a.call("execute_command", args{"command": line, "session": session}) }
	r := run("echo x > src/new; git add src; git commit -qm new")
	if r.IsError || r.Fields["exit_code"] != 0.0 || !strings.Contains(r.text(), "ledger.git: tree") {
		t.Fatalf("%s", r.text())
	}
	if is := w.gitSays("status", "--porcelain") + w.gitSays("log", "-1", "--format=%s"); is != "new" {
		t.Errorf("git says %q", is)
	}
	if r := run("rm -rf .git/orchestra; ls src"); r.IsError || r.Fields["exit_code"] != 0.0 { // no git in the line
		t.Errorf("%s", r.text())
	}
	if len(w.records(`"kind":"command"`)) != 2 {
		t.Errorf("records are gone: %s", w.records())
	}
	if r := run("git status -s; mv .git/orchestra src/moved"); r.Fields["error_type"] != "COMMAND_OUT_OF_SCOPE" || !strings.Contains(r.text(), "no longer has the record") {
		t.Errorf("%s", r.text())
	}
	a.refused("LEDGER_UNAVAILABLE", "execute_command", args{"command": "true", "session": session})
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
	a.ok("execute_command", args{"command": "git commit --allow-empty -qm again", "session": session})
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
	if err := os.MkdirAll(w.home+"/config/orchestra-mcp", 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.home+"/config/orchestra-mcp/config.yaml", []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}
