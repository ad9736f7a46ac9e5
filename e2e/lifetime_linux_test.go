package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A program that is told to end, by the end of its input or by SIGTERM, takes a running command with it instead of waiting for it,
// also what that put into a session of its own, and lets a file call that is under way finish.
func TestEndWithCommandRunning(t *testing.T) {
	for name, tell := range map[string]func(*process){
		"end of input": func(p *process) { p.in.Close() },
		"SIGTERM":      func(p *process) { _ = p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p := w.initialized()
			session := p.agent().Selects("INT-001")
			mark := filepath.Base(w.dir) + strconv.Itoa(os.Getpid())
			p.send(callLine(1, "execute_command", args{"session": session, "timeout": 600,
				"command": ": " + mark + "; setsid sh -c ': " + mark + "; trap \"\" TERM HUP; sleep 601; :' & sleep 602; :"}))
			eventually(t, "the command runs", func() bool { return len(running(t, mark)) >= 2 })
			p.send(callLine(2, "list_intents", args{}))
			tell(p)
			p.exits()
			// The kernel ends what was in a process table of its own, a moment later.
			eventually(t, "the command's processes end", func() bool { return len(running(t, mark)) == 0 })
			w.wantRecord(`"kind":"command"`)
		})
	}
}

// A client that is killed takes the command of its call with it, although the server finds nobody to write to any more.
func TestCommandEndsWithKilledClient(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.dialedAs("typescript1/stdio", nil, true)
	mark := filepath.Base(w.dir) + strconv.Itoa(os.Getpid())
	a.begin("execute_command", args{"session": a.Selects("INT-001"), "timeout": 60,
		"command": ": " + mark + "; while sleep 0.05; do echo on; done"})
	eventually(t, "the command runs", func() bool { return len(running(t, mark)) > 0 })
	a.client.(*typescript).kill()
	eventually(t, "the command is recorded", func() bool { return len(w.records(`"kind":"command"`)) == 1 })
	eventually(t, "the command's processes end", func() bool { return len(running(t, mark)) == 0 })
}

// running are the processes with a mark in their command lines, by the numbers that they have outside of every sandbox.
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

// A session that sends many commands, reads and writes at once waits for its own: whatever of it waits or runs, other
// sessions on the same connection read, write and list, and its calls take effect in the order sent.
func TestBusySessionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	check.OK(t, mkfifo(w.path("src/go")))
	p := w.initialized(direct)
	a := p.agent()
	busy, other := a.Selects("INT-001"), a.Selects("INT-005")
	const commands, reads = 24, 20
	p.send(callLine("c0", "execute_command", args{"session": busy, "command": ": < src/go; echo 0 >> src/order.txt"}))
	for i := range commands - 1 {
		p.send(callLine(fmt.Sprintf("c%d", i+1), "execute_command", args{"session": busy, "command": fmt.Sprintf("echo %d >> src/order.txt", i+1)}))
	}
	for i := range reads {
		p.send(callLine(fmt.Sprintf("r%d", i), "read_file", args{"session": busy, "path": "src/a.txt"}))
	}
	a.OK("read_file", args{"session": other, "path": "src/a.txt"})
	a.OK("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	check.Equal(t, a.OK("execute_command", args{"session": other, "command": "echo served too"}).Str("output"), "served too\n")
	w.letsPass("src/go")
	for ended := 0; ended < commands+reads; {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if m.Method == "" {
			r := m.result(t)
			check.That(t, !r.Error, "%v: %s", m.ID, r.Text)
			ended++
		}
	}
	for i, line := range strings.Fields(w.read("src/order.txt")) {
		check.Must(t, line == fmt.Sprint(i), "line %d is of command %s", i, line)
	}
}

// As many commands as may run on one connection leave the places of file tools free.
func TestManyCommandsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	check.OK(t, mkfifo(w.path("src/go")))
	p := w.initialized(direct)
	a := p.agent()
	other := a.Selects("INT-005")
	const commands = 70
	for i := range commands {
		p.send(string(modernLine(t, fmt.Sprintf("s%d", i), "select_active_intent", args{"intent_id": "INT-001"})))
		session := p.await(fmt.Sprintf("s%d", i)).result(t).Str("session")
		p.send(callLine(fmt.Sprintf("c%d", i), "execute_command", args{"session": session, "command": ": < src/go"}))
	}
	a.OK("write_to_file", args{"session": other, "path": "src/other.txt", "content": "served\n"})
	a.OK("read_file", args{"session": other, "path": "src/a.txt"})
	w.letsPass("src/go")
	for ended := 0; ended < commands; {
		m, ok := p.next()
		check.Must(t, ok, "the program ended")
		if id, _ := m.ID.(string); strings.HasPrefix(id, "c") {
			r := m.result(t)
			check.That(t, !r.Error && r.Object["exit_code"] == float64(0), "%v: %s", m.ID, r.Text)
			ended++
		}
	}
}

// flood is a command that prints more than is kept.
type flood struct {
	line string // with a place for the number of bytes
	// of is what the output repeats; "" where nobody can know.
	of string
	// lines: the output has lines.
	lines bool
}

func floods() []flood {
	return []flood{
		{"head -c %d /dev/zero | tr '\\0' x", "x", false},
		{"yes | head -c %d", "y\n", true},
		{"head -c %d /dev/zero", "\x00", false},
		{"head -c %d /dev/urandom", "", true},
	}
}

// kept is how much of an output is kept, where the settings say nothing.
const kept = 64 << 20

// The memory of the server does not grow with what a command prints, lines without end or one line without end. What is
// kept of it is whole up to the cap, and can be paged through to its end.
func TestOutputInBoundedMemory(t *testing.T) {
	size, tried, on := int64(66<<20), floods()[:2], machines(t)[:1]
	switch {
	case check.Long():
		size, tried, on = 1<<30, floods(), machines(t)
	case check.Short():
		tried = tried[:1]
	}
	for _, m := range on {
		t.Run(m.name, func(t *testing.T) {
			w := newWorkspace(t)
			p := w.startedOn(m, "GOMEMLIMIT=32MiB") // else what nobody needs any more stays for as long as the collector waits for a processor
			p.patience = 5 * time.Minute
			a := p.agent()
			session := a.Selects("INT-001")
			a.OK("execute_command", args{"session": session, "command": "echo warm"})
			before := peakMemory(t, p)
			for _, f := range tried {
				begun, used := time.Now(), busyTime(t, p)
				r := a.OK("execute_command", args{"session": session, "timeout": 600, "command": fmt.Sprintf(f.line, size)})
				took, worked := time.Since(begun), busyTime(t, p)-used
				out := r.Str("output")
				check.That(t, len(out) <= 120_000 && len(out) >= 10_000 && r.Object["truncated"] == true && r.Object["sandbox"] == m.level,
					"%s: %d bytes of output", f.line, len(out))
				w.wholeUpTo(kept, r.Str("artifact_id"), f)
				a.pages(session, r.Str("artifact_id"), f)
				t.Logf("%s of %d MiB: %v, %v of them the server's work, read %v, peak memory %d MiB", f.line, size>>20, took.Round(time.Millisecond), worked, time.Since(begun.Add(took)).Round(time.Millisecond), peakMemory(t, p)>>20)
			}
			grown := peakMemory(t, p) - before
			check.That(t, grown <= 32<<20*slowness(), "the output of %d MiB cost %d MiB", size>>20, grown>>20)
		})
	}
}

// wholeUpTo demands that a kept output has so many bytes, all of them right.
func (w *workspace) wholeUpTo(size int64, artifact string, f flood) {
	w.t.Helper()
	file := check.Value(os.Open(w.path(".orchestration/cache/output/" + artifact)))(w.t)
	defer file.Close()
	check.Equal(w.t, check.Value(file.Stat())(w.t).Size(), size, "%s", f.line)
	got, want := make([]byte, 1<<20), bytes.Repeat([]byte(f.of), 1<<20)[:1<<20*min(len(f.of), 1)]
	for at := int64(0); at < size && f.of != ""; at += int64(len(got)) {
		check.Value(io.ReadFull(file, got))(w.t)
		check.Must(w.t, bytes.Equal(got, want), "%s: what follows byte %d is wrong", f.line, at)
	}
}

// pages reads the end of a kept output, by bytes and by lines.
func (a agent) pages(session, artifact string, f flood) {
	a.T.Helper()
	read := func(arguments args) answer {
		arguments["session"], arguments["artifact_id"] = session, artifact
		return a.OK("read_command_output", arguments)
	}
	end := read(args{"byte_offset": kept - 100, "limit": 1000})
	check.That(a.T, end.Object["total_bytes"] == float64(kept) && end.Object["next_byte"] == float64(0) && end.Str("content") != "",
		"%s, the end by bytes: %v", f.line, end.Object)
	before := read(args{"byte_offset": kept - 200, "limit": 100})
	if next, _ := before.Object["next_byte"].(float64); next > kept-100 || next < kept-100-3 || f.of != "" && next != kept-100 { // a page ends with a character
		a.T.Errorf("%s, before the end by bytes: %v", f.line, before.Object)
	}
	last := read(args{"tail": 2})
	total, _ := last.Object["total_lines"].(float64)
	check.That(a.T, f.lines == (total > 1000) && len(last.Str("content")) != 0 && last.Object["next"] == float64(0),
		"%s, the last lines: %v", f.line, last.Object)
	by := read(args{"offset": total, "limit": 10})
	got := by.Str("content")
	check.That(a.T, strings.HasPrefix(got, fmt.Sprintf("%d | ", int(total))) && by.Object["next"] == float64(0),
		"%s, line %v: %.100q, next %v", f.line, total, got, by.Object["next"])
	if check.Long() {
		check.Equal[any](a.T, read(args{"search": "no such text", "limit": 1}).Object["matches"], float64(0), "%s, a search", f.line)
	}
	if bytes.ContainsAny([]byte(last.Str("content")), "\x00\x1b") {
		a.T.Errorf("%s: control characters in %.100q", f.line, last.Str("content"))
	}
}

// busyTime is how long the processors have worked for a program, without its children.
func busyTime(t *testing.T, p *process) time.Duration {
	t.Helper()
	stat := readFile(t, fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var ticks int64
	for _, field := range fields[11:13] { // user and system
		n := check.Value(strconv.ParseInt(field, 10, 64))(t)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
