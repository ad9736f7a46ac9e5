//go:build unix

package shell_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Whatever hides a program from a rule that names it is seen, or said to be unjudged: each way of hiding is read in
// each wrapping, and what is not seen is run by the real shell. Only what that really ran counts.
func TestHiddenPrograms(t *testing.T) {
	program := check.Value(exec.LookPath("bash"))(t)
	stage := newStage(t, program, shell.Bash)
	stage.link(t, "flock", "setarch", "chrt", "ionice", "taskset", "prlimit", "unshare", "script", "strace", "watch", "awk", "sed", "make", "tar", "vim", "ed", "split",
		"sort", "true", "git", "python3", "node", "npx", "npm", "dd", "base64", "tr", "rev", "printf", "mktemp", "rm", "cp", "tee", "chmod", "sleep", "echo", "ls", "start-stop-daemon", "perl", "man", "less", "rsync", "gcc", "cmake", "openssl", "head", "nsenter", "setpriv", "run-parts", "chroot", "getopt", "ld", "uname", "ln", "go")
	random := rand.New(rand.NewPCG(*seed, 1))
	long := check.Long()
	lines, tried, ran, unseen := 0, 0, 0, 0
	for _, way := range ways() {
		for _, wrapping := range wrappings() {
			lines++
			at := filepath.Join(stage.dir, fmt.Sprint(stage.lines+1), "bin")
			line := strings.ReplaceAll(wrapping(way), "@BIN@", at)
			r := shell.Read(line, shell.Bash)
			seen := len(r.Unjudged) > 0 || strings.Contains(" "+names(r)+" ", " p0 ")
			// What is seen needs no shell; some of it is run to know that the ways are ways.
			if seen && random.IntN(map[bool]int{true: 8, false: 240}[long]) > 0 {
				continue
			}
			tried++
			if started, _ := stage.run(t, line); !slices.Contains(started, "p0") {
				continue
			}
			ran++
			if !seen {
				unseen++
				t.Errorf("%q runs p0, and the reading has only %q", line, names(r))
			}
		}
	}
	t.Logf("%d lines; of %d that were run %d ran the program, %d of them unseen", lines, tried, ran, unseen)
	check.That(t, ran >= tried/3, "the ways do not test much: %d of %d ran the program", ran, tried)
}

func (s *stage) link(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(s.bin, name)); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// wrappings put a line where shells have code. The first leaves it alone.
func wrappings() []func(string) string {
	form := func(format string) func(string) string {
		return func(line string) string { return fmt.Sprintf(format, line) }
	}
	quoted := func(format string) func(string) string {
		return func(line string) string {
			return fmt.Sprintf(format, "'"+strings.ReplaceAll(line, "'", `'\''`)+"'")
		}
	}
	return []func(string) string{
		form("%s"), form("true; %s"), form("(%s\n)"), form("{ %s\n}"), form("if true; then %s\nfi"), form("for q in 1; do %s\ndone"), form("f() { %s\n}; f"),
		form("case 1 in 1) %s\n;; esac"), form("true && {\n%s\n}"), form("x$(%s\n)=1"), form(": \"$(%s\n)\""), form("%s\n)"), form("%s\nif"), form("%s\n'"), form("cat <(%s\n)"),
		quoted("bash -c %s"), quoted("eval %s"), quoted("trap %s EXIT"), quoted("env A=1 bash -ec %s"), quoted("timeout 9 bash -c %s"), quoted("echo 1 | xargs bash -c %s _"),
		quoted("find . -maxdepth 0 -exec bash -c %s \\;"), form("bash <<'E_E'\n%s\nE_E\n"), form("coproc {\n%s\n}; wait"),
	}
}

//go:embed testdata/hidden.txt
var hiddenTexts string

// ways are lines that run p0 without naming it where a program stands.
func ways() (ways []string) {
	const code = "a[$(p0)]"
	texts := readTexts(hiddenTexts)
	for _, name := range texts["name"] { // that is made when the line runs
		ways = append(ways, "x=p0; a=(p0); r=x; set -- p0; "+name)
	}
	for _, line := range texts["evaluated"] { // where bash evaluates C
		line = strings.ReplaceAll(line, "'C'", "'"+code+"'")
		for _, form := range []string{"'C=1'", "'-vC'", "'-v C'"} {
			line = strings.ReplaceAll(line, form, strings.ReplaceAll(form, "C", code))
		}
		line = strings.ReplaceAll(line, "-v'C'", "-v'"+code+"'")
		ways = append(ways, "x='"+code+"'; w='-v "+code+"'; "+line)
	}
	return append(ways, texts["run"]...) // by programs that run what their arguments name
}
