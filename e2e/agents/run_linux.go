package agents

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
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

// temporary is for a run's temporary files. The configuration is not below it, where Codex would not trust its own.
func (p Place) temporary() string { return filepath.Join(p.Home, "tmp") }

// Result is what a run left, and its model.
type Result struct {
	scripted.Result
	*scripted.Model
}

// Told has every text that the model was told.
func (r Result) Told() string { return strings.Join(r.Model.Told(), "\n") }

// Run has a client work through a script in a place, with the client's own further arguments, and ends all that it started.
func Run(t testing.TB, c Client, p Place, script []Turn, args ...string) Result {
	t.Helper()
	m, err := scripted.Serve(script...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if c.prepare != nil {
		c.prepare(t, p)
	}
	argv, env, err := c.Command(m.URL(), p.Home, p.temporary())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := scripted.Run(ctx, slices.Concat(c.Program(t), argv, args), p.Workspace, slices.Concat(p.Env(), m.Alone(), env), p.temporary())
	end(t, p)
	if ctx.Err() != nil || err != nil {
		t.Fatalf("%s: %v, %v\n%s\n%s", c.Name, err, ctx.Err(), result.Stdout, result.Stderr)
	}
	return Result{result, m}
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

// Env is the environment of a program of this place: nothing of the user's.
func (p Place) Env() []string {
	env := []string{"HOME=" + p.Home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.temporary(), "XDG_RUNTIME_DIR=" + p.Runtime, "LANG=C.UTF-8"}
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
