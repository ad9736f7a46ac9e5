package corpus_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// governed is the number of governance files that somebody exchanges.
const governed = 300

func governedName(i int) string { return fmt.Sprintf("f%03d", i) }

// TestExchangedDirectoriesLoseNothing: while a server takes back what a command made, somebody exchanges the directory
// with one of governance files that have the same names. None of these is lost, and none is taken away.
func TestExchangedDirectoriesLoseNothing(t *testing.T) {
	long := check.Long()
	program := testProgram(t)
	all := levels(t)
	for _, level := range all {
		for _, user := range []bool{false, true} {
			for _, foreign := range []bool{false, true} {
				if !user && os.Getuid() != 0 || !long && (!user || foreign || (level != sandbox.None || check.Short()) && level != all[len(all)-1]) {
					continue
				}
				t.Run(fmt.Sprintf("%s/other server %v", who(level, user), foreign), func(t *testing.T) {
					t.Parallel()
					w := exchanging(t, level, user)
					w.begin(program)
					if foreign {
						other := w.serves(program)
						end := other.behind(other.call("select_active_intent", args{"intent_id": "ALL"}).text("session"), idles)
						defer func() {
							end()
							check.OK(t, other.end())
						}()
					}
					kinds := []struct{ name, makes string }{
						{"links", "os.symlink('x', n)"}, {"directories", "os.mkdir(n)"},
						{"FIFOs", "os.mkfifo(n)"}, {"files", "open(n, 'x').write('planted')"},
					}
					if !long {
						kinds = kinds[min(1, slices.Index(all, level)):][:1]
					}
					for _, kind := range kinds {
						for range check.Rounds(1, 4) {
							w.exchanged(kind.name, kind.makes)
						}
					}
					check.OK(t, w.server.end())
				})
			}
		}
	}
}

// exchanging is a world with governance files in docs.
func exchanging(t *testing.T, level sandbox.Level, user bool) *world {
	t.Helper()
	w := emptyWorld(t, level, user, false)
	w.reverts = true
	w.governance()
	w.own()
	return w
}

// exchanged is one round of a kind of planted names.
func (w *world) exchanged(kind, makes string) {
	w.t.Helper()
	w.put("ws/src/make.py", "import os\nos.mkdir('src/.vscode')\nfor i in range("+fmt.Sprint(governed)+"):\n    n = 'src/.vscode/f%03d' % i\n    "+makes+
		"\nopen('src/done', 'w')\n")
	ended := make(chan struct{})
	exchanged := make(chan int)
	go func() { exchanged <- w.exchange("src/done", "src/.vscode", "docs/.orchestration", ended) }()
	w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "python3 src/make.py"})
	close(ended)
	times := <-exchanged
	var lost []string
	for i := range governed {
		name := governedName(i)
		content := "governance " + name + "\n"
		if readFile(filepath.Join(w.ws, "src/.vscode", name)) != content && readFile(filepath.Join(w.ws, "docs/.orchestration", name)) != content {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		w.t.Errorf("%s, exchanged %d times: %d of %d are gone: %s", kind, times, len(lost), governed, strings.Join(lost[:min(5, len(lost))], " "))
	}
	check.OK(w.t, os.Remove(filepath.Join(w.ws, "src/done")))
	w.governance()
}

// exchange gives two directories each other's names, from when a file is there until it is told to end.
func (w *world) exchange(when, one, other string, ended chan struct{}) (times int) {
	top, err := unix.Open(w.ws, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(top)
	var info unix.Stat_t
	for unix.Fstatat(top, when, &info, 0) != nil {
		select {
		case <-ended:
			return 0
		default:
		}
	}
	for {
		select {
		case <-ended:
			return times
		default:
			if unix.Renameat2(top, one, top, other, unix.RENAME_EXCHANGE) == nil {
				times++
			}
		}
	}
}

// governance makes the directory that is exchanged with what a command makes, as it is before each round.
func (w *world) governance() {
	w.t.Helper()
	for _, dir := range []string{"src/.vscode", "docs/.orchestration"} {
		check.OK(w.t, os.RemoveAll(filepath.Join(w.ws, dir)))
	}
	check.OK(w.t, os.Mkdir(filepath.Join(w.ws, "docs/.orchestration"), 0o755))
	w.mine(filepath.Join(w.ws, "docs/.orchestration"))
	for i := range governed {
		w.put("ws/docs/.orchestration/"+governedName(i), "governance "+governedName(i)+"\n")
	}
}

// readFile is the content of a regular file, "" for everything else.
func readFile(path string) string {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	content, _ := os.ReadFile(path)
	return string(content)
}

// deepTrees are what a command makes in scope and no later command may suffer from: deeper than paths reach, with names
// that must be masked at the bottom, and closed.
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

// beyond is the length of a path below a directory that is longer than tools take, 0 if there is none.
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

// TestAKilledCommandIsJudged: what a command changed out of scope before it killed its server is a violation in the
// record that settles it, and stays as it is.
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
