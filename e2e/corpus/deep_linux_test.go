package corpus_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// deepTrees are what a command makes in scope and no later command may suffer
// from: deeper than paths reach, with names that must be masked at the bottom,
// and closed.
func deepTrees() map[string]string {
	const into = "import os\ndef into(n):\n    try: os.mkdir(n)\n    except FileExistsError: pass\n    os.chdir(n)\n"
	down := func(name, times, bottom string) string {
		return into + "os.chdir('src')\nfor _ in range(" + times + "): into(" + name + ")\n" + bottom
	}
	bottoms := map[string]string{
		".envrc":       "open('.envrc', 'w').write('x')\n",
		"nested .git":  "into('.git'); into('hooks'); open('post-checkout', 'w').write('x')\n",
		"secret":       "into('private'); open('key', 'w').write('x')\n",
		"a file":       "open('file', 'w').write('x')\n",
		"closed":       "open('.envrc', 'w').write('x')\nos.chmod('.', 0)\n",
		"not readable": "open('.envrc', 'w').write('x')\nos.chmod('.', 0o300)\n",
		"not passable": "open('.envrc', 'w').write('x')\nos.chmod('.', 0o400)\n",
	}
	trees := map[string]string{
		"one closed above a file that must be masked":        "import os\nos.chmod('src/masked', 0o400)\n",
		"one closed to all above one that must be masked":    "import os\nos.chmod('src/masked', 0)\n",
		"one that is so long that what is in it has no path": into + "os.chdir('src')\nwhile len(os.getcwd()) < 3830: into('e' * min(255, 3830 - len(os.getcwd())))\ninto('.vscode'); open('f' * 255, 'w').write('x')\n",
	}
	for name, bottom := range bottoms {
		trees["20 × 255 bytes, "+name] = down("'n' * 255", "20", bottom)
		trees["15 × 255 bytes, "+name] = down("'n' * 255", "15", bottom)
		trees["300 directories, "+name] = down("'d'", "300", bottom)
		trees["2500 directories, "+name] = down("'d'", "2500", bottom)
	}
	return trees
}

// fewTrees are tried each time, under the race detector the first two.
func fewTrees() []string {
	few := []string{
		"one closed above a file that must be masked", "one that is so long that what is in it has no path",
		"20 × 255 bytes, closed", "15 × 255 bytes, not passable", "2500 directories, secret",
	}
	if check.Short() {
		return few[:2]
	}
	return few
}

// TestDeepTreesHarmNoLaterCommand: whatever a command makes in scope, however
// deep, later commands start, and what no path can name is not there.
func TestDeepTreesHarmNoLaterCommand(t *testing.T) {
	program := testProgram(t)
	all := levels(t)
	for _, level := range all {
		for _, user := range []bool{false, true} {
			if !user && os.Getuid() != 0 || !check.Long() && !(user && level == all[len(all)-1]) {
				continue
			}
			t.Run(who(level, user), func(t *testing.T) {
				t.Parallel()
				w := emptyWorld(t, level, user, false)
				w.reverts = true
				check.OK(t, os.MkdirAll(filepath.Join(w.ws, "src/masked"), 0o755))
				w.put("ws/src/masked/.envrc", "of the operator\n")
				w.own()
				w.begin(program)
				for name, script := range deepTrees() {
					if !check.Long() && !slices.Contains(fewTrees(), name) {
						continue
					}
					w.put("ws/src/deep.py", script)
					w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "python3 src/deep.py"})
					for _, intent := range []string{"SRC", "ALL", "GEN"} {
						a := w.server.call("execute_command", args{"session": w.sessions[intent], "command": "true"})
						if a.text("error_type") != "" && a.text("error_type") != "COMMAND_OUT_OF_SCOPE" {
							t.Errorf("%s: %s: %.300s", name, intent, fmt.Sprint(a.Fields))
						}
					}
					left := w.beyond("src")
					check.That(t, left <= 0, "%s: there are %d bytes of path", name, left)
					for _, again := range []string{"n" + strings.Repeat("n", 254), "d", "e" + strings.Repeat("e", 254)} {
						_ = os.RemoveAll(filepath.Join(w.ws, "src", again))
					}
					check.OK(t, os.Chmod(filepath.Join(w.ws, "src/masked"), 0o755))
				}
				check.OK(t, w.server.end())
			})
		}
	}
}

// beyond is the length of a path below a directory that is longer than tools
// take, 0 if there is none.
func (w *world) beyond(dir string) int {
	w.t.Helper()
	root, err := os.OpenRoot(w.ws)
	check.OK(w.t, err)
	defer root.Close()
	return beyond(root, dir)
}

func beyond(root *os.Root, at string) int {
	if len(at) > 4096 {
		return len(at)
	}
	name := filepath.Base(at)
	inner, err := root.OpenRoot(name)
	if err != nil {
		return 0
	}
	defer inner.Close()
	dir, err := inner.Open(".")
	if err != nil {
		return 0
	}
	entries, _ := dir.ReadDir(-1)
	dir.Close()
	for _, e := range entries {
		if len(at)+1+len(e.Name()) > 4096 {
			return len(at) + 1 + len(e.Name())
		}
		if e.IsDir() {
			if left := beyond(inner, at+"/"+e.Name()); left > 0 {
				return left
			}
		}
	}
	return 0
}

// TestAKilledCommandIsJudged: what a command changed out of scope before it
// killed its server is a violation in the record that settles it, and stays as
// it is.
func TestAKilledCommandIsJudged(t *testing.T) {
	w := newWorld(t, sandbox.None, false, false, testProgram(t))
	if got := w.server.call("execute_command", args{"session": w.sessions["SRC"],
		"command": w.fill("echo x | tee src/new docs/other.md; echo y | tee docs/made; git -C . rev-parse HEAD > /dev/null; kill -9 {PID}; sleep 5")}); !got.Gone {
		t.Fatalf("the server answered: %v", got.Fields)
	}
	_ = w.server.end()
	w.put("src/later", "of the user\n")
	w.server = w.serves(w.server.cmd.Path)
	got := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "true"})
	check.Must(t, !got.IsError, "the next command: %v", got.Fields)
	settled := w.settled()
	var paths []string
	for _, v := range settled.Violations {
		paths = append(paths, v.Path)
		check.That(t, strings.Contains(v.Reason, "somebody else") && !v.Reverted, "%+v", v)
	}
	slices.Sort(paths)
	check.That(t, slices.Equal(paths, []string{"docs/made", "docs/other.md"}), "violations %q", paths)
	law, _ := settled.Detail["judged_by"].(map[string]any)
	scope, _ := law["scope"].([]any)
	check.That(t, len(scope) == 1 && scope[0] == "src/**" && law["git"] == true, "judged by %v", settled.Detail["judged_by"])
	problems := w.verify()
	check.That(t, len(problems) == 0, "verify: %+v", problems)
	check.OK(t, w.server.end())
}

type settledRecord struct {
	Kind       string
	Violations []struct {
		Path, Reason string
		Reverted     bool
	}
	Detail map[string]any
}

// settled is the record of the command that a crash ended.
func (w *world) settled() settledRecord {
	w.t.Helper()
	for line := range strings.Lines(w.ledger()) {
		var r struct{ Metadata map[string]settledRecord }
		check.OK(w.t, json.Unmarshal([]byte(line), &r))
		if own := r.Metadata["orchestra-mcp"]; own.Kind == "recovered" {
			return own
		}
	}
	w.t.Fatal("nothing was settled")
	return settledRecord{}
}

// testProgram is this test binary where every user can start it.
func testProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(shared(t), "server")
	content, err := os.ReadFile("/proc/self/exe")
	check.OK(t, err)
	check.OK(t, os.WriteFile(program, content, 0o755))
	return program
}
