//go:build unix

package session_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

func TestAFIFOInPlaceOfAStateFileDoesNotBlock(t *testing.T) {
	b := newBench(t)
	s := b.open()
	_, handle := mustSelect(t, s, chat, "", "INT-1")
	for _, name := range []string{session.ViewsFileOf(handle), session.FileOf(handle)} {
		os.Remove(b.path(name))
		check.OK(t, syscall.Mkfifo(b.path(name), 0o600))
		if name == session.ViewsFileOf(handle) {
			wantSeen(t, mustResolve(t, s, chat, handle, ""), "a.go", "unseen")
		}
	}
	wantError(t, s, chat, handle, "", session.ErrExpired)
	wantError(t, b.open(), chat, handle, "", session.ErrExpired)
}
