//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// patience bounds how long a test waits for what must come.
const patience = time.Minute

// screen is a terminal with a program in it.
type screen struct {
	t        *testing.T
	terminal *os.File
	cmd      *exec.Cmd

	mu  sync.Mutex
	out bytes.Buffer
}

func openScreen(t *testing.T, dir string, rows, columns uint16, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, cmd: exec.CommandContext(t.Context(), "orchestra-mcp", args...)}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1")
	var err error
	if s.terminal, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.terminal.Close() })
	go func() {
		chunk := make([]byte, 4096)
		for {
			n, err := s.terminal.Read(chunk)
			s.mu.Lock()
			s.out.Write(chunk[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// shown is what was printed since the last call of forget.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *screen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Reset()
}

// until waits for something to become true, for a while; it tells whether it did.
func until(wait time.Duration, done func() bool) bool {
	for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

func (s *screen) expect(text string) {
	s.t.Helper()
	if !until(patience, func() bool { return strings.Contains(s.shown(), text) }) {
		s.t.Fatalf("%q did not come on the screen: %q", text, s.shown())
	}
}

func (s *screen) press(keys string) {
	s.t.Helper()
	_, err := s.terminal.WriteString(keys)
	check.OK(s.t, err)
}

// insist presses a key until a text comes: it is not heard before what it answers was on the screen for a while.
func (s *screen) insist(key, text string) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		s.press(key)
		if until(time.Second, func() bool { return strings.Contains(s.shown(), text) }) {
			return
		}
	}
	s.t.Fatalf("%s did not bring %q: %q", key, text, s.shown())
}

// TestWatchAtATerminal answers requests in a real terminal: the program is a process of its own.
func TestWatchAtATerminal(t *testing.T) {
	w := newAsked(t)
	root := check.Value(os.OpenRoot(w.dir))(t)
	defer root.Close()
	w.store = storeAt(root, time.Time{})
	s := openScreen(t, w.dir, 24, 80, "approvals", "watch")
	s.expect("Nothing waits")

	first := callTo("docs/first.md")
	first.Client = "\x1b[2Jclient"
	once := w.put(first)
	s.expect(once)
	s.expect("+text")
	s.expect(`\x1b[2Jclient`)
	s.insist("a", "y yes")
	s.press("y")
	w.expectAnswer(once, approval.Once)
	s.expect("Approved " + once[:8])

	s.forget()
	second := w.put(callTo("docs/second.md"))
	s.expect("second.md")
	s.insist("d", "Enter denies")
	s.press("because\r")
	a := w.expectAnswer(second, approval.Deny)
	check.That(t, a.Reason == "because" && a.Via == approval.Inbox && a.By != "", "%+v", a)

	s.forget()
	check.OK(t, pty.Setsize(s.terminal, &pty.Winsize{Rows: 5, Cols: 20}))
	s.expect("Make the terminal")
	s.press("q")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %q", err, s.shown())
	}
	s.expect("\x1b[?1049l") // the terminal is as it was
	check.That(t, !strings.Contains(s.shown(), "\x1b[3"), "colour, although NO_COLOR is set")
	got := w.outcomes()
	check.That(t, len(got) == 2 && got[0] == "approved "+once && got[1] == "denied "+second, "%q", got)
	checkLedger(t, w.dir)
}

func (w *asked) expectAnswer(id string, want approval.Decision) approval.Answer {
	w.t.Helper()
	var a approval.Answer
	var err error
	if !until(patience, func() bool { a, err = w.store.AnswerOf(id); return err == nil }) || a.Decision != want {
		w.t.Fatalf("%s was answered with %q, %v", id, a.Decision, err)
	}
	return a
}
