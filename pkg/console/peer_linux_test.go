package console_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func special(t *testing.T, path string) {
	t.Helper()
	check.OK(t, syscall.Mkfifo(path, 0o644))
}

// TestCommandsAreRefused: a process that a command started gets nothing, with both secrets and with a good link, which stays good.
func TestCommandsAreRefused(t *testing.T) {
	s := serve(t)
	code := s.code()
	itself := func(pid int) bool { return pid == os.Getpid() }
	s.governed.Store(&itself)
	for _, text := range []string{
		request("POST", "/login", `{"code":"`+code+`"}`, ours), request("GET", "/view/", "", s.in.both()...), request("GET", "/events", "", s.in.both()...),
		request("POST", "/do/answer", "decision=approve_once", append(s.in.both(), ours)...), request("POST", "/logout", "", append(s.in.both(), ours)...),
	} {
		a := s.sends(text)
		check.That(t, a.status == http.StatusForbidden && strings.Contains(a.body, "started by a command"), "%.30q: %d %s", text, a.status, a.body)
		s.harmless(text, a)
	}
	s.governed.Store(nil)
	check.Equal(t, s.sees(s.in), 200)
	check.Equal(t, s.asksIn(code).status, 200)
}

// TestWhoHasGoneIsRefused: nobody is taken for a person who has closed the connection before it can be told whose it was.
func TestWhoHasGoneIsRefused(t *testing.T) {
	s := serve(t)
	const form = "name=added&scope=src/**"
	added := func() bool {
		content := check.Value(os.ReadFile(filepath.Join(s.dir, ".orchestration/active_intents.yaml")))(t)
		return strings.Contains(string(content), "added")
	}
	conn := s.dials().(*net.TCPConn)
	raw := check.Value(conn.SyscallConn())(t)
	// What is sent and the end of it leave in one segment.
	check.OK(t, raw.Control(func(fd uintptr) { check.NoError(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1)) }))
	s.writes(conn, request("POST", "/do/w/{ID}/intents", form, append(s.in.both(), ours, "Content-Type: application/x-www-form-urlencoded")...))
	check.OK(t, conn.Close())
	s.log.has(t, "a program was refused")
	check.That(t, !added(), "the intent was added")
	a := s.does("/do/w/{ID}/intents", form)
	check.That(t, a.status == 200 && added(), "%d %s", a.status, a.body)
}
