package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// promptly is how soon a program ends that is told to. Tests allow ten times as
// much: on a busy machine they are to find what waits for something, not what
// is slow.
const promptly = 2 * time.Second

// A program that is told to end, by the end of its input or by SIGTERM, ends
// promptly, takes a running command with it, also what that put
// into a session of its own, and lets a file call that is under way finish.
func TestEndWithCommandRunning(t *testing.T) {
	for name, tell := range map[string]func(*process){
		"end of input": func(p *process) { p.in.Close() },
		"SIGTERM":      func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p := w.initialized()
			session := p.agent().selects("INT-001")
			mark := filepath.Base(w.dir) + strconv.Itoa(os.Getpid())
			p.send(callLine(1, "execute_command", args{"session": session, "timeout": 600,
				"command": ": " + mark + "; setsid sh -c ': " + mark + "; trap \"\" TERM HUP; sleep 601; :' & sleep 602; :"}))
			eventually(t, "the command runs", func() bool { return len(running(t, mark)) >= 2 })
			p.send(callLine(2, "list_intents", args{}))
			tell(p)
			took := p.exits()
			check.That(t, took <= 10*promptly, "it took %v", took)
			// The kernel ends what was in a process table of its own, a moment later.
			eventually(t, "the command's processes end", func() bool { return len(running(t, mark)) == 0 })
			w.wantRecord(`"kind":"command"`)
		})
	}
}

// A client that is killed takes the command of its call with it, although the
// server finds nobody to write to any more.
func TestCommandEndsWithKilledClient(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.dialed("typescript1/stdio", nil)
	mark := filepath.Base(w.dir) + strconv.Itoa(os.Getpid())
	a.begin("execute_command", args{"session": a.selects("INT-001"), "timeout": 60,
		"command": ": " + mark + "; while sleep 0.05; do echo on; done"})
	eventually(t, "the command runs", func() bool { return len(running(t, mark)) > 0 })
	a.client.(*typescript).kill()
	eventually(t, "the command is recorded", func() bool { return len(w.records(`"kind":"command"`)) == 1 })
	eventually(t, "the command's processes end", func() bool { return len(running(t, mark)) == 0 })
}

// running are the processes with a mark in their command lines, by the numbers
// that they have outside of every sandbox.
func running(t *testing.T, mark string) []string {
	t.Helper()
	names := check.Value(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	var pids []string
	for _, name := range names {
		if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), mark) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}

// peakMemory is VmHWM in bytes.
func peakMemory(t *testing.T, p *process) int {
	t.Helper()
	status := check.Value(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)))(t)
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib := check.Value(strconv.Atoi(strings.Fields(value)[0]))(t)
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// A session that sends many commands, reads and writes at once waits for its
// own: whatever of it waits or runs, other sessions on the same connection
// read, write and list, and its calls take effect in the order sent.
func TestBusySessionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	a := p.agent()
	busy, other := a.selects("INT-001"), a.selects("INT-005")
	const commands, reads = 24, 20
	p.send(callLine("c0", "execute_command", args{"session": busy, "command": "until [ -e src/go ]; do sleep 0.05; done; echo 0 >> src/order.txt"}))
	for i := range commands - 1 {
		p.send(callLine(fmt.Sprintf("c%d", i+1), "execute_command", args{"session": busy, "command": fmt.Sprintf("echo %d >> src/order.txt", i+1)}))
	}
	for i := range reads {
		p.send(callLine(fmt.Sprintf("r%d", i), "read_file", args{"session": busy, "path": "src/a.txt"}))
	}
	a.ok("read_file", args{"session": other, "path": "src/a.txt"})
	a.ok("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	check.Equal(t, a.ok("execute_command", args{"session": other, "command": "echo served too"}).str("output"), "served too\n")
	w.write("src/go", "")
	for ended := 0; ended < commands+reads; {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if m.Method == "" {
			r := m.result(t)
			check.That(t, !r.IsError, "%v: %s", m.ID, r.text())
			ended++
		}
	}
	for i, line := range strings.Fields(w.read("src/order.txt")) {
		check.Must(t, line == fmt.Sprint(i), "line %d is of command %s", i, line)
	}
}

// As many commands as may run on one connection leave the places of file tools
// free.
func TestManyCommandsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	p := w.initialized()
	a := p.agent()
	other := a.selects("INT-005")
	const commands = 70
	for i := range commands {
		p.send(string(modernLine(t, fmt.Sprintf("s%d", i), "select_active_intent", args{"intent_id": "INT-001"})))
		session := p.await(fmt.Sprintf("s%d", i)).result(t).str("session")
		p.send(callLine(fmt.Sprintf("c%d", i), "execute_command", args{"session": session, "command": "until [ -e src/go ]; do sleep 0.2; done"}))
	}
	a.ok("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	a.ok("read_file", args{"session": other, "path": "src/a.txt"})
	w.write("src/go", "")
	for ended := 0; ended < commands; {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if id, _ := m.ID.(string); strings.HasPrefix(id, "c") {
			r := m.result(t)
			check.That(t, !r.IsError && r.Fields["exit_code"] == float64(0), "%v: %s", m.ID, r.text())
			ended++
		}
	}
}
