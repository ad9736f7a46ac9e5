package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// fewTrees are tried each time, with -short the first two.
func fewTrees() []string {
	few := []string{
		"one closed above a file that must be masked", "one that is so long that what is in it has no path",
		"20 × 255 bytes, closed", "15 × 255 bytes, not passable", "2500 directories, secret",
	}
	if testing.Short() {
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
			if !user && os.Getuid() != 0 || os.Getenv("ORCHESTRA_LONG") == "" && !(user && level == all[len(all)-1]) {
				continue
			}
			t.Run(who(level, user), func(t *testing.T) {
				t.Parallel()
				w := emptyWorld(t, level, user, false)
				w.reverts = true
				check(t, os.MkdirAll(filepath.Join(w.ws, "src/masked"), 0o755))
				w.put("ws/src/masked/.envrc", "of the operator\n")
				w.own()
				w.begin(program)
				for name, script := range deepTrees() {
					if os.Getenv("ORCHESTRA_LONG") == "" && !slices.Contains(fewTrees(), name) {
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
					if left := w.beyond("src"); left > 0 {
						t.Errorf("%s: there are %d bytes of path", name, left)
					}
					for _, again := range []string{"n" + strings.Repeat("n", 254), "d", "e" + strings.Repeat("e", 254)} {
						_ = os.RemoveAll(filepath.Join(w.ws, "src", again))
					}
					check(t, os.Chmod(filepath.Join(w.ws, "src/masked"), 0o755))
				}
				check(t, w.server.end())
			})
		}
	}
}

// beyond is the length of a path below a directory that is longer than tools
// take, 0 if there is none.
func (w *world) beyond(dir string) int {
	w.t.Helper()
	root, err := os.OpenRoot(w.ws)
	check(w.t, err)
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
