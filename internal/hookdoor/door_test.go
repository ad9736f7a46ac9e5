package hookdoor_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
)

// place is a user's own, with a short name, as sockets need.
func place(t *testing.T) hookdoor.Place {
	t.Helper()
	dir := check.Value(os.MkdirTemp("", "door"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return hookdoor.Find(func(string) string { return dir })
}

// serve answers what may be heard with what was asked.
func serve(t *testing.T, l *hookdoor.Listener) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := conn.Receive(l); err == nil {
				_ = conn.Send(hookdoor.Reply{Stdout: []byte(r.Op + r.Client), OK: true})
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
}

func TestOneServerAnswers(t *testing.T) {
	t.Parallel()
	p := place(t)
	_, err := p.Dial("/w")
	check.That(t, errors.Is(err, hookdoor.ErrNobody), "%v", err)
	l := check.Value(p.Listen("/w"))(t)
	serve(t, l)
	_, err = p.Listen("/w")
	check.That(t, errors.Is(err, hookdoor.ErrTaken), "%v", err)
	other := check.Value(p.Listen("/other"))(t)
	defer other.Close()
	conn := check.Value(p.Dial("/w"))(t)
	defer conn.Close()
	reply := check.Value(conn.Ask(hookdoor.Request{Op: "event", Client: "x", Event: []byte(strings.Repeat("e", 1<<20))}))(t)
	check.Equal(t, string(reply.Stdout), "eventx")
	check.NoError(t, l.Close())
	check.NoError(t, l.Close())
	again := check.Value(p.Listen("/w"))(t)
	check.NoError(t, again.Close())
}

// Who does not know the token, or speaks something else, is not answered.
func TestStrangers(t *testing.T) {
	t.Parallel()
	p := place(t)
	serve(t, check.Value(p.Listen("/w"))(t))
	sockets := check.Value(filepath.Glob(filepath.Join(p.Dir(), "*.sock")))(t)
	wrong := check.Value(json.Marshal(hookdoor.Request{Token: "made up", Op: "event"}))(t)
	for what, message := range map[string]string{"another token": string(wrong), "no JSON": "GET / HTTP/1.1\r\n", "nothing": ""} {
		conn := check.Value(net.Dial("unix", sockets[0]))(t)
		_, err := conn.Write([]byte(message + "\n"))
		check.NoError(t, err)
		n, _ := conn.Read(make([]byte, 1))
		check.That(t, n == 0, "%s is answered", what)
		conn.Close()
	}
}

// A directory that others can write is not used, on either side.
func TestUnsafePlace(t *testing.T) {
	t.Parallel()
	p := place(t)
	check.OK(t, os.Mkdir(p.Dir(), 0o700))
	check.OK(t, os.Chmod(p.Dir(), 0o777))
	_, err := p.Listen("/w")
	check.That(t, err != nil && strings.Contains(err.Error(), "closed to others"), "%v", err)
	_, err = p.Dial("/w")
	check.That(t, errors.Is(err, hookdoor.ErrNobody), "%v", err)
	check.OK(t, os.Remove(p.Dir()))
	check.OK(t, os.Symlink(t.TempDir(), p.Dir()))
	_, err = p.Listen("/w")
	check.That(t, err != nil, "a link in its place is used")
}
