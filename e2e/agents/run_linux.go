package agents

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// patience is how long a run may take on a busy machine: each takes some seconds. Beyond it the test fails.
const patience = 3 * time.Minute

// Place is where a run takes place. Both directories are of this run alone.
type Place struct {
	Workspace, Home string
	// Runtime is for sockets, whose names must be short.
	Runtime string
}

// NewPlace makes both, below a directory of the test.
func NewPlace(t testing.TB) Place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := Place{Workspace: filepath.Join(dir, "space"), Home: filepath.Join(dir, "home")}
	for _, d := range []string{p.Workspace, p.Home, p.temporary()} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if p.Runtime, err = os.MkdirTemp("", "run-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(p.Runtime) })
	return p
}

// Env is the environment of a program of a run that talks to nobody.
func (p Place) Env() []string { return environment(p, "http://127.0.0.1:9") }

// temporary is for a run's temporary files. The configuration is not below it, where Codex would not trust its own.
func (p Place) temporary() string { return filepath.Join(p.Home, "tmp") }

// Result is what a run left.
type Result struct {
	*Model
	Code           int // -1: a signal
	Stdout, Stderr string
}

// Run has a client work through a script in a place, with the client's own further arguments, and ends all that it started.
func Run(t testing.TB, c Client, p Place, script []Turn, args ...string) Result {
	t.Helper()
	program := c.Program(t)
	m := NewModel(t, script...)
	argv, env := c.command(t, p, m.URL())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], append(append(program[1:], argv...), args...)...)
	cmd.Dir, cmd.Env = p.Workspace, append(environment(p, m.URL()), env...)
	// Files, for a pipe is open as long as anything that the client left in the background.
	streams := t.TempDir()
	out, errs := create(t, streams, "stdout"), create(t, streams, "stderr")
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // else a client finds the terminal of the tests
	err := cmd.Run()
	end(t, p)
	r := Result{Model: m, Code: cmd.ProcessState.ExitCode(), Stdout: content(t, out), Stderr: content(t, errs)}
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v, %v\n%s\n%s", c.Name, err, ctx.Err(), r.Stdout, r.Stderr)
	}
	return r
}

// end kills what is left of a run. Clients give a command a session of its own: what they all share is the home directory.
func end(t testing.TB, p Place) {
	t.Helper()
	for left := true; left; {
		left = false
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range environs {
			raw, err := os.ReadFile(file) // that of a process that has ended is empty, or gone
			if err != nil || !bytes.Contains(raw, []byte("HOME="+p.Home+"\x00")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				left = true
			}
		}
	}
}

func create(t testing.TB, dir, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t testing.TB, f *os.File) string {
	t.Helper()
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// environment is all that a client sees of ours: nothing of the user's, and a proxy that lets nothing through.
func environment(p Place, proxy string) []string {
	env := []string{"HOME=" + p.Home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.temporary(), "XDG_RUNTIME_DIR=" + p.Runtime, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "CI=1",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "DO_NOT_TRACK=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+proxy)
	}
	for name, dir := range map[string]string{"CONFIG": "config", "CACHE": "cache", "DATA": "data", "STATE": "state"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(p.Home, dir))
	}
	return env
}

// installed is a file below the directory of packages, which is beside this source.
func installed(t testing.TB, elem ...string) string {
	t.Helper()
	_, source, _, _ := runtime.Caller(0)
	file := filepath.Join(append([]string{filepath.Dir(source), "node_modules"}, elem...)...)
	if _, err := os.Stat(file); err != nil {
		missing(t, "the agents are not installed: run `npm ci` in e2e/agents")
	}
	return file
}

// missing skips the test. Where CI is set it fails instead.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
