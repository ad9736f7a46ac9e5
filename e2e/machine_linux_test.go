package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// machine is what the program finds around it, which decides how it can hold commands.
type machine struct {
	name string
	// level is the sandbox level that commands get there.
	level string
	// limit is what holds them to a number of processes; "" is whatever there is.
	limit string
	// before makes the machine so, in namespaces of its own.
	before string
	env    []string
	// ordinary: the program runs as an ordinary user, whoever runs the test.
	ordinary bool
}

// nobody is the ordinary user where the test runs as root.
const nobody = 65534

// Lines that take something away from the machine, for the program and all that it starts.
const (
	noNamespaces = "echo 0 > /proc/sys/user/max_user_namespaces"
	noGroups     = "if [ -d /sys/fs/cgroup ]; then mount -t tmpfs none /sys/fs/cgroup; fi"
)

// machines are those of each level that can be had here, without the last in short tests.
func machines(t *testing.T) []machine {
	t.Helper()
	all := []machine{
		{name: "full", level: "full"},
		{name: "landlock", level: "landlock", before: noNamespaces},
		{name: "none", level: "none", env: []string{unboxed, unjudged}},
	}
	if check.Short() {
		all = all[:2]
	}
	var found []machine
	for _, m := range all {
		why, known := absent.Load(m.name)
		if !known {
			why, _ = absent.LoadOrStore(m.name, m.missing())
		}
		if why != "" {
			t.Logf("there is no machine of the level %s to be had here: %s", m.level, why)
			continue
		}
		found = append(found, m)
	}
	return found
}

// absent is what machine.missing said, by the machine's name.
var absent sync.Map

// missing says why the machine is not to be had; "" if it is.
func (m machine) missing() string {
	cmd := m.becomes("doctor", "--json", "--workspace", os.TempDir())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
	out, err := cmd.Output()
	if m.level != "none" && !strings.Contains(string(out), "sandbox level "+m.level) {
		return fmt.Sprintf("%s (%v)", out, err)
	}
	return ""
}

// ungrouped is the machine without control groups, as an ordinary user has it.
func (m machine) ungrouped() machine {
	m.name, m.limit, m.ordinary = m.name+" without control groups", "watchdog", true
	m.before = noGroups + "\n" + m.before
	return m
}

// becomes is a command that makes the machine and runs the program on it.
func (m machine) becomes(arguments ...string) *exec.Cmd {
	if m.before == "" {
		return exec.Command(program, arguments...)
	}
	return exec.Command("unshare", append([]string{"--user", "--map-root-user", "--mount", "sh", "-ec", m.before + "\nexec \"$0\" \"$@\"", program}, arguments...)...)
}

// serves is the command that runs the program on a machine, for the workspace.
func (w *workspace) serves(m machine) *exec.Cmd {
	w.t.Helper()
	cmd := m.becomes("serve", "--workspace", w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if m.ordinary && os.Geteuid() == 0 {
		w.givenTo(nobody)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// givenTo makes the workspace and its home a user's.
func (w *workspace) givenTo(user int) {
	w.t.Helper()
	for _, top := range []string{w.dir, w.home} {
		check.OK(w.t, os.Chmod(filepath.Dir(top), 0o711))
		check.OK(w.t, filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, user, user))
		}))
	}
}

// startedOn runs the program on a machine.
func (w *workspace) startedOn(m machine, env ...string) *process {
	w.t.Helper()
	return w.startAs(w.serves(m), append(m.env, env...)...).initialized()
}

// left are the processes of the workspace that live, but the servers given: those whose environment, directory or
// command line has the name of its home or its directory.
func (w *workspace) left(but ...*process) (left []string) {
	w.t.Helper()
	dirs := check.Value(filepath.Glob("/proc/[0-9]*"))(w.t)
	servers := map[string]bool{fmt.Sprint(os.Getpid()): true}
	for _, p := range but {
		servers[fmt.Sprint(p.cmd.Process.Pid)] = true
	}
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		at, _ := os.Readlink(filepath.Join(dir, "cwd"))
		text := string(environ) + "\x00" + string(line) + "\x00" + at
		if (strings.Contains(text, w.home) || strings.Contains(text, w.dir)) && !servers[pid] && len(living([]string{pid})) > 0 {
			left = append(left, pid+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}
