//go:build unix

package e2e_test

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
)

// terminal is a terminal with the program in it.
type terminal struct {
	t *testing.T
	*os.File
	rows   uint16
	mu     sync.Mutex
	screen bytes.Buffer
}

func (w *workspace) terminal(arguments ...string) *terminal {
	w.t.Helper()
	cmd := exec.Command(program, append(arguments, "--workspace", w.dir)...)
	cmd.Env = w.env("TERM=xterm-256color", "NO_COLOR=1")
	file := check.Value(pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120}))(w.t)
	screen := &terminal{t: w.t, File: file, rows: 40}
	go screen.read()
	w.t.Cleanup(func() {
		screen.press("q")
		w.ends(cmd)
		file.Close()
	})
	return screen
}

func (s *terminal) read() {
	chunk := make([]byte, 4096)
	for {
		n, err := s.Read(chunk)
		s.mu.Lock()
		s.screen.Write(chunk[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *terminal) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.screen.String(), text)
}

// clearLine is Ctrl+U.
const clearLine = "\x15"

func (s *terminal) press(keys string) { _, _ = s.WriteString(keys) }

// insist presses keys until something is so: they are heard once what they answer was on the screen for a while. How long they
// take to be heard is not known, so that the same keys again must do no harm.
func (s *terminal) insist(keys string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(500 * time.Millisecond) {
		check.Must(s.t, !time.Now().After(deadline), "%q was not heard", keys)
		s.press(keys)
	}
}

// repaint has the program draw the whole screen: it writes what changed only.
func (s *terminal) repaint() {
	s.rows = 81 - s.rows
	_ = pty.Setsize(s.File, &pty.Winsize{Rows: s.rows, Cols: 120})
}

// forget takes what was shown away, so that what comes next is looked for.
func (s *terminal) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.screen.Reset()
}

// An operator who watches answers with a key, while the calls wait: once, no with a reason, and for the intent.
func TestWatchAnswersWaitingCalls(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.dialed("typescript1/stdio", nil, asksOutside, waitsForOperator)
	session := a.Selects("INT-001")
	screen := w.terminal("approvals", "watch")
	inbox := w.inbox()
	put := func(name string, content string) func() (answer, error) {
		screen.forget()
		end := a.begin("write_to_file", args{"session": session, "path": "docs/" + name + ".md", "content": content})
		w.pending(inbox, 1)
		eventually(t, name+" is on the screen", func() bool {
			screen.repaint()
			return screen.has("docs/"+name+".md") && screen.has("+"+strings.TrimSpace(content))
		})
		return end
	}
	ends := func(end func() (answer, error), code string) answer {
		t.Helper()
		r, err := end()
		got, _ := r.Object["error_type"].(string)
		check.Must(t, err == nil && got == code, "want %q: %v %+v", code, err, r)
		return r
	}
	answered := func() bool { return len(check.Value(inbox.Pending())(t)) == 0 }
	end := put("once", "first line\n")
	screen.insist("ay", answered) // a second a would say no to the question
	ends(end, "")
	w.want("docs/once.md", "first line\n")

	end = put("denied", "third line\n")
	screen.insist("d", func() bool { return screen.has("Why?") })
	screen.press(clearLine + "not like this\r")
	check.Equal(t, ends(end, "APPROVAL_REJECTED").Details()["operator_reason"], "not like this")

	end = put("granted", "second line\n")
	screen.insist("iy", answered)
	ends(end, "")
	a.OK("write_to_file", args{"session": session, "path": "docs/granted.md", "content": "again\n"})
	check.Equal(t, len(w.grants("docs/granted.md")), 1, "approvals list shows no grant")
}
