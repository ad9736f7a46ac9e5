package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
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

// machines are those that are made by withholding something from the server
// here. Real ones are booted by e2e/machines.
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

// TestOnMachinesThatWithholdSomething: the server finds the level that is
// possible, says why it is no higher, and its commands work and are held
// there. Nothing of the trial is left. Without ORCHESTRA_LONG each is tried as
// one user, under the race detector every third.
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

// explains has another server require the level full, and holds what it says to
// a reason.
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
