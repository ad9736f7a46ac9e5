package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Environment variables that make this test binary the server of a workspace,
// on standard input and output, as a machine with no more than a level has it.
const (
	serveEnv = "CORPUS_SERVE"
	levelEnv = "CORPUS_LEVEL"
	// requireEnv has the server require the level full.
	requireEnv = "CORPUS_REQUIRE"
	// processesEnv bounds the number of processes of a command.
	processesEnv = "CORPUS_PROCESSES"
	// revertEnv has the server take back violations at every level.
	revertEnv = "CORPUS_REVERT"
)

func TestMain(m *testing.M) {
	if names := os.Getenv(confineEnv); names != "" {
		fmt.Fprintln(os.Stderr, confine(names)) // it returns only where it failed
		os.Exit(1)
	}
	if dir := os.Getenv(serveEnv); dir != "" {
		if err := serve(dir, sandbox.Level(os.Getenv(levelEnv))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	check.Waiting()
	os.Exit(m.Run())
}

func serve(dir string, level sandbox.Level) error {
	set := settings.Defaults()
	set.Durability = settings.OS
	set.Approvals.Wait = 0
	// What cannot be judged runs here at every level: it is what comes after
	// the judgement that is tried.
	set.Commands.Unjudged = settings.Allow
	set.Commands.Deny = []settings.CommandRule{{Prefix: "shred"}}
	if level == sandbox.None {
		set.Sandbox = settings.Off
	}
	if os.Getenv(requireEnv) != "" {
		set.Sandbox = settings.Require
	}
	if most, err := strconv.Atoi(os.Getenv(processesEnv)); err == nil {
		set.Commands.MaxProcesses = most
	}
	set.Commands.RevertViolations = os.Getenv(revertEnv) != ""
	for _, name := range []string{serveEnv, levelEnv, requireEnv, processesEnv, revertEnv} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	srv, err := server.New(server.Options{
		Dir: dir, Settings: set, Logger: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), AdoptOrphans: true, Ability: limited(level),
	})
	if err != nil {
		return err
	}
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

// limited is the ability of a machine that has no more than a level.
func limited(level sandbox.Level) func() sandbox.Ability {
	return func() sandbox.Ability {
		a := sandbox.Probe()
		if level == sandbox.Landlock && a.NoLandlock == nil {
			a.Level, a.NoFull = sandbox.Landlock, errors.New("not on this machine")
		}
		return a
	}
}

// Environment variables that say what the machine is that the test runs on, as
// e2e/machines sets them: the level, what bounds the number of processes, and a
// word of the reason why the level is not higher.
const (
	machineLevelEnv  = "MACHINE_LEVEL"
	machineLimitEnv  = "MACHINE_LIMIT"
	machineReasonEnv = "MACHINE_REASON"
)

// TestThisMachine holds what a server finds out of its machine to what is known
// of it; without being told, to what the test's own process finds out.
func TestThisMachine(t *testing.T) {
	a := sandbox.Probe()
	t.Logf("level %s, Landlock's interface %d, sockets held: %v\nnot full: %v\nnot landlock: %v", a.Level, a.ABI, a.Sockets, a.NoFull, a.NoLandlock)
	level, limit := sandbox.Level(os.Getenv(machineLevelEnv)), os.Getenv(machineLimitEnv)
	if level == "" {
		level = a.Level
	}
	why := a.NoFull
	if a.Level == sandbox.None {
		why = a.NoLandlock
	}
	reason := os.Getenv(machineReasonEnv)
	check.That(t, reason == "" || why != nil && strings.Contains(why.Error(), reason), "the reason is %v, and does not say %q", why, reason)
	program := filepath.Join(shared(t), "server")
	content, err := os.ReadFile("/proc/self/exe")
	check.OK(t, err)
	check.OK(t, os.WriteFile(program, content, 0o755))
	w := newWorld(t, sandbox.Full, false, false, program)
	w.finds(level, limit)
	check.OK(t, w.server.end())
	w.processes = 40
	w.begin(program)
	w.bounds(limit)
	check.OK(t, w.server.end())
}

// bounds has a command want more processes than it may have.
func (w *world) bounds(limit string) {
	w.t.Helper()
	ran := w.server.call("execute_command", args{"session": w.sessions["SRC"], "timeout": 50,
		"command": "sh -c 'for i in $(seq 80); do sleep 100 & done; sleep 20'"})
	bound, _ := ran.Fields["process_limit"].(map[string]any)
	by := bound["by"]
	check.That(w.t, bound["reached"] == true && (limit == "" || by == limit), "a command with too many processes: %v", ran.Fields)
	for _, left := range w.running() {
		w.t.Errorf("still there: %s", left)
	}
}

// finds runs commands on the world's server, which is to hold them at a level
// and bound their number by a limit, if that is known.
func (w *world) finds(level sandbox.Level, limit string) {
	w.t.Helper()
	ran := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "echo x > src/new.txt && cat src/new.txt"})
	check.That(w.t, !ran.IsError && strings.Contains(ran.text("output"), "x") && ran.text("sandbox") == string(level),
		"at the level %s: %v", level, ran.Fields)
	bound, _ := ran.Fields["process_limit"].(map[string]any)
	by := bound["by"]
	check.That(w.t, limit == "" || by == limit, "the number of processes is bounded by %v, want %s", by, limit)
	out := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "cp src/a.txt docs/other.md"})
	if out.IsError != (level == sandbox.None) {
		w.t.Logf("%v", out.Fields)
	}
	changed := w.base.differs(w.look())
	touched := slices.Contains(changed, "ws/docs/other.md")
	check.That(w.t, touched == (level == sandbox.None), "at the level %s, written out of scope: %v", level, touched)
}
