package sandbox_test

import (
	_ "embed"
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
	check.Must(t, a.Signals, "signals cannot be held here")
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
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	return ended(t, cmd, func() (*sandbox.Held, error) {
		return sandbox.StartLandlockAs(cmd, &sandbox.Profile{Workspace: cmd.Dir, Temp: cmd.Dir}, abi)
	})
}

// What the programs below need, and the longer ones. What reaches the server says so.
var (
	//go:embed testdata/signals.py
	preamble string
	//go:embed testdata/signals_attacks.py
	signalAttacks string
	//go:embed testdata/signals_work.py
	signalWork string
)

// TestLandlockKeepsSignalsIn: the server and its threads get no signal and no limits, by whichever call.
func TestLandlockKeepsSignalsIn(t *testing.T) {
	for _, abi := range versions(t) {
		t.Run(fmt.Sprint(abi), func(t *testing.T) {
			output, code := heldAs(t, abi, preamble+signalAttacks, fmt.Sprint(os.Getpid()), fmt.Sprint(unix.Getpgrp()))
			if abi >= 6 {
				output = strings.ReplaceAll(output, "REACHED kill of all\n", "") // all that it may signal
			}
			check.That(t, code == 0 && output == "", "%d %s", code, output)
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
	for _, abi := range versions(t) {
		t.Run(fmt.Sprint(abi), func(t *testing.T) {
			output, code := heldAs(t, abi, preamble+signalWork, "1", "1")
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
	in := check.Value(cmd.StdinPipe())(t)
	check.OK(t, inThread(cmd, func() (*sandbox.Held, error) {
		held, err := sandbox.Start(cmd, sandbox.Landlock, &sandbox.Profile{Workspace: dir, Temp: dir})
		if err == nil {
			sandbox.LimitTasks(cmd.Process.Pid, 1000)
			var now unix.Rlimit
			if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NPROC, nil, &now); err != nil || now.Max > 1_000_000 {
				t.Errorf("the limit is %d: %v", now.Max, err)
			}
			in.Close()
		}
		return held, err
	}))
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
			output, code := heldAs(t, 2, preamble+storm, "1", "1")
			check.That(t, code == 0, "%d %s", code, output)
		})
	}
	all.Wait()
	now := listeners(t)
	check.That(t, now <= before, "%d listeners, %d before", now, before)
}

// listeners counts the descriptors of filters that are listened to.
func listeners(t *testing.T) (count int) {
	t.Helper()
	entries := check.Value(os.ReadDir("/proc/self/fd"))(t)
	for _, entry := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.Contains(to, "seccomp") {
			count++
		}
	}
	return count
}
