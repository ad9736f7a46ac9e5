package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestExchangedDirectoriesLoseNothing: while a server takes back what a command
// made, somebody exchanges the directory with one of governance files that have
// the same names. None of these is lost, and none is taken away.
func TestExchangedDirectoriesLoseNothing(t *testing.T) {
	const files = 300
	rounds := 1
	if os.Getenv("ORCHESTRA_LONG") != "" {
		rounds = 4
	}
	kinds := map[string]string{
		"FIFOs":       "os.mkfifo(n)",
		"links":       "os.symlink('x', n)",
		"files":       "open(n, 'x').write('planted')",
		"directories": "os.mkdir(n)",
	}
	if rounds == 1 {
		delete(kinds, "FIFOs")
		delete(kinds, "files")
	}
	program := testProgram(t)
	for _, user := range []bool{false, true} {
		if !user && (os.Getuid() != 0 || rounds == 1) {
			continue
		}
		t.Run(who(sandbox.None, user), func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, sandbox.None, user, false)
			w.reverts = true
			name := func(i int) string { return fmt.Sprintf("f%03d", i) }
			for _, dir := range []string{"ws/src/.vscode", "ws/docs/.orchestration"} {
				check(t, os.MkdirAll(filepath.Join(w.top, dir), 0o755))
			}
			for i := range files {
				w.put("ws/docs/.orchestration/"+name(i), "governance "+name(i)+"\n")
			}
			w.own()
			w.begin(program)
			for kind, makes := range kinds {
				w.put("ws/src/make.py", "import os\nfor i in range("+fmt.Sprint(files)+"):\n    n = 'src/.vscode/f%03d' % i\n    try: "+makes+"\n    except FileExistsError: pass\nopen('src/done', 'w')\n")
				for range rounds {
					ended := make(chan struct{})
					exchanged := make(chan int)
					go func() { exchanged <- w.exchange("src/done", "src/.vscode", "docs/.orchestration", ended) }()
					w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "python3 src/make.py"})
					close(ended)
					times := <-exchanged
					var lost []string
					for i := range files {
						content := "governance " + name(i) + "\n"
						if readFile(filepath.Join(w.ws, "src/.vscode", name(i))) != content && readFile(filepath.Join(w.ws, "docs/.orchestration", name(i))) != content {
							lost = append(lost, name(i))
						}
					}
					if len(lost) > 0 {
						t.Errorf("%s, exchanged %d times: %d of %d are gone: %s", kind, times, len(lost), files, strings.Join(lost[:min(5, len(lost))], " "))
					}
					w.settle(files, name)
				}
			}
			check(t, w.server.end())
		})
	}
}

// exchange gives two directories each other's names, from when a file is there
// until it is told to end.
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

// settle makes both directories as they were.
func (w *world) settle(files int, name func(int) string) {
	w.t.Helper()
	for _, dir := range []string{"ws/src/.vscode", "ws/docs/.orchestration"} {
		check(w.t, os.RemoveAll(filepath.Join(w.top, dir)))
		check(w.t, os.MkdirAll(filepath.Join(w.top, dir), 0o755))
		w.mine(filepath.Join(w.top, dir))
	}
	for i := range files {
		w.put("ws/docs/.orchestration/"+name(i), "governance "+name(i)+"\n")
	}
	check(w.t, os.Remove(filepath.Join(w.ws, "src/done")))
}

// readFile is the content of a regular file, "" for everything else.
func readFile(path string) string {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	content, _ := os.ReadFile(path)
	return string(content)
}
