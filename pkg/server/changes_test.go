//go:build unix

package server_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// changesOf is what a record says of files, a line each.
func changesOf(e record.Entry) []string {
	var lines []string
	for _, c := range e.Changes {
		line := fmt.Sprintf("%s %s", c.Op, c.Path)
		if c.From != "" {
			line += " from " + c.From
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (b *bench) wantChanges(e record.Entry, want ...string) {
	b.t.Helper()
	if got := changesOf(e); !slices.Equal(got, want) {
		b.t.Errorf("the record says\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func violationsOf(e record.Entry) []string {
	var lines []string
	for _, v := range e.Violations {
		line := fmt.Sprintf("%s %s", v.Op, v.Path)
		if v.Reverted {
			line += " (reverted)"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// What a command changed is in its record, as for writes: hashes, blob ids, hunks, ranges, class.
func TestCommandIsRecordedWithItsChanges(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir, direct).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "mutation_class": "INTENT_EVOLUTION",
		"command": "sed -i s/two/2/ src/a.txt && mkdir -p src/sub && echo new > src/sub/n.txt && chmod 755 src/sub/n.txt"})
	if got := fmt.Sprint(r.Object["changed_files"]); got != "[map[in_scope:true operation:modified path:src/a.txt] map[in_scope:true operation:created path:src/sub/n.txt]]" {
		t.Errorf("changed_files: %s", got)
	}
	e := b.lastRecord(record.KindCommand)
	b.wantChanges(e, "created src/sub/n.txt", "modified src/a.txt")
	c := e.Changes[0]
	if c.Path != "src/a.txt" || fmt.Sprint(c.Hunks) != "[[2 1 2 1]]" || len(c.Ranges) != 1 || c.Ranges[0].StartLine != 2 || c.Before.OID == "" || c.After.OID == "" || e.MutationClass != "INTENT_EVOLUTION" {
		t.Errorf("%+v, class %s", c, e.MutationClass)
	}
	b.OK("execute_command", args{"session": s, "command": "mv src/a.txt src/b.txt; rm -r src/sub; ln -s b.txt src/link; mkfifo src/pipe; chmod 600 src/b.txt"})
	e = b.lastRecord(record.KindCommand)
	b.wantChanges(e, "created src/link", "created src/pipe", "deleted src/sub/n.txt", "moved src/b.txt from src/a.txt")
	check.That(t, fmt.Sprint(e.Detail["links"]) == "[src/link]" && fmt.Sprint(e.Detail["special"]) == "[src/pipe]", "%v", e.Detail)
	b.OK("execute_command", args{"session": s, "command": "cat src/b.txt; touch src/b.txt"})
	if e = b.lastRecord(record.KindCommand); len(e.Changes) > 0 || e.MutationClass != "" {
		t.Errorf("%+v", e)
	}
}

// A change that the intent does not own is a violation, by whatever way it was made; nothing of the result is missing.
func TestCommandOutOfScope(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "secret:keys/\nsrc/frozen\nunscoped:tmp/**\n")
	check.Write(t, dir, "src/frozen", "x\n")
	check.Write(t, dir, "keys/a", "secret\n")
	check.Write(t, dir, ".git/hooks/post-commit", "true\n")
	b, s := start(t, dir).under("INT-001")
	closed := regexp.MustCompile(`^(keys/|src/frozen|\.vscode/|\.git/|\.orchestration/|docs/bad)`)
	for line, want := range map[string][]string{
		"cp src/a.txt docs/other.md; echo fine > src/fine.txt": {"modified docs/other.md"},
		"rm docs/other.md":              {"deleted docs/other.md"},
		"mv docs/other.md src/taken.md": {"moved src/taken.md"},
		"mv src/a.txt a.txt":            {"moved a.txt"},
		"chmod 600 docs/other.md":       {"modified docs/other.md"},
		"ln docs/other.md src/linked; printf x | tee -a src/linked":     {"modified docs/other.md"},
		"ln -s ../docs src/out; printf x | tee src/out/new.md":          {"created docs/new.md"},
		"touch src/frozen; cp src/a.txt src/frozen; cp src/a.txt keys/": {"created keys/a.txt", "modified src/frozen"},
		"mkdir -p .vscode; cp src/a.txt .vscode/tasks.json":             {"created .vscode/tasks.json"},
		"rm .git/hooks/post-commit; git config alias.x '!true'":         {"deleted .git/hooks/post-commit", "modified .git/config"},
		"cp src/a.txt .orchestration/config.yaml":                       {"created .orchestration/config.yaml"},
		"mkdir empty": {"created empty"},
		"cd docs && cp other.md \"$(printf 'bad\\377name')\"": {`created docs/bad\xffname`},
	} {
		// What to ask for is what a scope can grant, and nothing else.
		ask, hint := "", "ask_user"
		for _, violation := range want {
			if _, path, _ := strings.Cut(violation, " "); !closed.MatchString(path) {
				hint, ask = "request_scope_expansion", fmt.Sprintf("%q", path)
			}
		}
		t.Run(line, func(t *testing.T) {
			dir := newWorkspace(t)
			for _, name := range []string{".intentignore", "src/frozen", "keys/a", ".git/hooks/post-commit"} {
				content := check.Value(os.ReadFile(filepath.Join(b.dir, name)))(t)
				check.Write(t, dir, name, string(content))
			}
			b, s := start(t, dir, withoutSandbox).under("INT-001")
			r := b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": line})
			if r.Object["exit_code"] != 0.0 || r.Object["record_id"] == "" || r.Object["changed_files"] == nil || r.Str("action_hint") != hint {
				t.Errorf("%v", r.Object)
			}
			next := r.Str("suggestion")
			asks := strings.Contains(next, "request_scope_expansion with paths: [")
			check.That(t, asks == (hint == "request_scope_expansion") && strings.Contains(next, ask), "asks for %s by %q", ask, next)
			says := strings.Contains(next, "No scope opens")
			check.That(t, says == slices.ContainsFunc(want, func(v string) bool { return closed.MatchString(v[strings.Index(v, " ")+1:]) }),
				"of what is closed: %q", next)
			e := b.lastRecord(record.KindCommand)
			got := violationsOf(e)
			check.That(t, slices.Equal(got, want), "violations %q, want %q", got, want)
			b.OK("execute_command", args{"session": s, "command": "true"})
		})
	}
	b.OK("execute_command", args{"session": s, "command": "ls"})
}

// With revert_violations the workspace is as it was, byte for byte, mode for mode; what was in scope stays.
func TestViolationsAreReverted(t *testing.T) {
	t.Parallel()
	for line, left := range map[string][]string{
		"mkdir -p docs/new/deep; echo x | tee docs/other.md docs/new/deep/er.md; echo fine | tee src/fine.txt": nil,
		"chmod 750 docs; rm -r docs; chmod 700 src/a.txt":                                                      nil,
		"mv docs/other.md src/taken.md; ln -s x docs/link; mkfifo pipe; mkdir -p e/f":                          nil,
		"mv src/a.txt a.txt": nil,
		"rm docs/link2; ln -s elsewhere docs/link2; chmod 600 docs/other.md":                  nil,
		"rm docs/other.md; mkdir docs/other.md; echo x | tee docs/other.md/in":                nil,
		"chmod 700 docs; git config alias.x '!true'; echo x | tee .orchestration/config.yaml": nil,
		"ln docs/other.md src/hard; echo more | tee -a src/hard":                              nil,
		"rm -f docs/link2; cp src/a.txt docs/link2":                                           nil,
	} {
		t.Run(line, func(t *testing.T) {
			dir := newWorkspace(t)
			check.OK(t, os.Symlink("other.md", filepath.Join(dir, "docs/link2")))
			before := treeOf(t, dir)
			b, s := start(t, dir, withoutSandbox, func(o *server.Options) { o.Settings.Commands.RevertViolations = true }).under("INT-001")
			r := b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": line})
			e := b.lastRecord(record.KindCommand)
			for _, v := range e.Violations {
				check.That(t, v.Reverted || slices.Contains(left, v.Path), "%s was not reverted: %s", v.Path, r.Text)
			}
			after := treeOf(t, dir)
			for _, name := range slices.Sorted(maps.Keys(after)) {
				if !strings.HasPrefix(name, "src/") && after[name] != before[name] {
					t.Errorf("%s: %q, before %q", name, after[name], before[name])
				}
			}
			for name := range before {
				check.That(t, strings.HasPrefix(name, "src/") || after[name] != "", "%s is gone", name)
			}
			b.OK("execute_command", args{"session": s, "command": "true"})
			if e := b.lastRecord(record.KindCommand); len(e.Changes) > 0 || len(e.Violations) > 0 {
				t.Errorf("the next command is charged with %v %v", changesOf(e), violationsOf(e))
			}
		})
	}
}

// treeOf describes every entry of a workspace but what the server writes.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	check.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		if serversOwn(name) || name == filepath.FromSlash(".git/index") {
			return skip(d)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, _ := os.ReadFile(path)
			what += " " + string(content)
		case info.Mode()&os.ModeSymlink != 0:
			text, _ := os.Readlink(path)
			what += " " + text
		}
		found[filepath.ToSlash(name)] = what
		return nil
	}))
	return found
}

// What an editor writes between two commands is nobody's; the command's own changes of that file are told from it.
func TestOutsideEditorIsNotCharged(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir).under("INT-001")
	b.OK("execute_command", args{"session": s, "command": "true"})
	edited := exec.Command("sh", "-c", "echo from outside >> src/a.txt; echo x > docs/other.md; echo x > outside.txt; rm -f go.mod")
	edited.Dir = dir
	out, err := edited.CombinedOutput()
	check.Must(t, err == nil, "%v %s", err, out)
	b.OK("execute_command", args{"session": s, "command": "true"})
	if e := b.lastRecord(record.KindCommand); len(e.Changes) > 0 {
		t.Errorf("charged with %v", changesOf(e))
	}
	b.OK("execute_command", args{"session": s, "command": "echo from the command >> src/a.txt"})
	e := b.lastRecord(record.KindCommand)
	b.wantChanges(e, "modified src/a.txt")
	check.Equal(t, fmt.Sprint(e.Changes[0].Hunks), "[[4 0 5 1]]", "%v", e.Changes[0].Hunks)
}

// What a session's command changed is not what the session has seen.
func TestCommandMakesViewsStale(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir).under("INT-001")
	b.OK("read_file", args{"session": s, "path": "src/a.txt"})
	b.OK("execute_command", args{"session": s, "command": "sed -i s/two/2/ src/a.txt"})
	stale := b.Refused("STALE_FILE", "write_to_file", args{"session": s, "path": "src/a.txt", "content": "mine\n"})
	check.That(t, strings.Contains(stale.Text, `one\n2\nthree`), "the content is not shown: %s", stale.Text)
	b.OK("write_to_file", args{"session": s, "path": "src/a.txt", "content": "mine\n"})
	e := b.lastRecord(record.KindMutation)
	check.That(t, !e.Changes[0].ExternalBefore, "the command's change was recorded, so it is not external")
	b.OK("execute_command", args{"session": s, "command": "mv src/a.txt src/b.txt; rm -f src/c.txt"})
	b.OK("write_to_file", args{"session": s, "path": "src/b.txt", "content": "mine too\n"})
	b.OK("execute_command", args{"session": s, "command": "rm src/b.txt"})
	b.OK("write_to_file", args{"session": s, "path": "src/b.txt", "content": "again\n"})
}

// What tools write while a command runs, of this server and of another on the workspace, is theirs; an editor's writes
// meanwhile cannot be told from the command's, and are charged to it.
func TestWritesWhileACommandRuns(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/ours", "0\n")
	check.Write(t, dir, "src/theirs", "0\n")
	check.OK(t, syscall.Mkfifo(filepath.Join(dir, "src/go"), 0o600))
	b := start(t, dir, withoutSandbox).connect()
	other := start(t, dir, withoutSandbox).connect()
	first, second, third := b.Selects("INT-001"), b.another(legacy), other.Selects("INT-005")
	session := second.Selects("INT-005")
	b.OK("execute_command", args{"session": first, "command": "true"})
	ended := make(chan reply)
	go func() {
		ended <- b.Call("execute_command", args{"session": first, "command": "echo running > src/running; cat < src/go > src/got; echo more >> src/theirs"})
	}()
	b.eventually("the command runs", func() bool { return b.exists("src/running") })
	second.OK("read_file", args{"session": session, "path": "src/ours"})
	second.OK("write_to_file", args{"session": session, "path": "src/ours", "content": "by this server\n"})
	other.OK("read_file", args{"session": third, "path": "src/theirs"})
	other.OK("write_to_file", args{"session": third, "path": "src/theirs", "content": "by another server\n"})
	other.OK("write_to_file", args{"session": third, "path": "docs/theirs", "content": "by another server\n"})
	check.Write(t, dir, "src/editor", "by an editor\n")
	check.Write(t, dir, "src/go", "go\n") // lets the command go on
	r := <-ended
	check.Must(t, !r.Error, "%v", r.Text)
	e := b.entry(r.Str("record_id"))
	b.wantChanges(e, "created src/editor", "created src/got", "created src/running", "modified src/theirs")
	for _, c := range e.Changes {
		check.That(t, c.Path != "src/theirs" || fmt.Sprint(c.Hunks) == "[[1 0 2 1]]", "the command's change of src/theirs: %v", c.Hunks)
	}
}
