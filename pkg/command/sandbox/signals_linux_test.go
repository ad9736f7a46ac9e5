package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// versions of Landlock's interface: of Debian 12, of Ubuntu 24.04, and of this kernel.
func versions(t *testing.T) []int {
	a := landlockHere(t)
	if !a.Signals {
		t.Fatal("signals cannot be held here")
	}
	var all []int
	for _, abi := range []int{2, 4} {
		if abi < a.ABI {
			all = append(all, abi)
		}
	}
	return append(all, a.ABI)
}

// heldAs runs a program of python inside a profile of a version of Landlock.
func heldAs(t *testing.T, abi int, program string, arguments ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command("python3", append([]string{"-c", program}, arguments...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	done := make(chan error)
	sandbox.Go(func() {
		held, err := sandbox.StartLandlockAs(cmd, &sandbox.Profile{Workspace: cmd.Dir, Temp: cmd.Dir}, abi)
		if err == nil {
			_ = cmd.Wait()
			held.Close()
		}
		done <- err
	})
	if err := <-done; err != nil {
		t.Fatalf("start: %v", err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// preamble has what the programs below need. What reaches the server says so.
const preamble = `
import ctypes, os, platform, resource, signal, subprocess, sys, threading, time, fcntl
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def call(amd, arm_, *a):
    return libc.syscall(arm_ if arm else amd, *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
server, group = int(sys.argv[1]), int(sys.argv[2])
threads = [int(t) for t in os.listdir('/proc/%d/task' % server)] if server > 1 else []
info = ctypes.create_string_buffer(128)
ctypes.cast(info, ctypes.POINTER(ctypes.c_int))[0] = 34
ctypes.cast(info, ctypes.POINTER(ctypes.c_int))[2] = -1
def reached(what):
    print('REACHED', what)
`

// TestLandlockKeepsSignalsIn: the server and its threads get no signal and no limits, by whichever call.
func TestLandlockKeepsSignalsIn(t *testing.T) {
	attacks := `
iov = (ctypes.c_void_p * 2)(ctypes.cast(info, ctypes.c_void_p), 8)
there = (ctypes.c_void_p * 2)(0x400000, 8)
for t in threads:
    if call(310, 270, t, iov, 1, there, 1, 0) > 0: reached('its memory')
    if libc.ptrace(0x4206, t, 0, 0) == 0: reached('it, by ptrace')
    for name in 'environ', 'maps', 'mem', 'auxv', 'fd':
        for path in '/proc/%d/' % t, '/proc/%d/task/%d/' % (server, t):
            try:
                if name == 'fd': os.readlink(path + 'fd/0')
                else: os.read(os.open(path + name, os.O_RDONLY), 1)
                reached(path + name)
            except OSError as e:
                if name == 'mem' and e.errno == 5: reached(path + name)
    fd = call(434, 434, t, 0o200) # PIDFD_THREAD, which is O_EXCL
    if fd >= 0 and call(424, 424, fd, 0, None, 0) == 0: reached('a thread by its descriptor')
    if fd >= 0 and call(438, 438, fd, 0, 0) >= 0: reached('a descriptor of the server')
    fd = os.open('/proc/%d' % t, os.O_RDONLY | os.O_DIRECTORY)
    if call(424, 424, fd, 0, None, 0) == 0: reached('a thread by its directory')
    if libc.kill(t, 0) == 0: reached('kill of %d' % t)
    if call(200, 130, t, 0) == 0: reached('tkill')
    if call(234, 131, server, t, 0) == 0: reached('tgkill')
    if call(129, 138, t, 0, info) == 0: reached('rt_sigqueueinfo')
    if call(297, 240, server, t, 0, info) == 0: reached('rt_tgsigqueueinfo')
    if call(302, 261, t, 7, ctypes.create_string_buffer(b'\xff' * 16), None) == 0: reached('prlimit')
    if call(62, 129, t | 1 << 32, 0) == 0: reached('kill with more bits')
    if call(302, 261, t | 1 << 32, 7, ctypes.create_string_buffer(b'\xff' * 16), None) == 0: reached('prlimit with more bits')
if libc.kill(-1, 0) == 0: reached('kill of all')
if group and libc.kill(-group, 0) == 0: reached('kill of the group')
fd = call(434, 434, server, 0)
if fd >= 0 and call(424, 424, fd, 0, None, 0) == 0: reached('pidfd')
fd = os.open('/proc/%d' % server, os.O_RDONLY | os.O_DIRECTORY)
if call(424, 424, fd, 0, None, 0) == 0: reached('the directory in proc')
r, w = os.pipe()
try:
    fcntl.fcntl(r, 10, 40)
    fcntl.fcntl(r, fcntl.F_SETOWN, server)
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
    os.write(w, b'x')
except OSError: pass
`
	for _, abi := range versions(t) {
		t.Run(fmt.Sprint(abi), func(t *testing.T) {
			output, code := heldAs(t, abi, preamble+attacks, fmt.Sprint(os.Getpid()), fmt.Sprint(unix.Getpgrp()))
			if abi >= 6 {
				output = strings.ReplaceAll(output, "REACHED kill of all\n", "") // all that it may signal
			}
			if code != 0 || output != "" {
				t.Errorf("%d %s", code, output)
			}
		})
	}
}

// TestLandlockKeepsFilesFromBeingEmptied, by what writes nothing; what may be written may be emptied as usual.
func TestLandlockKeepsFilesFromBeingEmptied(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	const program = `
try: os.truncate(sys.argv[3], 0)
except OSError as e: assert e.errno == 13, e
for flags in os.O_RDONLY, os.O_WRONLY, os.O_RDWR, 3:
    try: os.open(sys.argv[3], flags | os.O_TRUNC)
    except OSError as e: assert e.errno == 13, e
how = (ctypes.c_uint64 * 3)(os.O_RDONLY | os.O_TRUNC, 0, 0)
assert call(437, 437, -100, sys.argv[3].encode(), how, 24) < 0
assert call(2, 437, sys.argv[3].encode(), os.O_TRUNC) < 0
open('own', 'w').write('x'); open('own', 'w').close(); open('own', 'r+').truncate(1)
os.open('own', os.O_RDONLY)
print('worked')
`
	for _, abi := range versions(t) {
		check.OK(t, os.WriteFile(victim, []byte("whole"), 0o666))
		output, code := heldAs(t, abi, preamble+program, "1", "1", victim)
		if content, err := os.ReadFile(victim); code != 0 || output != "worked\n" || string(content) != "whole" {
			t.Errorf("interface %d: %d %s\n%q %v", abi, code, output, content, err)
		}
	}
}

// TestLandlockLetsSignalsWork among a command's own processes.
func TestLandlockLetsSignalsWork(t *testing.T) {
	const work = `
def child(): return subprocess.Popen(['sleep', '100'], start_new_session=True)
c = child(); c.kill(); assert c.wait() == -9
c = child(); c.terminate(); assert c.wait() == -15
c = child(); os.kill(c.pid, signal.SIGINT); assert c.wait() == -2
c = child(); os.killpg(c.pid, signal.SIGTERM); assert c.wait() == -15
os.kill(os.getpid(), 0)
try:
    os.kill(c.pid, 0); assert False, 'a dead one'
except ProcessLookupError: pass
try:
    os.kill(os.getpid(), 999); assert False, 'no signal'
except OSError as e: assert e.errno == 22, e
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.raise_signal(signal.SIGUSR1); signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
assert call(200, 130, threading.get_native_id(), 10) == 0
os.kill(0, signal.SIGUSR1)
assert len(got) == 4, got
assert subprocess.run(['sh', '-c', 'kill -KILL $$']).returncode == -9
assert subprocess.run(['sh', '-c', 'kill -ABRT 0'], start_new_session=True).returncode == -6
assert subprocess.run(['timeout', '0.1', 'sleep', '100']).returncode == 124
assert subprocess.run(['sh', '-c', 'sleep 100 & kill $!; wait $!']).returncode == 143
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.prlimit(os.getppid(), resource.RLIMIT_CORE)
print('worked')
`
	for _, abi := range versions(t) {
		t.Run(fmt.Sprint(abi), func(t *testing.T) {
			output, code := heldAs(t, abi, preamble+work, "1", "1")
			if code != 0 || !strings.HasSuffix(output, "worked\n") { // before it a shell may say what was terminated
				t.Errorf("%d %s", code, output)
			}
		})
	}
}

// TestTheStarterLimitsTasks: what a command may not do to others, the server
// can do to the command, from the thread that is held like it.
func TestTheStarterLimitsTasks(t *testing.T) {
	landlockHere(t)
	dir := t.TempDir()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	done := make(chan error)
	sandbox.Go(func() {
		held, err := sandbox.Start(cmd, sandbox.Landlock, &sandbox.Profile{Workspace: dir, Temp: dir})
		if err == nil {
			sandbox.LimitTasks(cmd.Process.Pid, 1000)
			var now unix.Rlimit
			if err = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NPROC, nil, &now); err == nil && now.Max > 1_000_000 {
				err = fmt.Errorf("the limit is %d", now.Max)
			}
			in.Close()
			_ = cmd.Wait()
			held.Close()
		}
		done <- err
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTheWardenGoes with its command, also where a process is killed while it asks, and where some are left.
func TestTheWardenGoes(t *testing.T) {
	before := listeners(t)
	const storm = `
def ask():
    while True: libc.kill(os.getppid() + 100000, 0)
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        for _ in range(4): threading.Thread(target=ask).start()
        time.sleep(100)
    time.sleep(0.02)
    libc.kill(pid, 9)
`
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if output, code := heldAs(t, 2, preamble+storm, "1", "1"); code != 0 {
				t.Errorf("%d %s", code, output)
			}
		})
	}
	all.Wait()
	if now := listeners(t); now > before {
		t.Errorf("%d listeners, %d before", now, before)
	}
}

// listeners counts the descriptors of filters that are listened to.
func listeners(t *testing.T) (count int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	check.OK(t, err)
	for _, entry := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.Contains(to, "seccomp") {
			count++
		}
	}
	return count
}
