package cgroup_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
)

// here is a place for groups, with the version that this machine has. Where it
// must have one, MACHINE_LIMIT says so (e2e/machines).
func here(t *testing.T) *cgroup.Parent {
	t.Helper()
	parent, err := cgroup.Find()
	want := os.Getenv("MACHINE_LIMIT")
	check.Must(t, want == "" || (err == nil) == (want == "cgroup"), "the limit is to be %s: %v", want, err)
	if err != nil {
		check.That(t, errors.Is(err, cgroup.ErrNone), "another kind of error: %v", err)
		t.Logf("no groups here: %v", err)
		return nil
	}
	return parent
}

// start runs a shell in a group.
func start(t *testing.T, g *cgroup.Group, script string) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in := check.Value(cmd.StdinPipe())(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave := check.Value(g.Enter(cmd.SysProcAttr))(t)
	check.OK(t, cmd.Start())
	check.OK(t, leave())
	return cmd, in
}

func TestAGroupHoldsWhatIsStartedInIt(t *testing.T) {
	parent := here(t)
	if parent == nil {
		return
	}
	g := check.Value(parent.New(fmt.Sprintf("test.%d", os.Getpid()), 4))(t)
	// The shell ends when it may not fork; what it has started stays. It begins when
	// the thread that started it has left the group, where that counts too.
	cmd, in := start(t, g, "read go; for i in 1 2 3 4 5 6 7 8; do setsid sleep 600 < /dev/null > /dev/null 2>&1 & done")
	fmt.Fprintln(in, "go")
	_ = cmd.Wait()
	if n := len(g.Processes()); n != 3 || g.Refused() == 0 {
		t.Errorf("%d processes, %d refused", n, g.Refused())
	}
	for _, own := range g.Processes() {
		check.That(t, own != os.Getpid(), "this process is in it too")
	}
	g.Seal()
	err := g.Remove()
	check.That(t, err != nil, "a group was removed with what is in it")
	found := parent.Abandoned(func(name string) bool { return strings.HasPrefix(name, "test.") })
	check.Must(t, len(found) == 1, "found: %v", found)
	for _, left := range found {
		check.Equal(t, left.Kill(), parent.Version() == 2)
		for _, id := range left.Processes() {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
		in.Close()
		check.OK(t, left.Remove())
	}
}

// TestWhereThereIsNoPlace: what is read says that there is none, or that it is not ours.
func TestWhereThereIsNoPlace(t *testing.T) {
	dir := t.TempDir()
	group := filepath.Join(dir, "own group")
	check.OK(t, os.Mkdir(group, 0o755))
	write := func(path, content string) {
		t.Helper()
		check.OK(t, os.WriteFile(path, []byte(content), 0o644))
	}
	mount := "30 20 0:26 / " + strings.ReplaceAll(dir, " ", `\040`) + " rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ what, groups, mounts, control, want string }{
		{"nothing is mounted", "0::/own group\n", "", "", "no hierarchy"},
		{"the group is elsewhere", "0::/../other\n", mount, "pids", "not below"},
		{"no controller is given on", "0::/own group\n", mount, "cpu memory", "does not give the pids controller"},
		{"only of version 1, without pids", "4:cpu:/own group\n", "30 20 0:26 / /x rw - cgroup cgroup rw,cpu\n", "", "no hierarchy"},
		{"not a hierarchy at all", "0::/own group\n", mount, "pids cpu", "pids.max"},
	} {
		write(filepath.Join(dir, "cgroup"), c.groups)
		write(filepath.Join(dir, "mountinfo"), c.mounts)
		write(filepath.Join(dir, "cgroup.subtree_control"), c.control)
		_, err := cgroup.FindIn(dir, filepath.Join(dir, "no systemd"))
		check.That(t, errors.Is(err, cgroup.ErrNone) && strings.Contains(err.Error(), c.want), "%s: %v", c.what, err)
	}
}
