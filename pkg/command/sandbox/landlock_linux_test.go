package sandbox_test

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// held runs a line of the shell inside a profile.
func held(t *testing.T, level sandbox.Level, profile *sandbox.Profile, line string) (output string, code int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = profile.Workspace
	cmd.Env = append(os.Environ(), "TMPDIR="+profile.Temp)
	return ended(t, cmd, func() (*sandbox.Held, error) { return sandbox.Start(cmd, level, profile) })
}

// ended is a command that was started to its end, and what it printed.
func ended(t *testing.T, cmd *exec.Cmd, start func() (*sandbox.Held, error)) (output string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := inThread(cmd, start)
	check.Must(t, err == nil, "start: %v", err)
	return out.String(), cmd.ProcessState.ExitCode()
}

// inThread starts a command where it may be, waits for it, and returns why it was not started.
func inThread(cmd *exec.Cmd, start func() (*sandbox.Held, error)) error {
	done := make(chan error)
	sandbox.Go(func() {
		held, err := start()
		if err == nil {
			cmd.Wait()
			held.Close()
		}
		done <- err
	})
	return <-done
}

// landlockHere fails where the kernel has no Landlock: CI must have it.
func landlockHere(t *testing.T) sandbox.Ability {
	t.Helper()
	a := sandbox.Probe()
	check.Must(t, a.NoLandlock == nil, "no Landlock: %v", a.NoLandlock)
	return a
}

func files(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		check.Write(t, dir, name, name+"\n")
	}
}

func TestLandlockHolds(t *testing.T) {
	landlockHere(t)
	dir, outside := t.TempDir(), t.TempDir()
	files(t, dir, "src/a", "src/b", "docs/a", "one", "two")
	files(t, outside, "x")
	profile := &sandbox.Profile{Workspace: dir, Temp: t.TempDir(), Writable: []string{filepath.Join(dir, "src"), filepath.Join(dir, "one")}}
	lets, all := tries(t, "let through"), tries(t, "refused")
	maps.Copy(all, lets)
	for line := range all {
		_, passes := lets[line]
		t.Run(line, func(t *testing.T) {
			before := tree(t, dir, "docs", "two") + tree(t, outside, ".")
			output, code := held(t, sandbox.Landlock, profile, fmt.Sprintf("O=%s S=%d\n%s", outside, os.Getpid(), line))
			check.Equal(t, code == 0, passes, "%v %v", code, output)
			check.Equal(t, tree(t, dir, "docs", "two")+tree(t, outside, "."), before)
			os.RemoveAll(filepath.Join(dir, "src"))
			files(t, dir, "src/a", "src/b")
		})
	}
}

// TestLandlockDeniesSockets: with the network denied there is none of any kind,
// and pairs of a program and its child stay.
func TestLandlockDeniesSockets(t *testing.T) {
	a := landlockHere(t)
	check.Must(t, a.Sockets, "sockets cannot be denied here")
	listener := check.Value(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
	defer listener.Close()
	for program, passes := range map[string]bool{
		"import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)":                         false,
		"import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)":                         false,
		"import socket; socket.socket(socket.AF_UNIX).connect('" + listener.Addr().String() + "')": false,
		"import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)":                      false,
		"import socket; a, b = socket.socketpair(); a.send(b'x')":                                  true,
	} {
		for _, deny := range []bool{true, false} {
			profile := &sandbox.Profile{Workspace: t.TempDir(), Temp: t.TempDir(), DenyNetwork: deny}
			output, code := held(t, sandbox.Landlock, profile, "python3 -c \""+program+"\"")
			check.That(t, (code == 0) == (passes || !deny), "%s, denied: %v: code %d\n%s", program, deny, code, output)
		}
	}
}

// tree is the names and contents of places below a directory.
func tree(t *testing.T, dir string, places ...string) string {
	t.Helper()
	var b strings.Builder
	for _, place := range places {
		filepath.WalkDir(filepath.Join(dir, place), func(path string, entry os.DirEntry, err error) error {
			check.OK(t, err)
			content := []byte("(directory)")
			if entry.Type().IsRegular() {
				content, err = os.ReadFile(path)
			}
			fmt.Fprintf(&b, "%s %s %q %v\n", path, entry.Type(), content, err)
			return nil
		})
	}
	return b.String()
}

// TestTheServerIsNotHeld: the restricted thread is not used again.
func TestTheServerIsNotHeld(t *testing.T) {
	landlockHere(t)
	dir := t.TempDir()
	for range 100 {
		held(t, sandbox.Landlock, &sandbox.Profile{Workspace: dir}, "true")
		done := make(chan error)
		for range 8 {
			go func() {
				file, err := os.CreateTemp(dir, "")
				if err == nil {
					file.Close()
				}
				done <- err
			}()
		}
		for range 8 {
			check.OK(t, <-done)
		}
	}
}

// TestLandlockKeepsFromTerminals: what an operator sees and types is not the command's, by whatever path.
func TestLandlockKeepsFromTerminals(t *testing.T) {
	landlockHere(t)
	control := check.Value(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer control.Close()
	check.OK(t, unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0))
	number := check.Value(unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN))(t)
	terminal := fmt.Sprint("/dev/pts/", number)
	_, err := control.WriteString("typed\n")
	check.OK(t, err)
	read := func(path string) string { return "dd bs=1 count=1 iflag=nonblock status=none if=" + path }
	profile := &sandbox.Profile{Workspace: t.TempDir(), Temp: t.TempDir()}
	for _, line := range []string{
		read(terminal), read("/proc/self/root" + terminal), "echo shown > " + terminal, "exec 5<>" + terminal, "stty -F " + terminal + " -a",
		"exec 5<>/dev/ptmx", "exec 5<>/dev/pts/ptmx", "python3 -c 'import pty; pty.openpty()'",
		read("/dev/tty0"), read("/dev/console"), read("/dev/vcs"), read("/dev/mem"), read("/dev/kmsg"), read("/dev/vda"), read("/dev/sda"),
		"python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x')\"", "python3 -c \"import fcntl; fcntl.ioctl(0, 0x541c, b'x')\"",
	} {
		out, code := held(t, sandbox.Landlock, profile, line)
		check.That(t, code != 0, "%s: %s", line, out)
	}
}

// TestLandlockLeavesFewRights: of root's rights those remain that a build uses.
func TestLandlockLeavesFewRights(t *testing.T) {
	landlockHere(t)
	profile := &sandbox.Profile{Workspace: t.TempDir(), Temp: t.TempDir()}
	const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID |
		1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_SYS_CHROOT
	out, _ := held(t, sandbox.Landlock, profile, "grep ^Cap /proc/self/status")
	for line := range strings.Lines(out) {
		var name string
		var rights uint64
		_, err := fmt.Sscanf(line, "%s %x", &name, &rights)
		check.OK(t, err)
		if name == "CapBnd:" && os.Getuid() != 0 {
			continue // nobody gets these without a program that gives them, which no_new_privs undoes
		}
		if rights&^kept != 0 {
			t.Errorf("%s %x", name, rights&^kept)
		}
	}
	for _, line := range []string{
		"python3 -c 'import time; time.clock_settime(time.CLOCK_REALTIME, time.time())'",
		"hostname other || python3 -c 'import socket; socket.sethostname(\"other\")'",
		"mknod $TMPDIR/disk b 8 0", "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
		"python3 -c 'import os; os.nice(-1)'", "unshare -r mount -t tmpfs none /mnt",
		fmt.Sprintf("python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(%d, 0, -4, 0) < 0)'", unix.SYS_KEYCTL),
		"python3 -c 'import os; os.setxattr(\"/bin/true\", \"security.capability\", b\"x\" * 20)'",
	} {
		out, code := held(t, sandbox.Landlock, profile, line)
		check.That(t, code != 0, "%s: %s", line, out)
	}
	if os.Getuid() != 0 {
		return
	}
	files(t, profile.Temp, "f")
	line := "chown 1:1 $TMPDIR/f && chmod 4755 $TMPDIR/f && cat $TMPDIR/f && setpriv --reuid 65534 --clear-groups true"
	out, code := held(t, sandbox.Landlock, profile, line)
	check.That(t, code == 0, "%s: %s", filepath.Base(line), out)
}
