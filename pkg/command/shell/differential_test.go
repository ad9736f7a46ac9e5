//go:build unix

package shell_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
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
			g := &grammar{rand.New(rand.NewPCG(*seed, 0)), readTexts(grammarTexts)}
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

// grammar makes lines by the rules of testdata/grammar.txt: «x» stands for one of the texts of x, «'x» for one in quotes.
type grammar struct {
	*rand.Rand
	rules map[string][]string
}

//go:embed testdata/grammar.txt
var grammarTexts string

var place = regexp.MustCompile(`«('?)([a-z]+)»`)

func (g *grammar) line() string {
	line := g.text("list", 5)
	if g.IntN(6) == 0 {
		at := g.IntN(len(line) + 1)
		line = line[:at] + g.text("damage", 0) + line[at:]
	}
	return line
}

func (g *grammar) text(rule string, depth int) string {
	if rule == "list" {
		if depth--; depth <= 0 {
			rule = "name"
		}
	}
	return place.ReplaceAllStringFunc(g.rules[rule][g.IntN(len(g.rules[rule]))], func(at string) string {
		of := place.FindStringSubmatch(at)
		text := g.text(of[2], depth)
		switch {
		case of[1] == "":
			return text
		case g.IntN(4) == 0 && !strings.ContainsAny(text, "\\\"$`!"):
			return `"` + text + `"`
		}
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	})
}
