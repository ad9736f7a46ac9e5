package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func hexHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *served) dials() net.Conn {
	s.t.Helper()
	return check.Value(net.Dial("tcp", s.at.String()))(s.t)
}

func (s *served) writes(conn net.Conn, text string) {
	s.t.Helper()
	check.Value(io.WriteString(conn, s.fill(text)))(s.t)
}

// TestCodesAreGoodOnce: of twenty browsers with one link one gets in; a link that is old, or another console's, lets nobody in.
func TestCodesAreGoodOnce(t *testing.T) {
	s := serve(t)
	code := s.code()
	var in atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch a := s.asksIn(code); a.status {
			case http.StatusOK:
				in.Add(1)
			default:
				check.Equal(t, a.status, http.StatusForbidden)
				check.Equal(t, a.header.Get("Set-Cookie"), "")
			}
		})
	}
	all.Wait()
	check.Equal(t, in.Load(), 1)
	check.Equal(t, s.asksIn(code).status, http.StatusForbidden, "once more")
	check.Equal(t, s.asksIn("").status, http.StatusForbidden, "no code")
	check.Equal(t, s.asksIn(serve(t).code()).status, http.StatusForbidden, "another console's")
	old := s.code()
	s.late.Store(int64(15 * time.Minute))
	check.Equal(t, s.asksIn(old).status, http.StatusForbidden, "an old one")
	for range 20 {
		old = s.code()
	}
	check.Equal(t, s.asksIn(old).status, http.StatusOK, "the newest of many")
}

// TestALoginEnds: when its browser leaves, its secrets are good for nothing, and its events end.
func TestALoginEnds(t *testing.T) {
	s := serve(t)
	other := s.enters(s.code())
	check.Equal(t, s.sees(login{s.in.cookie, other.key}), 401, "secrets of two logins")
	check.Equal(t, s.sees(login{other.cookie, s.in.key}), 401, "secrets of two logins")
	stream := s.listens(other)
	a := s.sends(request("POST", "/logout", "", append(other.both(), ours)...))
	check.Equal(t, a.status, http.StatusNoContent)
	check.That(t, strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0"), "the cookie stays: %v", a.header)
	stream.ends()
	check.Equal(t, s.sees(other), 401, "after its logout")
	check.Equal(t, s.sees(s.in), 200, "the other")
	check.Equal(t, s.sees(s.enters(s.code())), 200, "a new one")
}

// stream is what a page hears.
type stream struct {
	t    *testing.T
	from *http.Response
}

// listens opens the events of a login, and reads the first.
func (s *served) listens(l login) stream {
	s.t.Helper()
	asked := check.Value(http.NewRequest(http.MethodGet, "http://"+s.at.String()+"/events", nil))(s.t)
	for _, line := range l.both() {
		name, value, _ := strings.Cut(s.fill(line), ": ")
		asked.Header.Set(name, value)
	}
	from := check.Value(http.DefaultClient.Do(asked))(s.t)
	s.t.Cleanup(func() { from.Body.Close() })
	first := make([]byte, 14)
	check.Value(io.ReadFull(from.Body, first))(s.t)
	check.Equal(s.t, string(first), "event: waiting")
	return stream{s.t, from}
}

func (s stream) ends() {
	s.t.Helper()
	_, err := io.Copy(io.Discard, s.from.Body)
	check.NoError(s.t, err)
}
