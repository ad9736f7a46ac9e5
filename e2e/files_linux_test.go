package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	files "github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// temps are the private directories of commands that there are.
func (w *workspace) temps() []string {
	w.t.Helper()
	found := check.Value(filepath.Glob(filepath.Join(w.home, "orchestra-run-*")))(w.t)
	return found
}

// The private temporary directory of a command goes with it, also where the command closed it; that of a killed server
// goes with the first command of whatever server comes next, and no other does.
func TestPrivateTempsOfKilledServer(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p, neighbour := w.startedOn(m, direct, unjudged), w.startedOn(m, direct, unjudged)
			session := p.agent().Selects("INT-001")
			p.agent().OK("execute_command", args{"session": session, "command": "mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR"})
			left := w.temps()
			check.That(t, len(left) == 0, "after the command: %q", left)
			const hold = "mkdir $TMPDIR/deep && echo x > $TMPDIR/deep/file && chmod 0 $TMPDIR/deep && touch src/held-$N; sleep 300"
			a := neighbour.agent()
			kept, _ := a.behind(a.Selects("INT-005"), "N=kept; "+hold)
			w.appears("src/held-kept")
			before := w.temps()
			p.send(callLine("held", "execute_command", args{"session": session, "command": "N=killed; " + hold}))
			w.appears("src/held-killed")
			p.kill()
			// Nobody's: a file and a link of such a name, and a directory that is named otherwise.
			for _, name := range []string{"orchestra-run-1", "orchestra-run-x", "orchestra-run-"} {
				check.OK(t, os.WriteFile(filepath.Join(w.home, name), nil, 0o600))
			}
			others := filepath.Join(w.home, "orchestra-run-mine")
			check.OK(t, os.Mkdir(others, 0o700))
			check.OK(t, os.Symlink(w.path("src"), filepath.Join(w.home, "orchestra-run-2")))
			now := w.temps()
			check.Must(t, len(now) == len(before)+1+5, "the test shows nothing: %q", now)
			next := w.startedOn(m, unjudged).agent()
			next.OK("execute_command", args{"session": session, "command": "true"})
			eventually(t, "the directory of the killed server is gone, and only that", func() bool { return len(w.temps()) == len(before)+5 })
			_, err := os.Stat(before[0])
			check.That(t, err == nil, "the directory of a server that lives is gone: %v", err)
			w.want("src/a.txt", "one\ntwo\nthree\n")
			check.Equal(t, a.OK("stop_command", args{"session": a.Selects("INT-005"), "command_id": kept}).Object["running"], false)
			if now := w.temps(); len(now) != 5 {
				t.Errorf("at the end: %q", now)
			}
		})
	}
}

// generated is an intent whose scope is files of one name, so that at the level
// full the directory has to be writable for more than the scope.
const generated = intentsYAML + `  - id: INT-006
    name: Generate
    status: IN_PROGRESS
    owned_scope: ["gen/*.pb.go"]
`

// New entries out of scope, where the boundary had to be wider than the scope, are gone after the command, and result
// and record say so; what was there before, or is in scope, stays as it is.
func TestNewEntriesOutOfScopeAreRemoved(t *testing.T) {
	all := machines(t)
	if all[0].level != "full" {
		t.Log("there is no level full here")
		return
	}
	ordinary := all[0]
	ordinary.name, ordinary.ordinary = "full, an ordinary user", true
	for _, m := range []machine{all[0], ordinary} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(".orchestration/active_intents.yaml", generated)
			w.write("gen/a.pb.go", "package gen\n")
			w.write("gen/keep.txt", "keep\n")
			a := w.startedOn(m, direct, unjudged).agent()
			session := a.Selects("INT-006")
			for name, c := range map[string]struct {
				line string
				gone []string // paths that are told as violations
			}{
				"a file":            {"echo x > gen/new.pb.go; echo x | tee gen/new.txt", []string{"gen/new.txt"}},
				"a tree":            {"mkdir -p gen/sub/deep/empty && touch gen/sub/one gen/sub/deep/two.pb.go", []string{"gen/sub/one", "gen/sub/deep/two.pb.go"}},
				"an empty tree":     {"mkdir -p gen/no/thing", []string{"gen/no"}},
				"a link":            {"ln -s keep.txt gen/link; ln -s / gen/root", []string{"gen/link", "gen/root"}},
				"a hard link":       {"ln gen/a.pb.go gen/hard.txt", []string{"gen/hard.txt"}},
				"a FIFO":            {"mkfifo gen/fifo", []string{"gen/fifo"}},
				"a socket":          {"python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"gen/socket\")'", []string{"gen/socket"}},
				"without rights":    {"mkdir gen/closed && touch gen/closed/file && chmod 0 gen/closed/file && chmod 0500 gen/closed", []string{"gen/closed/file"}},
				"a shut directory":  {"mkdir gen/shut && touch gen/shut/file && chmod 0 gen/shut", nil},
				"an awkward name":   {"touch \"gen/-rf\" 'gen/a b' $'gen/new\\nline'", []string{"gen/-rf", "gen/a b"}},
				"one that was open": {"python3 -c 'import time; f = open(\"gen/open.txt\", \"w\"); f.write(\"x\"); f.flush(); time.sleep(60)' & until [ -s gen/open.txt ]; do sleep 0.05; done", []string{"gen/open.txt"}},
			} {
				r := a.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": session, "command": c.line})
				told := violations(r)
				for _, path := range c.gone {
					reverted, is := told[path]
					check.That(t, is && reverted, "%s: %s is not told as removed: %v", name, path, told)
					w.wantRecord(`"kind":"command"`, r.Str("record_id"), `"path":"`+path+`"`, `"reverted":true`)
				}
				left := check.Value(os.ReadDir(w.path("gen")))(t)
				for _, e := range left {
					if !slices.Contains([]string{"a.pb.go", "keep.txt", "new.pb.go"}, e.Name()) {
						t.Errorf("%s: %q is there: %s", name, e.Name(), r.Text)
						_ = os.Chmod(filepath.Join(w.path("gen"), e.Name()), 0o700)
						_ = os.RemoveAll(filepath.Join(w.path("gen"), e.Name()))
					}
				}
				w.want("gen/a.pb.go", "package gen\n")
				w.want("gen/keep.txt", "keep\n")
			}
			w.want("gen/new.pb.go", "x\n")
			// What had its name taken away beside the scope can still be written in it.
			a.OK("execute_command", args{"session": session, "command": "echo '// more' >> gen/a.pb.go"})
			w.want("gen/a.pb.go", "package gen\n// more\n")
		})
	}
}

// violations are the paths that a refusal names, and whether each was taken back.
func violations(r answer) map[string]bool {
	told := map[string]bool{}
	list, _ := r.Details()["violations"].([]any)
	for _, each := range list {
		v, _ := each.(map[string]any)
		path, _ := v["path"].(string)
		told[path], _ = v["reverted"].(bool)
	}
	return told
}

// What an editor outside makes while a command runs cannot be told from the
// command's own. It is taken away, and not lost.
func TestEditorsNewFileDuringACommand(t *testing.T) {
	t.Parallel()
	if machines(t)[0].level != "full" {
		t.Log("there is no level full here")
		return
	}
	w := newWorkspace(t)
	w.write(".orchestration/active_intents.yaml", generated)
	w.write("gen/a.pb.go", "package gen\n")
	w.write("gen/keep.txt", "keep\n")
	p := w.initialized(direct)
	session := p.agent().Selects("INT-006")
	p.send(callLine("c", "execute_command", args{"session": session, "command": "echo > gen/began.pb.go; until [ -e gen/go.pb.go ]; do sleep 0.05; done"}))
	eventually(t, "the command runs", func() bool { return readAll(w.path("gen/began.pb.go")) != "" })
	w.write("gen/draft.txt", "hours of work\n")
	w.write("gen/keep.txt", "an editor's\n")
	w.write("gen/go.pb.go", "")
	told := violations(p.await("c").result(t))
	check.That(t, len(told) == 2 && told["gen/draft.txt"] && !told["gen/keep.txt"], "told: %v", told)
	_, err := os.Stat(w.path("gen/draft.txt"))
	check.That(t, os.IsNotExist(err), "the new file: %v", err)
	w.want("gen/keep.txt", "an editor's\n")
	kept, _ := filepath.Glob(w.path(".orchestration/cache/removed/*/gen/draft.txt"))
	check.That(t, len(kept) == 1 && readAll(kept[0]) == "hours of work\n", "kept: %q", kept)
	w.wantRecord(`"kind":"command"`, `"removed_kept_in":".orchestration/cache/removed/`)
}

// mapper stores as much as gives the file another time of change, and when it is told to, what does not.
const mapper = `import mmap, sys
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 0)
f.close()
m[0:1] = m[0:1]
open("src/ready", "w").close()
open("src/go").close()
m[0:4] = b"more"
open("src/done", "w").close()
open("src/end").close()
`

// A command in the background writes through a mapping before and after commands of another session, of its server and of
// another: its record has what stands there at its end, what is out of scope is a violation, and the others have none of it.
// Without ORCHESTRA_LONG=1 each level has one or two servers by turns.
func TestMappedBesideOtherCommands(t *testing.T) {
	for i, m := range machines(t) {
		for _, servers := range []int{1, 2} {
			if !check.Long() && (i+servers)%2 != 0 {
				continue
			}
			file, content := "src/a.txt", "one\ntwo\nthree\n"
			if m.level == "none" {
				file, content = "other/keep.md", "one\n"
			}
			t.Run(fmt.Sprintf("%s/%d", m.name, servers), func(t *testing.T) {
				t.Parallel()
				mappedBeside(t, m, servers, file, content)
			})
		}
	}
}

func mappedBeside(t *testing.T, m machine, servers int, file, content string) {
	dir := check.Value(os.MkdirTemp("/var/tmp", "orchestra-e2e-"))(t) // a file system in memory tells no time of what is mapped
	t.Cleanup(func() { check.NoError(t, os.RemoveAll(dir)) })
	w := newWorkspaceAt(t, dir)
	w.remove(".git")
	w.write(file, content)
	w.flushed(file) // else the kernel may write it back for the sake of the ledger's records
	w.write("src/mapper.py", mapper)
	for _, name := range []string{"ready", "go", "done", "end"} {
		check.OK(t, mkfifo(w.path("src/"+name)))
	}
	p := w.startedOn(m, direct, unjudged)
	q := p
	if servers == 2 {
		q = w.startedOn(m, direct, unjudged)
	}
	a, b := p.agent(), q.agent()
	first, second := a.Selects("INT-001"), b.Selects("INT-002")
	id, _ := a.behind(first, "python3 -IS src/mapper.py "+file)
	w.meets("src/ready", os.O_RDONLY)
	for range 3 { // the last of the looks is long after the first store
		got := changed(b.OK("execute_command", args{"session": second, "command": "true"}).Object)
		check.That(t, len(got) == 0, "a command that changes nothing is charged with %q", got)
	}
	w.meets("src/go", os.O_WRONLY)
	w.meets("src/done", os.O_RDONLY)
	if got := changed(b.OK("execute_command", args{"session": second, "command": "echo x >> docs/other.md"}).Object); len(got) != 1 || got[0] != "docs/other.md" {
		t.Errorf("another command is charged with %q", got)
	}
	w.meets("src/end", os.O_WRONLY)
	a.endedJob(first, id)
	after := "more" + content[4:]
	w.want(file, after)
	w.wantRecord(`"kind":"command"`, `"path":"`+file+`"`, `"before":"`+string(files.HashOf([]byte(content)))+`"`, `"after":"`+string(files.HashOf([]byte(after)))+`"`)
	if m.level == "none" {
		w.wantRecord(`"kind":"command"`, `"violations":[`, `"path":"`+file+`"`)
	}
	b.Call("execute_command", args{"session": b.Selects("INT-001"), "command": "echo last | tee -a " + file})
	w.wantRecord(`"kind":"command"`, `"path":"`+file+`"`, `"before":"`+string(files.HashOf([]byte(after)))+`"`)
}

// flushed has the kernel write a file back.
func (w *workspace) flushed(name string) {
	w.t.Helper()
	f := check.Value(os.Open(w.path(name)))(w.t)
	defer f.Close()
	check.OK(w.t, f.Sync())
}

// letsPass lets all pass who wait, or will, until a FIFO has a writer.
func (w *workspace) letsPass(name string) {
	w.t.Helper()
	f := check.Value(os.OpenFile(w.path(name), os.O_RDWR, 0))(w.t)
	w.t.Cleanup(func() { f.Close() })
}

// meets waits at a FIFO for its other end.
func (w *workspace) meets(name string, flag int) {
	w.t.Helper()
	f := check.Value(os.OpenFile(w.path(name), flag, 0))(w.t)
	f.Close()
}
