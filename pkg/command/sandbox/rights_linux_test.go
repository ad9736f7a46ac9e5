package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

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
		if out, code := held(t, sandbox.Landlock, profile, line); code == 0 {
			t.Errorf("%s: %s", line, out)
		}
	}
	if os.Getuid() != 0 {
		return
	}
	files(t, profile.Temp, "f")
	line := "chown 1:1 $TMPDIR/f && chmod 4755 $TMPDIR/f && cat $TMPDIR/f && setpriv --reuid 65534 --clear-groups true"
	if out, code := held(t, sandbox.Landlock, profile, line); code != 0 {
		t.Errorf("%s: %s", filepath.Base(line), out)
	}
}
