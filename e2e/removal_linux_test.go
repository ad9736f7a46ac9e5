package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// generated is an intent whose scope is files of one name, so that at the level
// full the directory has to be writable for more than the scope.
const generated = intentsYAML + `  - id: INT-006
    name: Generate
    status: IN_PROGRESS
    owned_scope: ["gen/*.pb.go"]
`

// New entries out of scope, where the boundary had to be wider than the scope,
// are gone after the command, and result and record say so; what was there
// before, or is in scope, stays as it is.
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
			a := w.startedOn(m, unjudged).agent()
			session := a.selects("INT-006")
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
				r := a.refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"session": session, "command": c.line})
				told := violations(r)
				for _, path := range c.gone {
					if reverted, is := told[path]; !is || !reverted {
						t.Errorf("%s: %s is not told as removed: %v", name, path, told)
					}
					w.wantRecord(`"kind":"command"`, r.str("record_id"), `"path":"`+path+`"`, `"reverted":true`)
				}
				left, err := os.ReadDir(w.path("gen"))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range left {
					if !slices.Contains([]string{"a.pb.go", "keep.txt", "new.pb.go"}, e.Name()) {
						t.Errorf("%s: %q is there: %s", name, e.Name(), r.text())
						_ = os.Chmod(filepath.Join(w.path("gen"), e.Name()), 0o700)
						_ = os.RemoveAll(filepath.Join(w.path("gen"), e.Name()))
					}
				}
				w.want("gen/a.pb.go", "package gen\n")
				w.want("gen/keep.txt", "keep\n")
			}
			w.want("gen/new.pb.go", "x\n")
			// What had its name taken away beside the scope can still be written in it.
			a.ok("execute_command", args{"session": session, "command": "echo '// more' >> gen/a.pb.go"})
			w.want("gen/a.pb.go", "package gen\n// more\n")
		})
	}
}

// violations are the paths that a refusal names, and whether each was taken
// back.
func violations(r answer) map[string]bool {
	told := map[string]bool{}
	list, _ := r.details()["violations"].([]any)
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
	p := w.initialized()
	session := p.agent().selects("INT-006")
	p.send(callLine("c", "execute_command", args{"session": session, "command": "echo > gen/began.pb.go; until [ -e gen/go.pb.go ]; do sleep 0.05; done"}))
	eventually(t, "the command runs", func() bool { return readAll(w.path("gen/began.pb.go")) != "" })
	w.write("gen/draft.txt", "hours of work\n")
	w.write("gen/keep.txt", "an editor's\n")
	w.write("gen/go.pb.go", "")
	told := violations(p.await("c").result(t))
	if len(told) != 2 || !told["gen/draft.txt"] || told["gen/keep.txt"] {
		t.Errorf("told: %v", told)
	}
	if _, err := os.Stat(w.path("gen/draft.txt")); !os.IsNotExist(err) {
		t.Errorf("the new file: %v", err)
	}
	w.want("gen/keep.txt", "an editor's\n")
	kept, _ := filepath.Glob(w.path(".orchestration/cache/removed/*/gen/draft.txt"))
	if len(kept) != 1 || readAll(kept[0]) != "hours of work\n" {
		t.Errorf("kept: %q", kept)
	}
	w.wantRecord(`"kind":"command"`, `"removed_kept_in":".orchestration/cache/removed/`)
}
