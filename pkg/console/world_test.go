package console_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/console"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// needle is the name of the workspace, which each view shows and no refusal may.
const needle = "needle-in-views"

// served is a console on a workspace, and what a browser that is in has of it.
type served struct {
	t        *testing.T
	console  *console.Console
	at       net.Addr
	dir      string        // of the workspace
	late     *atomic.Int64 // by how many nanoseconds its clock is ahead
	log      *lines
	governed atomic.Pointer[func(pid int) bool]
	in       login
}

// login is what lets a browser in.
type login struct{ cookie, key string }

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{t: t, dir: filepath.Join(t.TempDir(), needle), late: &atomic.Int64{}, log: &lines{got: make(chan string, 1000)}}
	agenttest.Workspace(t, s.dir)
	listener := check.Value(console.Listen(context.Background()))(t)
	s.at = listener.Addr()
	s.console = console.New(console.Options{
		Environ: []string{"HOME=" + t.TempDir()}, Dirs: []string{s.dir}, Logger: zerolog.New(s.log),
		Now: func() time.Time { return time.Now().Add(time.Duration(s.late.Load())) },
		Governed: func(pid int) bool {
			is := s.governed.Load()
			return is != nil && (*is)(pid)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.console.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		check.NoError(t, <-ended)
	})
	s.in = s.enters(s.code())
	return s
}

// lines is a log, a line at a time.
type lines struct{ got chan string }

func (l *lines) Write(p []byte) (int, error) {
	l.got <- string(p)
	return len(p), nil
}

// has waits for a line of the log.
func (l *lines) has(t *testing.T, text string) {
	t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case line := <-l.got:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("the log never says %q", text)
		}
	}
}

// code is that of a new link.
func (s *served) code() string {
	_, code, _ := strings.Cut(s.console.Link(s.at), "#")
	return code
}

// answer is what came of a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// sends a request as it stands, but for {HOST} and {KEY} and their like.
func (s *served) sends(text string) answer {
	s.t.Helper()
	conn := check.Value(net.Dial("tcp", s.at.String()))(s.t)
	defer conn.Close()
	check.Value(io.WriteString(conn, s.fill(text)))(s.t)
	return s.reads(conn, text)
}

func (s *served) reads(conn net.Conn, text string) answer {
	s.t.Helper()
	method, _, _ := strings.Cut(text, " ")
	got, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	check.Must(s.t, err == nil, "%.100q: %v", text, err)
	defer got.Body.Close()
	body := check.Value(io.ReadAll(got.Body))(s.t)
	return answer{got.StatusCode, got.Header, string(body)}
}

func (s *served) fill(text string) string {
	_, port, _ := net.SplitHostPort(s.at.String())
	return strings.NewReplacer("{HOST}", s.at.String(), "{PORT}", port, "{ID}", presence.Name(s.dir), "{COOKIE}", s.in.cookie, "{KEY}", s.in.key).Replace(text)
}

// request is the text of one to the console; more are header lines.
func request(method, target, body string, more ...string) string {
	var text bytes.Buffer
	text.WriteString(method + " " + target + " HTTP/1.1\r\n")
	if host := strings.Join(more, "\n"); !strings.Contains("\n"+host, "\nHost:") {
		more = append(more, "Host: {HOST}")
	}
	if body != "" {
		more = append(more, "Content-Length: "+itoa(len(body)))
	}
	for _, line := range append(more, "Connection: close") {
		text.WriteString(line + "\r\n")
	}
	text.WriteString("\r\n" + body)
	return text.String()
}

// both are the header lines of a page that is in.
func (l login) both() []string { return []string{l.withCookie(), l.withKey()} }

func (l login) withCookie() string { return "Cookie: orchestra-console-{PORT}=" + l.cookie }

func (l login) withKey() string { return "X-Orchestra-Key: " + l.key }

const ours = "Origin: http://{HOST}"

// asksIn is the answer to the page's POST of a code.
func (s *served) asksIn(code string) answer {
	s.t.Helper()
	return s.sends(request("POST", "/login", `{"code":"`+code+`"}`, ours))
}

func (s *served) enters(code string) login {
	s.t.Helper()
	a := s.asksIn(code)
	var said struct{ Key string }
	err := json.Unmarshal([]byte(a.body), &said)
	check.Must(s.t, a.status == http.StatusOK && err == nil, "%d %s", a.status, a.body)
	cookie, attributes, _ := strings.Cut(a.header.Get("Set-Cookie"), "; ")
	_, value, _ := strings.Cut(cookie, "=")
	check.Equal(s.t, attributes, "Path=/; HttpOnly; SameSite=Strict")
	return login{value, said.Key}
}

// sees reports whether a login shows views.
func (s *served) sees(l login) int {
	s.t.Helper()
	return s.sends(request("GET", "/view/", "", l.both()...)).status
}

// does has the page that is in send a form.
func (s *served) does(path, form string) answer {
	s.t.Helper()
	return s.sends(request("POST", path, form, append(s.in.both(), ours, "Content-Type: application/x-www-form-urlencoded")...))
}
