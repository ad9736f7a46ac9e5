package corpus_test

import (
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

// TestExchangedDirectoriesLoseNothing: while a server takes back what a command
// made, somebody exchanges the directory with one of governance files that have
// the same names. None of these is lost, and none is taken away.
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
