//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// inTerminal runs the program in a real terminal of 80 columns, presses keys once a text has come, and returns all that was
// shown until it ended, which must be well.
func inTerminal(t *testing.T, dir, text, keys string, args ...string) (shown string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "orchestra-mcp", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=xterm-256color")
	terminal := check.Value(pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}))(t)
	defer terminal.Close()
	for chunk := make([]byte, 4096); ; {
		n, err := terminal.Read(chunk)
		shown += string(chunk[:n])
		if err != nil {
			break
		}
		if keys != "" && strings.Contains(shown, text) {
			_, _ = terminal.WriteString(keys)
			keys = ""
		}
	}
	err := cmd.Wait()
	check.That(t, err == nil && strings.Contains(shown, text), "%s ended with %v: %q", args, err, shown)
	return shown
}

// TestServeAtATerminal: who starts the server by hand is told what it is, and ends it with Ctrl-C.
func TestServeAtATerminal(t *testing.T) {
	inTerminal(t, toldStory(t), "orchestra-mcp setup CLIENT", "\x03", "serve")
}

// TestWatchAtATerminal: the live view leaves the terminal as it was, and has no colour where NO_COLOR is set. How it answers is
// shown in e2e.
func TestWatchAtATerminal(t *testing.T) {
	w := newAsked(t)
	t.Setenv("NO_COLOR", "1")
	shown := inTerminal(t, w.dir, "Nothing waits", "q", "approvals", "watch")
	check.That(t, strings.Contains(shown, "\x1b[?1049l") && !strings.Contains(shown, "\x1b[3"), "%q", shown)
}

// TestLogAtATerminal asks a real terminal for its width, and goes through a real pager.
func TestLogAtATerminal(t *testing.T) {
	dir := toldStory(t)
	t.Setenv("PAGER", "cat -")
	t.Setenv("NO_COLOR", "1")
	for line := range strings.Lines(inTerminal(t, dir, "select_active_intent", "", "log")) {
		n := len([]rune(strings.TrimRight(line, "\r\n")))
		check.That(t, n <= 80, "%d characters: %s", n, line)
	}
}
