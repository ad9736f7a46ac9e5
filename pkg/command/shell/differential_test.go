//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

var (
	lines = flag.Int("lines", 120, "random lines of each dialect for the comparison with real shells")
	seed  = flag.Uint64("seed", 1, "of the random lines")
)

// Whatever a real shell starts or writes for a line is in its reading, or the reading says that it does not know.
// Programs are stand-ins that log their name and print their arguments, so that what one prints can name another.
func TestRealShells(t *testing.T) {
	for _, c := range []struct {
		program string
		dialect shell.Dialect
	}{{"bash", shell.Bash}, {"sh", shell.POSIX}} {
		t.Run(c.program, func(t *testing.T) {
			program := check.Value(exec.LookPath(c.program))(t)
			stage := newStage(t, program, c.dialect)
			g := &grammar{rand.New(rand.NewPCG(*seed, 0))}
			judged, ran := 0, 0
			for range *lines {
				is, did := stage.compare(t, g.line())
				judged, ran = judged+is, ran+did
			}
			t.Logf("%d lines, %d judged whole, %d programs and files seen", *lines, judged, ran)
			check.That(t, judged >= *lines/20 && ran >= *lines/4, "the lines do not test much: %d judged, %d seen", judged, ran)
		})
	}
}

// stage is where lines run: a PATH of stand-ins and of the programs that run others.
type stage struct {
	shell    string
	dialect  shell.Dialect
	dir, bin string
	lines    int
}

func standIns() []string { return []string{"p0", "p1", "p2", "p3", "p4", "[x", "p*", "{p0,p1}", "p 5"} }

func newStage(t *testing.T, program string, dialect shell.Dialect) *stage {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { endBelow(dir) }) // also after a failure; before the directory is removed
	s := &stage{program, dialect, dir, filepath.Join(dir, "bin"), 0}
	check.OK(t, os.Mkdir(s.bin, 0o755))
	for _, name := range standIns() {
		// PATH of a line leads through a directory of its own, so what an earlier line left running writes elsewhere.
		script := "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" >> \"${0%/*/*}/log\"\nprintf '%s\\n' \"$*\"\n"
		check.OK(t, os.WriteFile(filepath.Join(s.bin, name), []byte(script), 0o755))
	}
	for _, name := range []string{"env", "nohup", "timeout", "nice", "xargs", "find", "sh", "bash", "cat", "setsid", "stdbuf", "sed", "awk", "flock"} {
		if real, err := exec.LookPath(name); err == nil {
			check.OK(t, os.Symlink(real, filepath.Join(s.bin, name)))
		}
	}
	return s
}

// compare runs a line and reports whether it was judged whole, and how much it did.
func (s *stage) compare(t *testing.T, line string) (judged, seen int) {
	t.Helper()
	r := shell.Read(line, s.dialect)
	started, written := s.run(t, line)
	if len(r.Unjudged) > 0 {
		return 0, len(started) + len(written)
	}
	for _, name := range started {
		if !slices.ContainsFunc(r.Programs, func(p shell.Program) bool { return p.Name == name }) {
			t.Errorf("%q ran %q, and the reading has only %v", line, name, r.Programs)
		}
	}
	for _, file := range written {
		if !slices.ContainsFunc(r.Writes, func(w string) bool { return path.Clean(w) == file }) {
			t.Errorf("%q wrote %q, and the reading has only %q", line, file, r.Writes)
		}
	}
	return 1, len(started) + len(written)
}

func (s *stage) run(t *testing.T, line string) (started, written []string) {
	t.Helper()
	s.lines++
	own := filepath.Join(s.dir, fmt.Sprint(s.lines))
	at, bin := filepath.Join(own, "at"), filepath.Join(own, "bin")
	for _, err := range []error{os.MkdirAll(filepath.Join(at, "d", "e"), 0o755), os.Symlink(s.bin, bin), os.WriteFile(filepath.Join(own, "log"), nil, 0o644)} {
		check.OK(t, err)
	}
	// Some lines loop for ever. What a line did until it is ended has to be in its reading all the same.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.shell, "-c", " "+line)
	cmd.Dir, cmd.Env = at, []string{"PATH=" + bin, "HOME=" + at, "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer // read to its end, so that what runs in the background has ended
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		endBelow(own)
	}
	log := check.Value(os.ReadFile(filepath.Join(own, "log")))(t)
	return strings.FieldsFunc(string(log), func(c rune) bool { return c == '\n' }), files(t, at)
}

// endBelow kills what works in a directory or knows it from its environment: a line can leave processes behind that have
// left its process group and hold none of its streams, and run for ever.
func endBelow(dir string) {
	for range 20 {
		found := false
		processes, _ := filepath.Glob("/proc/[0-9]*") // none where there is no /proc: the process group is gone in any case
		for _, process := range processes {
			cwd, _ := os.Readlink(filepath.Join(process, "cwd"))
			environ, _ := os.ReadFile(filepath.Join(process, "environ"))
			pid, err := strconv.Atoi(filepath.Base(process))
			if err != nil || pid == os.Getpid() || !strings.HasPrefix(cwd+"/", dir+"/") && !bytes.Contains(environ, []byte(dir+"/")) {
				continue
			}
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
		if !found {
			return
		}
	}
}

func files(t *testing.T, at string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(at, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "nohup.out" {
			rel, _ := filepath.Rel(at, p)
			files = append(files, rel)
		}
		return err
	})
	check.OK(t, err)
	return files
}

// grammar makes lines.
type grammar struct{ *rand.Rand }

func (g *grammar) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *grammar) line() string {
	line := g.list(4)
	if g.IntN(6) == 0 { // damage
		at := g.IntN(len(line) + 1)
		line = line[:at] + g.pick(`"`, `'`, `\`, "$", "`", "(", ")", "{", "}", ";", "&", "|", "\n", "!", "#", "<", ">", "~", "*", "=", "[", "]", "$(", "<<E\n", "@(", "\t", "\\\n", "\r", "é", "\u00a0") + line[at:]
	}
	return line
}

func (g *grammar) list(depth int) string {
	line := g.statement(depth)
	for g.IntN(3) == 0 {
		line += g.pick("; ", " && ", " || ", " | ", "\n", " & ", " |& ") + g.statement(depth-1)
	}
	return line
}

func (g *grammar) statement(depth int) string {
	if depth <= 0 {
		return g.name()
	}
	inner := func() string { return g.list(depth - 1) }
	switch g.IntN(22) {
	case 0:
		return "(" + inner() + ")"
	case 1:
		return "{ " + inner() + "; }"
	case 2:
		return "if " + inner() + "; then " + inner() + "; else " + inner() + "; fi"
	case 3:
		return "for x in " + g.word(depth) + " " + g.word(depth) + "; do " + inner() + "; done"
	case 4:
		return "f() { " + inner() + "; }; f " + g.word(depth)
	case 5:
		return "case " + g.word(depth) + " in " + g.pick("*", "p0", "p?") + ") " + inner() + g.pick(";;", ";&", ";;&") + " *) " + inner() + ";; esac"
	case 6:
		return g.pick("cd d", "cd d/e", "cd ..", "cd -- d", "cd $x", "cd", "command cd d", "pushd d", "cd d; cd e")
	case 7:
		return g.pick("x", "y", "PATH", "p0") + "=" + g.word(depth)
	case 8:
		return "! " + g.simple(depth)
	case 9:
		return "while " + inner() + "; do " + inner() + "; break; done"
	case 10:
		return "bash <<" + g.pick("E", "'E'", "\\E") + "\n" + inner() + "\nE\n"
	case 11:
		return g.pick("sh", "bash", "cat") + " <<< " + g.quote(inner())
	case 12:
		return "trap " + g.quote(inner()) + " EXIT"
	case 13:
		return g.pick("declare", "export", "readonly", "local", "declare -i") + " " + g.pick("x", "y", "f") + "=" + g.word(depth)
	case 14:
		return g.pick("[[ ", "[ ") + g.word(depth) + g.pick(" == ", " -eq ", " = ") + g.word(depth) + g.pick(" ]]", " ]")
	}
	return g.simple(depth) + g.redirect(depth)
}

func (g *grammar) redirect(depth int) string {
	if g.IntN(3) > 0 {
		return ""
	}
	return " " + g.pick(">", ">>", "2>", "&>", ">|", "1<>", ">&") + g.pick("f1", "d/f2", "/dev/null", "'f 3'", "&1", "1", "$x", "d/../f4", g.word(depth))
}

func (g *grammar) simple(depth int) string {
	command := g.program(depth)
	for range g.IntN(3) {
		command += " " + g.word(depth)
	}
	code := func() string { return g.quote(g.list(depth - 1)) }
	switch g.IntN(17) {
	case 16:
		return g.evaluated(depth)
	case 0:
		return g.pick("env ", "env -i PATH=\"$PATH\" ", "env -u x ", "env y=1 ", "nohup ", "command ", "exec ", "timeout 9 ", "timeout -s KILL 9 ", "nice ", "nice -n 1 ", "nice -1 ", "builtin ", "time ", "setsid -w ", "stdbuf -oL ", "env -C d ", "exec -a zero ", "command -p ") + command
	case 1:
		return g.pick("sh", "bash") + " " + g.pick("-c", "-ec", "-c -e", "-c --", "-o errexit -c", "+e -c", "-lc", "-x -c", "-s", "-") + " " + code() + g.pick("", " a", " "+g.word(depth))
	case 2:
		return "eval " + g.pick(code(), command, "-- "+code(), g.word(depth))
	case 3:
		return g.pick("printf 'p1 p2\\n'", "echo p3 p4", "echo") + " | " + g.pick("xargs ", "xargs -n 1 ", "xargs -I{} ", "xargs -I % ", "xargs -0 ", "xargs -r ", "xargs -n1 -P2 ") + g.pick(command, "{}", "env", "sh -c "+code(), "sh -c '%'", "sh", "%", "")
	case 4:
		return "find " + g.pick(".", "d", `"$x"`, "$x", "*", "d*") + " " + g.pick("", "-type d", "-name p0", `-name "$x"`) + " " + g.pick("-exec", "-execdir", "-ok") + " " + g.pick(command, "p0 {}", "{}", "sh -c "+code(), "sh -c 'p1 {}'") + g.pick(` \;`, " {} +", " ';'")
	case 5:
		return g.pick("x=1", "x="+g.word(depth), "PATH=d", "y+=1") + " " + command
	case 6:
		return g.pick("alias q=p0", "unset x", "set -- p0 p1", "shopt -s extglob", "read x", "printf -v x p0", "hash -p d p0", ": ${x:=p0}", "let x=1", "set -o posix", "set -f", "export x", "source d/none", "test -v x", "type p0", "command -v p0", "unalias -a", "enable -n echo", "mapfile -t x", "((x++))", "echo $((x+1))", "echo {p0,p1}", "echo ~")
	case 8:
		return command + " #" + g.pick("x\\", " <<E", "'", `"`, "$(", "`", " \\") + "\n" + g.pick("", "#", "# <<E\n", "#'\n") + g.list(depth-1) + g.pick("", "\nE\n", "\n#'")
	case 7:
		return command + " <(" + g.list(depth-1) + ")"
	}
	return command
}

// evaluated has bash evaluate a text once more, where that is possible.
func (g *grammar) evaluated(depth int) string {
	set := g.pick("x", "y") + "=" + g.pick("'a[$(p3)]'", "'-v a[$(p2)]'", "'($(p1))'", "-v", "-p", "-i", "-a", g.word(depth)) + "; "
	word := func() string {
		return g.pick("$x", `"$x"`, "$y", `"$y"`, "'a[$(p0)]'", "a[x]", "x+1", "-v", "'($(p4))'", g.word(depth))
	}
	return set + set + g.pick("[ "+word()+" "+word()+" ]", "[ "+word()+" ]", "[[ "+word()+" -eq "+word()+" ]]", "[[ -v "+word()+" ]]", "printf "+word()+" "+word(), "wait "+word()+" "+word(), "wait -p "+word(),
		"declare "+g.pick("", "-a ", "-A ", "-i ", "-x ", "-$x ")+"y="+word(), "local_() { local y="+word()+"; }; local_", "declare "+word(), "let "+word(), "RANDOM="+word(), "OPTIND="+word(), "set "+word()+" "+word(),
		"y=("+word()+"); declare y="+word(), "read "+word()+" <<< p0", "exec {a[x]}>&1", ": ${a["+word()+"]}", "y="+word()+"; ((y))", "source "+g.pick("/dev/stdin", "<(echo p0)", "$x")+" <<< p1", "sed "+g.pick("e", "'1e p0'", "'s/x/p1/e'", "s/e/e/")+" <<< p2",
		"awk 'BEGIN{"+g.pick("system(\"p0\")", "print 1 | \"p1\"", "print 1/2/3")+"}'", "flock d "+g.name(), "find . -maxdepth 0 -exec "+word()+" ';'")
}

func (g *grammar) name() string { return g.pick("p0", "p1", "p2", "p3", "p4") }

// program is a word in the place of a program, in all ways to write it.
func (g *grammar) program(depth int) string {
	n := g.name()
	switch g.IntN(24) {
	case 0:
		return `"` + n + `"`
	case 1:
		return "'" + n[:1] + "'" + n[1:]
	case 2:
		return `\` + n
	case 3:
		return n[:1] + `""` + n[1:]
	case 4:
		return n[:1] + "\\\n" + n[1:]
	case 5:
		return `$'\x70` + n[1:] + `'`
	case 6:
		return `$'` + n + `'`
	case 7:
		return "{" + n + "," + g.name() + "}"
	case 8:
		return "${y:-" + n + "}"
	case 9:
		return "$x"
	case 10:
		return `"$x"`
	case 11:
		return "$(echo " + n + ")"
	case 12:
		return "`echo " + n + "`"
	case 13:
		return g.pick("p?", "p[0-3]", "*", "p\\*", "'[x'", "[x", "'p 5'", "p{0,1}", "p{0..2}", "{p0,}", "'{p0,p1}'", "p@(0|1)", "~", `$"p0"`, "p$((1+1))", `"$@"`, "$1", "${x}", "p${#x}", "echo", "true", "${x@P}", "!", "time", "\\!", "[", "coproc")
	}
	return n
}

func (g *grammar) word(depth int) string {
	if depth <= 0 {
		return g.pick("a", "p0", "1", "$x", "'a b'")
	}
	switch g.IntN(14) {
	case 0:
		return `"$(` + g.list(depth-1) + `)"`
	case 1:
		return "$(" + g.list(depth-1) + ")"
	case 2:
		return "`" + g.name() + "`"
	case 3:
		return `"` + g.pick("a b", "$x", "`p1`", `\$x`, "${x:-$(p2)}", "a\\\nb", `\"`) + `"`
	case 4:
		return g.pick("$((1+1))", "$((x))", "$(($(echo 1)))", "${x:-p3}", "${x:-$(p4)}", "${#x}", "${x[0]}", "${x[$(p0)]}", "${!x}", "${x:1}", "${x/a/$(p1)}")
	case 5:
		return g.pick("'a[$(p3)]'", "'x p2'", "'$(p1)'", `'-exec p2 {} ;'`, "'; p0'", "-exec", "';'", "-c", "-v", "-s", "--", "-", "-e", "{}", "%")
	case 6:
		return ">(" + g.list(depth-1) + ")"
	}
	return g.pick("a", "p0", "p1", "-n", "1", "*", "a=b", "{a,b}", "~", "#", "a#b", "x")
}

// quote makes one word of code.
func (g *grammar) quote(code string) string {
	if g.IntN(4) == 0 && !strings.ContainsAny(code, "\\\"$`!") {
		return fmt.Sprintf(`"%s"`, code)
	}
	return "'" + strings.ReplaceAll(code, "'", `'\''`) + "'"
}
