package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// gitWorld is a workspace with people's branches: feature changes docs/other.md,
// which is out of scope, and src/a.txt; clash changes the same lines of both as
// main does later.
func gitWorld(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	git(t, dir, "config", "user.name", "U")
	git(t, dir, "config", "user.email", "u@example.org")
	git(t, dir, "symbolic-ref", "HEAD", "refs/heads/main")
	write(t, dir, ".git/info/exclude", "/.orchestration/\n")
	person := func(message string, files ...string) {
		for i := 0; i < len(files); i += 2 {
			write(t, dir, files[i], files[i+1])
		}
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", message)
	}
	const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	person("base", "docs/other.md", lines, "src/a.txt", lines, "docs/gone.md", "x\n", "docs/more/deep.md", "deep\n")
	git(t, dir, "switch", "-qc", "feature")
	person("feature one", "docs/other.md", strings.Replace(lines, "one", "ONE", 1), "src/a.txt", strings.Replace(lines, "one", "ONE", 1), "docs/new/n.md", "new\n")
	git(t, dir, "rm", "-q", "docs/gone.md")
	git(t, dir, "commit", "-qm", "feature two")
	git(t, dir, "switch", "-qc", "clash", "main")
	person("clash", "docs/other.md", strings.Replace(lines, "seven", "clash", 1))
	git(t, dir, "switch", "-q", "main")
	person("main goes on", "docs/other.md", strings.Replace(lines, "seven", "SEVEN", 1), "docs/main.md", "m\n")
	return dir
}

// gitCase is a line with what it leaves.
type gitCase struct {
	name string
	// before is done by a person, in a shell.
	before string
	// lines are the agent's, one call each; the last one counts.
	lines []string
	// refused is the code of the refusal, "" for none; says stands in it.
	refused, says string
	exit          int
	// status is git status --porcelain behind it; kinds are the records of the last
	// call, and files what some say.
	status string
	kinds  string
	files  map[string]string
	scope  string
}

func TestAgentsUseGit(t *testing.T) {
	if ability := sandbox.Probe(); ability.Level != sandbox.Full {
		t.Fatalf("no level full here: %v", ability.NoFull)
	}
	const other = "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"
	var table []string
	for _, c := range []gitCase{
		{name: "merge, fast-forward", before: "git reset -q --hard main~1", lines: []string{"git merge -q feature"}, kinds: "git command", files: map[string]string{"docs/new/n.md": "new\n"}},
		{name: "merge", lines: []string{"git merge -q feature"}, kinds: "git command", files: map[string]string{"docs/other.md": strings.Replace(other, "one", "ONE", 1)}},
		{name: "merge with a pipe", lines: []string{"git merge feature 2>&1 | tail -3"}, kinds: "git command"},
		{name: "merge that conflicts", lines: []string{"git merge -q clash"}, exit: 1, status: "UU docs/other.md", kinds: "git command"},
		{name: "merge --abort", lines: []string{"git merge -q clash", "git merge --abort"}, kinds: "git command", files: map[string]string{"docs/other.md": other}},
	} {
		t.Run(c.name, func(t *testing.T) { table = append(table, c.run(t)) })
	}
	slices.Sort(table)
	t.Logf("%s", "\n"+strings.Join(table, "\n"))
}

func (c gitCase) run(t *testing.T) string {
	dir := gitWorld(t)
	if c.before != "" {
		shell(t, dir, c.before)
	}
	b := start(t, dir).connect()
	s := b.selects("INT-001")
	var r reply
	since := 0
	for i, line := range c.lines {
		since = len(b.entries())
		if i == len(c.lines)-1 && c.refused != "" {
			was := snapshotOf(t, dir)
			r = b.refused(c.refused, "execute_command", args{"session": s, "command": line})
			if is := snapshotOf(t, dir); is != was {
				t.Errorf("a refused line left\n%s\nof\n%s", is, was)
			}
			break
		}
		if r = b.ok("execute_command", args{"session": s, "command": line}); i < len(c.lines)-1 {
			continue
		}
		if code := r.Object["exit_code"]; code != float64(c.exit) {
			t.Errorf("%s: exit %v\n%s", line, code, r.Text)
		}
	}
	if !strings.Contains(r.Text, c.says) {
		t.Errorf("it does not say %q: %s", c.says, r.Text)
	}
	if status := strings.TrimRight(git(t, dir, "status", "--porcelain"), "\n"); status != c.status {
		t.Errorf("git status: %q, want %q\n%s", status, c.status, r.Text)
	}
	var kinds []string
	for _, e := range b.entries()[since:] {
		kinds = append(kinds, string(e.Kind))
		if len(e.Violations) > 0 {
			t.Errorf("violations: %+v", e.Violations)
		}
	}
	if is := strings.Join(kinds, " "); c.refused == "" && is != c.kinds {
		t.Errorf("records: %s, want %s\n%s", is, c.kinds, r.Text)
	}
	for name, want := range c.files {
		if is := b.read(name); is != want {
			t.Errorf("%s says %q, want %q", name, is, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".orchestration/state/layers/*")); len(left) > 0 {
		t.Errorf("layers are left: %v", left)
	}
	b.verify()
	outcome := fmt.Sprint("exit ", c.exit)
	if c.refused != "" {
		outcome = "refused beforehand: " + c.refused
	}
	return fmt.Sprintf("%-40s | %-60s | %-45s | status %-20q | %s", c.name, strings.Join(c.lines, " ; "), outcome, c.status, strings.Join(kinds, " "))
}

// entries are the ledger's, the oldest first.
func (b *bench) entries() []ledger.Entry {
	b.t.Helper()
	found, err := b.server.Ledger().Query(b.t.Context(), ledger.Filter{})
	if err != nil {
		b.t.Fatal(err)
	}
	return found.Entries
}

// snapshotOf is all of a workspace but what is the server's own.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, at)
		if name == ".orchestration" {
			return filepath.SkipDir
		}
		text := ""
		if e.Type().IsRegular() && !strings.HasSuffix(name, ".git/index") {
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%q", content)
		}
		fmt.Fprintln(&b, name, e.Type(), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func shell(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}
