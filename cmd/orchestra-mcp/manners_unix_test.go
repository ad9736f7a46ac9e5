//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestServeAtATerminal: who starts the server by hand is told what it is, and ends it with Ctrl-C.
func TestServeAtATerminal(t *testing.T) {
	dir := toldStory(t)
	s := openScreen(t, dir, 24, 80, "serve")
	s.expect("orchestra-mcp setup CLIENT")
	s.press("\x03")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %q", err, s.shown())
	}
}

// TestLogAtATerminal asks a real terminal for its width, and goes through a real pager.
func TestLogAtATerminal(t *testing.T) {
	home(t)
	t.Setenv("PAGER", "cat -")
	dir := t.TempDir()
	check.OK(t, tellStory(dir))
	s := openScreen(t, dir, 24, 80, "log")
	s.expect("select_active_intent")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %q", err, s.shown())
	}
	for line := range strings.Lines(s.shown()) {
		n := len([]rune(strings.TrimRight(line, "\r\n")))
		check.That(t, n <= 80, "%d characters: %s", n, line)
	}
}
