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
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// machine is one that withholds something.
type machine struct {
	withholds []string
	level     sandbox.Level
	// says is a part of the reason why the level is no higher.
	says string
	// shut: no command runs, and the call says why.
	shut bool
}

// machines are those that are made by withholding something from the server here. Real ones are booted by e2e/machines.
func machines() []machine {
	return []machine{
		{withholds: []string{"no user namespaces"}, level: sandbox.Landlock, says: "make namespaces"},
		{withholds: []string{"no user namespaces, by an LSM"}, level: sandbox.Landlock, says: "make namespaces"},
		{withholds: []string{"no more user namespaces"}, level: sandbox.Landlock, says: "make namespaces"},
		{withholds: []string{"read-only /proc"}, level: sandbox.Landlock, says: "map the user"},
		{withholds: []string{"no mounts in user namespaces"}, level: sandbox.Landlock, says: "make the mounts private"},
		{withholds: []string{"no open_tree"}, level: sandbox.Landlock, says: "take"},
		{withholds: []string{"an old kernel's mounts"}, level: sandbox.Landlock, says: "take"},
		{withholds: []string{"no openat2"}, level: sandbox.Landlock, says: "open"},
		{withholds: []string{"masked /proc"}, level: sandbox.Landlock, says: "mount proc"},
		{withholds: []string{"no seccomp"}, level: sandbox.Landlock, says: "seccomp"},
		{withholds: []string{"no Landlock"}, level: sandbox.None, says: "lsm="},
		{withholds: []string{"no Landlock, by a container"}, level: sandbox.None, says: "Landlock"},
		{withholds: []string{"a kernel without Landlock"}, level: sandbox.None, says: "this kernel has none"},
		{withholds: []string{"the filter of a container"}, level: sandbox.Landlock, says: "container"},
		{withholds: []string{"masked /proc", "read-only /sys", "no /dev/shm", "the filter of a container"}, level: sandbox.Landlock, says: "container"},
		{withholds: []string{"read-only /sys"}, level: sandbox.Full},
		{withholds: []string{"no /sys"}, level: sandbox.Full},
		{withholds: []string{"no groups for processes to be in"}, level: sandbox.Full},
		{withholds: []string{"no /dev/shm"}, level: sandbox.Full},
		{withholds: []string{"no process descriptors"}, level: sandbox.Full},
		{withholds: []string{"no programs in /tmp"}, level: sandbox.Full},
		{withholds: []string{"no /proc"}, level: sandbox.Landlock, says: "/proc", shut: true},
	}
}

// TestOnMachinesThatWithholdSomething: the server finds the level that is possible, says why it is no higher, and its
// commands work and are held there. Nothing of the trial is left. Without ORCHESTRA_LONG each is tried as one user,
// under the race detector every third.
func TestOnMachinesThatWithholdSomething(t *testing.T) {
	if os.Getuid() != 0 || sandbox.Probe().Level != sandbox.Full {
		check.Must(t, os.Getenv("CI") == "", "CI must be root on a machine that withholds nothing")
		t.Skip("it takes root to withhold something, on a machine that has everything")
	}
	program := filepath.Join(shared(t), "server")
	content, err := os.ReadFile("/proc/self/exe")
	check.OK(t, err)
	check.OK(t, os.WriteFile(program, content, 0o755))
	for i, m := range machines() {
		for _, user := range []bool{false, true} {
			if !check.Long() && user != (i%2 == 0) || check.Short() && i%3 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s as %s", strings.Join(m.withholds, ", "), map[bool]string{false: "root", true: "user"}[user]), func(t *testing.T) {
				t.Parallel()
				w := emptyWorld(t, sandbox.Full, user, true)
				w.withheld = m.withholds
				w.begin(program)
				if m.shut {
					w.refuses(m.says)
				} else {
					w.finds(m.level, "")
				}
				for _, left := range w.children() {
					t.Errorf("left of the trial: %s", left)
				}
				check.OK(t, w.server.end())
				w.explains(program, m.level, m.says)
				check.OK(t, w.server.end())
			})
		}
	}
}

// refuses demands that no command runs, for a reason.
func (w *world) refuses(why string) {
	w.t.Helper()
	ran := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "echo x > src/new.txt"})
	check.That(w.t, ran.IsError && strings.Contains(ran.text("error"), why), "it does not say %q: %v", why, ran.Fields)
	changed := w.base.differs(w.look())
	check.That(w.t, len(changed) == 0, "it changed %q", changed)
}

// explains has another server require the level full, and holds what it says to a reason.
func (w *world) explains(program string, level sandbox.Level, why string) {
	w.t.Helper()
	w.requires = true
	w.begin(program)
	required := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "true"})
	w.t.Logf("required: %v", required.Fields)
	switch {
	case level == sandbox.Full && required.IsError:
		w.t.Errorf("it does not run where the level full is required: %v", required.Fields)
	case level != sandbox.Full && (required.text("error_type") != "SANDBOX_UNAVAILABLE" || !strings.Contains(required.text("error"), why)):
		w.t.Errorf("it does not say %q: %v", why, required.Fields)
	}
}

// children are the processes that the server has.
func (w *world) children() (names []string) {
	w.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.server.cmd.Process.Pid))
	check.OK(w.t, err)
	for _, thread := range threads {
		ids, _ := os.ReadFile(thread)
		for id := range strings.FieldsSeq(string(ids)) {
			line, _ := os.ReadFile("/proc/" + id + "/cmdline")
			names = append(names, id+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return names
}

// Environment variables that make this test binary the server of a workspace,
// on standard input and output, as a machine with no more than a level has it.
const (
	serveEnv = "CORPUS_SERVE"
	levelEnv = "CORPUS_LEVEL"
	// requireEnv has the server require the level full.
	requireEnv = "CORPUS_REQUIRE"
	// processesEnv bounds the number of processes of a command.
	processesEnv = "CORPUS_PROCESSES"
	// stagedEnv has commands work on layers, which they do not here otherwise.
	stagedEnv = "CORPUS_STAGED"
	// revertEnv has the server take back violations at every level.
	revertEnv = "CORPUS_REVERT"
)

func TestMain(m *testing.M) {
	if names := os.Getenv(confineEnv); names != "" {
		fmt.Fprintln(os.Stderr, confine(names)) // it returns only where it failed
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "exec" {
		exitWith(becomeProgram())
	}
	if dir := os.Getenv(askEnv); dir != "" {
		exitWith(askAsUser(dir))
	}
	if dir := os.Getenv(serveEnv); dir != "" {
		exitWith(serve(dir, sandbox.Level(os.Getenv(levelEnv))))
	}
	check.Waiting()
	code := m.Run()
	_ = os.Remove(builtAt())
	os.Exit(code)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(dir string, level sandbox.Level) error {
	set := settings.Defaults()
	set.Durability = settings.OS
	set.Approvals.Wait = 0
	// What cannot be judged runs here at every level: it is what comes after the judgement that is tried.
	set.Commands.Unjudged = settings.Allow
	set.Commands.Deny = []settings.CommandRule{{Prefix: "shred"}}
	if os.Getenv(stagedEnv) == "" {
		set.Commands.Stage = settings.Never
	}
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
	var hooks func() (*hookdoor.Listener, error)
	if os.Getenv(hooksEnv) != "" {
		hooks = func() (*hookdoor.Listener, error) { return hookdoor.Find(os.Getenv).Listen(dir) }
	}
	for _, name := range []string{serveEnv, levelEnv, requireEnv, processesEnv, revertEnv, hooksEnv, stagedEnv} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	srv, err := server.New(server.Options{
		Dir: dir, Settings: set, Logger: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), AdoptOrphans: true, Ability: limited(level), Hooks: hooks,
		Chosen: func(terminal string) (string, bool) { return terminal, false }, // which has the name of an intent here
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

// Environment variables that say what the machine is that the test runs on, as e2e/machines sets them: the level, what
// bounds the number of processes, and a word of the reason why the level is not higher.
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
