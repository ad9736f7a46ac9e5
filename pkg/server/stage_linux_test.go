package server_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// textFiles is a workspace whose intent owns texts at the top, where its commands can make other files too.
func textFiles(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `["src/**", "go.mod"]`, `["*.txt", "src/**"]`, 1))
	return dir
}

// layers are those that stand in a workspace.
func (b *bench) layers() (ids []string) {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.dir, ".orchestration/state/layers"))
	if !os.IsNotExist(err) {
		check.OK(b.t, err)
	}
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// stages runs a line on a layer that is kept.
func (b *bench) stages(s, line string) (id string, r reply) {
	b.t.Helper()
	r = b.OK("execute_command", args{"session": s, "command": line, "staged": true})
	first, _, _ := strings.Cut(r.Text, "\n")
	check.Equal(b.t, first, "exit code: 0 (nothing of it is in the workspace)")
	return r.Str("staged_id"), r
}

// attributes are the names of a path's extended attributes.
func attributes(t *testing.T, path string) string {
	t.Helper()
	buf := make([]byte, 4096)
	n := check.Value(unix.Llistxattr(path, buf))(t)
	return string(buf[:n])
}

// What a command did on its layer comes to stand in the workspace as it did it, and nothing of the layer is left.
func TestStagedCommandIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/sub/n.txt", "n\n")
	check.Write(t, dir, "src/sub/m.txt", "m\n")
	check.Write(t, dir, "src/run.sh", "#!/bin/sh\n")
	check.Write(t, dir, "src/kept.txt", "kept\n")
	check.OK(t, os.Symlink("kept.txt", filepath.Join(dir, "src/link")))
	b, s := start(t, dir).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "cwd": "src", "command": `mv a.txt b.txt; rm -r sub; mkdir -p new/deep empty; echo d > new/deep/d; chmod 750 new; chmod +x run.sh
		ln -sfn b.txt link; ln -s ../kept.txt new/up; echo more >> kept.txt; touch -d 2001-01-01 kept.txt; echo same > same; rm same; exit 3`})
	check.That(t, r.Object["exit_code"] == 3.0 && r.Object["staged_id"] == nil && r.Object["direct_because"] == nil, "%s", r.Text)
	e := b.lastRecord(record.KindCommand)
	b.wantChanges(e, "created src/new/deep/d", "created src/new/up", "deleted src/sub/m.txt", "deleted src/sub/n.txt", "modified src/kept.txt", "modified src/link", "modified src/run.sh",
		"moved src/b.txt from src/a.txt")
	check.That(t, b.lastRecord(record.KindMutation).ID == r.Str("change_record_id") && e.ID == r.Str("record_id"), "%s", r.Text)
	check.Equal(t, b.read("src/kept.txt")+b.read("src/new/deep/d")+b.read("src/b.txt"), "kept\nmore\nd\none\ntwo\nthree\n")
	for path, mode := range map[string]fs.FileMode{"src/new": 0o750 | fs.ModeDir, "src/empty": 0o755 | fs.ModeDir, "src/run.sh": 0o755, "src/link": 0o777 | fs.ModeSymlink} {
		info := check.Value(os.Lstat(filepath.Join(dir, path)))(t)
		check.Equal(t, info.Mode(), mode, "%s", path)
	}
	check.That(t, !b.exists("src/sub") && !b.exists("src/same") && !b.exists("src/a.txt"), "something is left")
	check.OK(t, filepath.WalkDir(filepath.Join(dir, "src"), func(path string, _ fs.DirEntry, err error) error {
		check.OK(t, err)
		check.That(t, !strings.Contains(attributes(t, path), "overlay"), "%s: %q", path, attributes(t, path))
		return nil
	}))
	check.That(t, len(b.layers()) == 0, "layers are left: %v", b.layers())
	// A command that changes nothing has one record, and no layer.
	n := len(b.ledgerLines())
	b.OK("execute_command", args{"session": s, "command": "cat src/kept.txt > src/x; rm src/x; touch src/run.sh; cat src/run.sh > src/y; cat src/y > src/run.sh; rm src/y"})
	check.That(t, len(b.ledgerLines()) == n+1 && len(b.layers()) == 0, "%d records more", len(b.ledgerLines())-n)
}

// A file of the workspace that has another name on the layer is no file which others have removed; a directory makes room with all
// that is in it.
func TestStagedRenamesAndLinks(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/sub/deep/er/n.txt", "n\n")
	b, s := start(t, dir).under("INT-001")
	for _, line := range []string{
		"sed -i.bak s/two/2/ src/a.txt", "ln src/a.txt src/l.txt", "ln src/a.txt src/m.txt; ln src/m.txt src/n.txt; rm src/a.txt; echo new > src/a.txt", "cp -al src/sub src/copied",
		"rm -r src/sub; echo file | tee src/sub", "rm src/sub; mkdir -p src/sub/deep; echo x | tee src/sub/deep/x",
	} {
		b.OK("execute_command", args{"session": s, "command": line})
	}
	for path, want := range map[string]string{"a.txt": "new\n", "a.txt.bak": "one\ntwo\nthree\n", "l.txt": "one\n2\nthree\n", "m.txt": "one\n2\nthree\n", "n.txt": "one\n2\nthree\n", "copied/deep/er/n.txt": "n\n", "sub/deep/x": "x\n"} {
		check.Equal(t, b.read("src/"+path), want, "%s", path)
	}
	check.That(t, len(b.layers()) == 0, "layers are left: %v", b.layers())
}

// With staged a command changes nothing until somebody takes that over, who need not run it again.
func TestStagedCommandIsKept(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	id, r := b.stages(s, "echo four >> src/a.txt; echo new > src/n.txt")
	check.That(t, strings.Contains(r.Str("diff"), "+four") && strings.Contains(r.Str("diff"), "+new") && strings.Contains(r.Text, id), "%s", r.Text)
	check.That(t, b.read("src/a.txt") == "one\ntwo\nthree\n" && !b.exists("src/n.txt"), "it changed something")
	other, _ := b.stages(s, "cat src/a.txt > src/copy.txt") // which does not see the other's layer
	taken := b.OK("commit_staged", args{"session": s, "staged_id": id})
	check.That(t, b.read("src/a.txt") == "one\ntwo\nthree\nfour\n" && b.read("src/n.txt") == "new\n", "%s", taken.Text)
	e := b.lastRecord(record.KindMutation)
	check.That(t, e.ID == taken.Str("record_id") && e.Detail["staged"] == id && e.Detail["ran"] == r.Str("record_id"), "%v", e.Detail)
	b.Refused("FILE_NOT_FOUND", "commit_staged", args{"session": s, "staged_id": id})
	b.OK("discard_staged", args{"session": s, "staged_id": other})
	check.That(t, !b.exists("src/copy.txt") && len(b.layers()) == 0, "%v", b.layers())
	b.Refused("FILE_NOT_FOUND", "discard_staged", args{"session": s, "staged_id": other})
	b.Refused("FILE_NOT_FOUND", "commit_staged", args{"session": s, "staged_id": "stg_none"})
}

// One path out of scope, and nothing is taken over; when the scope has it, all is.
func TestStagedOutOfScope(t *testing.T) {
	t.Parallel()
	b, s := start(t, textFiles(t)).under("INT-001")
	r := b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": "echo in > in.txt; echo out | tee out.md; echo four >> src/a.txt"})
	id, _ := r.Object["staged_id"].(string)
	check.That(t, strings.Contains(r.Text, "out.md") && r.Object["exit_code"] == 0.0 && strings.HasPrefix(id, "stg_"), "%s", r.Text)
	check.That(t, !b.exists("in.txt") && !b.exists("out.md") && b.read("src/a.txt") == "one\ntwo\nthree\n", "something was taken over")
	e := b.lastRecord(record.KindCommand)
	check.That(t, e.ID == r.Object["record_id"] && len(e.Changes)+len(e.Violations) == 0 && e.Detail["staged"] == id, "%+v", e)
	b.Refused("SCOPE_VIOLATION", "commit_staged", args{"session": s, "staged_id": id})
	b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": s, "command": "mkdir -p .vscode; mkdir made; true"})
	check.That(t, !b.exists("made") && !b.exists(".vscode"), "it was made")
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `["src/**", "go.mod"]`, `["*.txt", "*.md", "src/**"]`, 1))
	b.OK("commit_staged", args{"session": s, "staged_id": id})
	check.That(t, b.read("in.txt") == "in\n" && b.read("out.md") == "out\n" && b.read("src/a.txt") == "one\ntwo\nthree\nfour\n", "not all was taken over")
}

// What others have changed since is a conflict, whoever they are and however they did it; what they have added stays.
func TestStagedConflicts(t *testing.T) {
	t.Parallel()
	at := func(b *bench, name string) string { return filepath.Join(b.dir, name) }
	for name, c := range map[string]struct {
		line   string
		others func(b *bench) error
		code   string // "" is none
	}{
		"edited":              {"echo x >> src/a.txt", func(b *bench) error { return os.WriteFile(at(b, "src/a.txt"), []byte("theirs\n"), 0o644) }, "STALE_FILE"},
		"edited and put back": {"echo x >> src/a.txt", func(b *bench) error { return os.WriteFile(at(b, "src/a.txt"), []byte("one\ntwo\nthree\n"), 0o644) }, "STALE_FILE"},
		"replaced": {"sed -i s/two/2/ src/a.txt", func(b *bench) error {
			check.Write(b.t, b.dir, "src/t", "theirs\n")
			return os.Rename(at(b, "src/t"), at(b, "src/a.txt"))
		}, "STALE_FILE"},
		"removed":                     {"chmod 600 src/a.txt", func(b *bench) error { return os.Remove(at(b, "src/a.txt")) }, "STALE_FILE"},
		"made":                        {"echo x > src/n.txt", func(b *bench) error { return os.WriteFile(at(b, "src/n.txt"), []byte("theirs\n"), 0o644) }, "STALE_FILE"},
		"removed beside renames":      {"chmod 600 src/a.txt; sed -i.bak s/o/p/ src/sub/old; ln src/sub/old src/l", func(b *bench) error { return os.Remove(at(b, "src/a.txt")) }, "STALE_FILE"},
		"permissions":                 {"echo x >> src/a.txt", func(b *bench) error { return os.Chmod(at(b, "src/a.txt"), 0o600) }, "STALE_FILE"},
		"removed by both":             {"rm src/a.txt; echo x > src/n.txt", func(b *bench) error { return os.Remove(at(b, "src/a.txt")) }, ""},
		"edited what was removed":     {"rm src/a.txt", func(b *bench) error { return os.WriteFile(at(b, "src/a.txt"), []byte("theirs\n"), 0o644) }, "STALE_FILE"},
		"added where all was removed": {"rm -r src/sub", func(b *bench) error { return os.WriteFile(at(b, "src/sub/theirs"), []byte("x"), 0o644) }, ""},
		"added where a file is to be": {"rm -r src/sub; echo x | tee src/sub", func(b *bench) error { return os.WriteFile(at(b, "src/sub/theirs"), []byte("x"), 0o644) }, "STALE_FILE"},
		"another file":                {"echo x >> src/a.txt", func(b *bench) error { return os.WriteFile(at(b, "src/b.txt"), []byte("theirs\n"), 0o644) }, ""},
		"a database in use":           {"echo x >> src/a.txt", func(b *bench) error { return os.WriteFile(at(b, "src/a.txt-wal"), nil, 0o644) }, "STALE_FILE"},
		"a link":                      {"echo x >> src/a.txt; ln -s a.txt src/l", func(b *bench) error { return os.Symlink("b", at(b, "src/l")) }, "STALE_FILE"},
		"a directory swapped": {"echo x > src/sub/n", func(b *bench) error {
			check.OK(b.t, os.RemoveAll(at(b, "src/sub")))
			return os.Symlink("../docs", at(b, "src/sub"))
		}, "any"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t)
			check.Write(t, dir, "src/sub/old", "old\n")
			b, s := start(t, dir).under("INT-001")
			id, _ := b.stages(s, c.line)
			check.OK(t, c.others(b))
			was := b.sources()
			r := b.Call("commit_staged", args{"session": s, "staged_id": id})
			if c.code == "" {
				check.That(t, !r.Error, "%s", r.Text)
				for path, content := range was {
					is := b.sources()[path]
					check.That(t, is == content || !strings.Contains(content, "theirs") && content != "x", "%s said %q and says %q", path, content, is)
				}
				return
			}
			check.That(t, r.Error && (c.code == "any" || strings.Contains(r.Text, c.code)), "%s", r.Text)
			check.Equal(t, fmt.Sprint(b.sources()), fmt.Sprint(was), "something changed")
			check.That(t, slices.Equal(b.layers(), []string{id}), "the layer is gone: %v", b.layers())
		})
	}
}

// sources are what a person has in a workspace.
func (b *bench) sources() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	for _, top := range []string{"src", "docs"} {
		check.OK(b.t, filepath.WalkDir(filepath.Join(b.dir, top), func(path string, d fs.DirEntry, err error) error {
			check.OK(b.t, err)
			switch text, err := os.ReadFile(path); {
			case d.IsDir():
			case d.Type()&fs.ModeSymlink != 0:
				all[path], err = os.Readlink(path)
				check.OK(b.t, err)
			default:
				check.OK(b.t, err)
				all[path] = string(text)
			}
			return nil
		}))
	}
	return all
}

// A file that somebody has open for writing is waited for, and then left alone.
func TestStagedBesideAWriter(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	id, _ := b.stages(s, "echo x >> src/a.txt; echo y > src/n.txt")
	f := check.Value(os.OpenFile(filepath.Join(b.dir, "src/a.txt"), os.O_WRONLY, 0))(t)
	b.Refused("BUSY", "commit_staged", args{"session": s, "staged_id": id})
	check.That(t, b.read("src/a.txt") == "one\ntwo\nthree\n" && !b.exists("src/n.txt"), "something was taken over")
	check.OK(t, f.Close())
	b.OK("commit_staged", args{"session": s, "staged_id": id})
}

// What a program may be working on is a conflict on every layer. The line works on the workspace itself when it is sent again, but
// where the settings want a layer.
func TestStagedBesideOthersAgain(t *testing.T) {
	t.Parallel()
	for line, code := range map[string]string{"echo x >> src/a.txt": "STALE_FILE", "echo x >> src/b.txt": "BUSY"} {
		for _, stage := range []settings.Choice{settings.Always, settings.Auto} {
			dir := newWorkspace(t)
			check.Write(t, dir, "src/a.txt-journal", "")
			check.Write(t, dir, "src/b.txt", "b\n")
			defer check.Value(os.OpenFile(filepath.Join(dir, "src/b.txt"), os.O_WRONLY, 0))(t).Close()
			b, s := start(t, dir, func(o *server.Options) { o.Settings.Commands.Stage = stage }).under("INT-001")
			r := b.Refused(code, "execute_command", args{"session": s, "command": line})
			check.Equal(t, strings.Contains(r.Text, "Send the same line again"), stage == settings.Auto, "%s: %s", stage, r.Text)
			if stage == settings.Always {
				b.Refused(code, "execute_command", args{"session": s, "command": line})
				continue
			}
			again := b.OK("execute_command", args{"session": s, "command": line})
			check.Equal(t, again.Str("direct_because"), "this line failed on a layer")
			check.That(t, strings.HasSuffix(b.read(strings.Fields(line)[3]), "\nx\n"), "%s", again.Text)
			b.Refused("STALE_FILE", "commit_staged", args{"session": s, "staged_id": r.Object["staged_id"]})
		}
	}
}

// Directories get the times that the command gave them, but for those that others have changed since.
func TestStagedDirectoryTimes(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "src/sub/old", "old\n")
	check.Write(t, dir, "src/other/old", "old\n")
	b, s := start(t, dir).under("INT-001")
	b.OK("execute_command", args{"session": s, "command": "mkdir -p src/fresh/in; echo x > src/fresh/in/f; rm src/sub/old; touch -d 2001-02-03T00:00:00Z src/sub src/fresh/in; touch -d 2002-03-04T00:00:00Z src/fresh"})
	b.OK("execute_command", args{"session": s, "command": "touch -d 2003-04-05T00:00:00Z src/other"})
	b.OK("execute_command", args{"session": s, "command": "echo more >> src/other/old"}) // which is no change of the directory
	for name, want := range map[string]string{"src/sub": "2001-02-03", "src/fresh/in": "2001-02-03", "src/fresh": "2002-03-04", "src/other": "2003-04-05"} {
		check.Equal(t, check.Value(os.Stat(filepath.Join(dir, name)))(t).ModTime().UTC().Format(time.DateOnly), want, "%s", name)
	}
}

// A yes to what a command did takes over just that; the command does not run again.
func TestApprovalShowsWhatACommandDid(t *testing.T) {
	t.Parallel()
	b, s := start(t, textFiles(t), asks).under("INT-001")
	call := args{"session": s, "command": "date +%N | tee out.md; echo four >> src/a.txt"}
	id := b.required("execute_command", call)
	request := check.Value(b.inbox().Get(id))(t)
	shown := fmt.Sprint(request.Diffs)
	check.That(t, request.Tool == "commit_staged" && strings.Contains(shown, "+four") && strings.Contains(shown, "out.md"), "%s: %s", request.Tool, shown)
	check.That(t, !b.exists("out.md"), "it was taken over")
	kept := check.Value(os.ReadFile(filepath.Join(b.dir, ".orchestration/state/layers", b.layers()[0], "0/upper/out.md")))(t)
	b.answers(id, approval.Once, "")
	b.OK("resume_approval", args{"session": s, "approval_id": id})
	check.That(t, b.read("out.md") == string(kept) && b.read("src/a.txt") == "one\ntwo\nthree\nfour\n" && len(b.layers()) == 0, "another content, or a layer is left")
}

// The rules of the operator look at what a command did, and stop it before it counts.
func TestRulesJudgeWhatACommandDid(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	rules := `    rules: [{name: no-eval, when: 'effect.kind in ["create", "modify"] && effect.after.contains("eval(")', action: refuse, message: "no eval"}]`
	check.Write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `    constraints: ["Use TypeScript"]`, rules, 1))
	b, s := start(t, dir, func(o *server.Options) { o.Settings.MutationClass = settings.Enforce }).under("INT-001")
	b.Refused("RULE_VIOLATION", "execute_command", args{"session": s, "command": "echo 'eval(x)' > src/e.js"})
	check.That(t, !b.exists("src/e.js"), "it was taken over")
	b.OK("execute_command", args{"session": s, "command": "echo 'even(x)' > src/e.js"})
	b.Refused("MUTATION_CLASS_MISMATCH", "execute_command", args{"session": s, "command": "echo 'other(x)' > src/e.js", "mutation_class": "AST_REFACTOR"})
	check.Equal(t, b.read("src/e.js"), "even(x)\n")
}

// Where a command works on the workspace itself, the answer says why; where the settings want a layer, it does not run.
func TestDirectCommandsSayWhy(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "command": "git status --short; echo x > src/g.txt"})
	check.That(t, strings.Contains(r.Str("direct_because"), "git") && b.read("src/g.txt") == "x\n", "%s", r.Text)
	b.Refused("INVALID_ARGUMENTS", "execute_command", args{"session": s, "command": "git status", "staged": true})
	b.Refused("INVALID_ARGUMENTS", "execute_command", args{"session": s, "command": "true", "staged": true, "background": true})
	b, s = start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Commands.Stage = settings.Always }).under("INT-001")
	b.Refused("COMMAND_BLOCKED", "execute_command", args{"session": s, "command": "git status"})
	b.OK("execute_command", args{"session": s, "command": "echo x > src/x"})
	b, s = start(t, newWorkspace(t), direct).under("INT-001")
	r = b.OK("execute_command", args{"session": s, "command": "true"})
	check.That(t, strings.Contains(r.Str("direct_because"), "commands.stage"), "%s", r.Text)
	_, r = b.stages(s, "echo x > src/x")
	check.That(t, !b.exists("src/x") && strings.Contains(r.Str("diff"), "+x"), "%s", r.Text)
}

// What is built is put in its place and counted, with no question about who else built meanwhile.
func TestStagedBuilds(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, "Cargo.toml", "")
	check.Write(t, dir, "target/debug/old", "old")
	check.Write(t, dir, "target/debug/gone/x", "x")
	check.Git(t, dir, "add", "Cargo.toml")
	check.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "cargo")
	b, s := start(t, dir).under("INT-001")
	b.OK("execute_command", args{"session": s, "command": "rm -r target/debug/gone; echo new | tee target/debug/old; mkdir -p target/release/deep; echo r | tee target/release/deep/r; ln -s deep/r target/release/l"})
	e := b.lastRecord(record.KindBuild)
	b.wantChanges(e, "created target/release/deep/r", "created target/release/l", "deleted target/debug/gone/x", "modified target/debug/old")
	check.That(t, b.read("target/release/l") == "r\n" && b.read("target/debug/old") == "new\n" && !b.exists("target/debug/gone") && len(b.layers()) == 0, "not built")
	check.That(t, !strings.Contains(attributes(t, filepath.Join(dir, "target/release")), "overlay"), "a mark is left")
	// With a change of a file, both or neither.
	id, _ := b.stages(s, "echo x >> src/a.txt; echo b | tee target/b")
	check.Write(t, dir, "src/a.txt", "theirs\n")
	check.Write(t, dir, "target/b", "theirs")
	b.Refused("STALE_FILE", "commit_staged", args{"session": s, "staged_id": id})
	check.Equal(t, b.read("target/b"), "theirs")
	b.OK("execute_command", args{"session": s, "command": "rm -rf target && mkdir target && echo b | tee target/b && echo x > src/b.txt"})
	check.That(t, b.read("target/b") == "b\n" && !b.exists("target/debug") && b.read("src/b.txt") == "x\n", "not built")
}

// A command that goes on in the background is taken over at its end.
func TestStagedCommandThatIsHandedOver(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.HandOverAfter(time.Nanosecond) })
	c := b.overHTTP()(modern)
	s := c.Selects("INT-001")
	r := c.OK("execute_command", args{"session": s, "command": "sleep 0.3; echo x > src/by.txt"})
	check.That(t, r.Object["running"] == true || b.exists("src/by.txt"), "%s", r.Text)
	var listed map[string]any
	b.eventually("it ends", func() bool {
		listed = c.commands(s)[0]
		return listed["running"] == false && listed["exit_code"] != nil
	})
	changed, _ := listed["changed_files"].([]any)
	check.That(t, len(changed) == 1 && b.read("src/by.txt") == "x\n" && len(b.layers()) == 0, "%v", listed)
}

// Layers have their time: what is too old is no longer there, and what a kill left goes with the next.
func TestLayersGo(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	for i := range staging.MaxKept + 2 {
		b.stages(s, fmt.Sprintf("echo %d > src/n", i))
	}
	check.Equal(t, len(b.layers()), staging.MaxKept)
	left := filepath.Join(b.dir, ".orchestration/state/layers/stg_LEFT")
	check.OK(t, os.MkdirAll(left, 0o700))
	check.Write(t, b.dir, ".orchestration/state/layers/stg_LEFT.lock", "")
	b.OK("execute_command", args{"session": s, "command": "true"})
	check.That(t, !slices.Contains(b.layers(), "stg_LEFT"), "what a kill left is there")
}

// A command that writes more than its layer may have is ended, and leaves nothing.
func TestLayersAreBounded(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), func(o *server.Options) { o.BoundLayers(4 << 20) }).under("INT-001")
	r := b.OK("execute_command", args{"session": s, "command": "echo x > src/n; head -c 64M /dev/urandom > src/big; sleep 600", "timeout": 900})
	check.That(t, strings.Contains(r.Text, "more than 4 MiB") && !b.exists("src/n") && !b.exists("src/big") && len(b.layers()) == 0, "%s", r.Text)
}
