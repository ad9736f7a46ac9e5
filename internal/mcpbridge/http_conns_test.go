package mcpbridge_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// soon is a read timeout that a test waits for.
const soon = 500 * time.Millisecond

// dial opens a connection and sends the beginning of what may never go on.
func (w web) dial(begin string) net.Conn {
	w.t.Helper()
	conn := check.Value(net.Dial("tcp", strings.TrimPrefix(w.url, "http://")))(w.t)
	w.t.Cleanup(func() { conn.Close() })
	check.OK(w.t, conn.SetDeadline(time.Now().Add(patience)))
	_, err := io.WriteString(conn, begin)
	check.OK(w.t, err)
	return conn
}

// isServed fails unless a request on a connection of its own is served.
func (w web) isServed() {
	w.t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response := check.Value(client.Do(w.request(modernLine(1, "echo", "{}"), modern("tools/call", "echo"))))(w.t)
	response.Body.Close()
	check.Equal(w.t, response.StatusCode, http.StatusOK, "another request")
}

// isClosed fails unless the server ends a connection, and returns what it sent.
func isClosed(t testing.TB, conn net.Conn) string {
	t.Helper()
	answer, err := io.ReadAll(conn)
	timeout, ok := err.(net.Error)
	check.Must(t, !ok || !timeout.Timeout(), "the connection is held; it sent %q", answer)
	return string(answer)
}

// unfinished is a request that does not go on, and the status that it gets, "" for none that matters.
type unfinished struct{ name, begin, want string }

// areClosed fails unless each is answered and its connection ended, and somebody else served meanwhile.
func (w web) areClosed(tests []unfinished) {
	w.t.Helper()
	conns := make([]net.Conn, len(tests))
	for i, test := range tests {
		conns[i] = w.dial(test.begin)
	}
	w.isServed()
	for i, test := range tests {
		if answer := isClosed(w.t, conns[i]); test.want != "" && !strings.HasPrefix(answer, "HTTP/1.1 "+test.want) {
			w.t.Errorf("%s: got %q, want %s", test.name, answer, test.want)
		}
	}
}

const post = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

func withToken(token string) string { return "Authorization: Bearer " + token + "\r\n" }

// Whoever shows no token is answered by the headers alone.
func TestBodyWithoutATokenIsNotWaitedFor(t *testing.T) {
	w, _ := serve(t, newHandler(t), mcpbridge.HTTPOptions{ReadTimeout: soon, SSE: true})
	tests := []unfinished{
		{"no token", post + "Content-Length: 1000\r\n\r\n", "401"},
		{"wrong token", post + withToken("no") + "Content-Length: 1000\r\n\r\n", "401"},
		{"chunks", post + "Transfer-Encoding: chunked\r\n\r\n", "401"},
		{"half a body", post + "Content-Length: 1000\r\n\r\n{", "401"},
		{"a GET with a body", strings.Replace(post, "POST", "GET", 1) + "Content-Length: 1000\r\n\r\n", "401"},
		{"SSE", strings.Replace(post, "/mcp", "/message", 1) + "Content-Length: 1000\r\n\r\n", "401"},
		{"other path", strings.Replace(post, "/mcp", "/", 1) + "Content-Length: 1000\r\n\r\n", "404"},
		{"other host", strings.Replace(post, "localhost", "evil.example", 1) + "Content-Length: 1000\r\n\r\n", "403"},
		{"other origin", post + "Origin: https://evil.example\r\nContent-Length: 1000\r\n\r\n", "403"},
		{"nothing else to send", post + "\r\n", "401"},
	}
	w.areClosed(tests)
}

// It is not read, and has no more than the moment in which the answer arrives.
func TestBodyWithoutATokenHasAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := unserved(t, newHandler(t))
		p := &timedPage{page: page{header: make(http.Header)}}
		body := &slowBody{page: p, left: "{}", rate: 1}
		begun := time.Now()
		handler.ServeHTTP(p, httptest.NewRequest(http.MethodPost, "http://localhost/mcp", body))
		if given := p.until.Sub(begun); given <= 0 || given > time.Second || p.header.Get("Connection") != "close" || body.left != "{}" {
			t.Errorf("it has until %v, %v from its start; %v; %q of the body is left", p.until, given, p.header, body.left)
		}
	})
}

// What does not come ends its connection and keeps nobody else.
func TestWhatDoesNotComeIsGivenUp(t *testing.T) {
	w, _ := serve(t, newHandler(t), mcpbridge.HTTPOptions{ReadTimeout: soon})
	tests := []unfinished{
		{"nothing", "", ""},
		{"slow headers", "POST /mcp HTTP/1.1\r\nHost: loc", ""},
		{"slow headers with a token", post + withToken(aliceToken) + "Accept: ", ""},
		{"a body", post + withToken(aliceToken) + "Content-Length: 1000\r\n\r\n", "408"},
		{"the end of a large body", post + withToken(aliceToken) + "Content-Length: 16000000\r\n\r\n{", "408"},
		{"the end of chunks", post + withToken(aliceToken) + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "408"},
		{"a body of another type", strings.Replace(post, "json", "xml", 1) + withToken(aliceToken) + "Content-Length: 1000\r\n\r\n", ""},
	}
	w.areClosed(tests)
}

// A body has the time of its size: one that comes as slowly as may be arrives, however large it is, and a slower one
// is given up.
func TestBodyHasTheTimeOfItsSize(t *testing.T) {
	const size = 4 << 20
	head, tail, _ := strings.Cut(modernLine(1, "echo", `{"a":"X"}`), "X")
	body := head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	for name, test := range map[string]struct {
		rate int // bytes a second
		want string
	}{
		"as slow as may be": {64 << 10, `"result"`},
		"slower":            {48 << 10, "too long"},
	} {
		synctest.Test(t, func(t *testing.T) {
			handler := unserved(t, newHandler(t))
			p := &timedPage{page: page{header: make(http.Header)}}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", &slowBody{page: p, left: body, rate: test.rate})
			r.ContentLength = size
			modern("tools/call", "echo")(r)
			as(aliceToken)(r)
			header("Content-Type", "application/json")(r)
			header("Accept", "application/json")(r)
			handler.ServeHTTP(p, r)
			got := p.String()
			check.That(t, strings.Contains(got[:min(len(got), 200)], test.want), "%s: %.200s", name, got)
		})
	}
}

// timedPage is a response whose request has the read deadline that is set.
type timedPage struct {
	page
	until time.Time
}

func (p *timedPage) SetReadDeadline(until time.Time) error {
	p.until = until
	return nil
}

// slowBody is a body that comes second by second, in a bubble of time.
type slowBody struct {
	page *timedPage
	left string
	rate int
}

func (b *slowBody) Read(into []byte) (int, error) {
	n := copy(into, b.left[:min(len(b.left), b.rate)])
	if n == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Duration(n) * time.Second / time.Duration(b.rate))
	if !b.page.until.IsZero() && time.Now().After(b.page.until) {
		return 0, os.ErrDeadlineExceeded
	}
	b.left = b.left[n:]
	return n, nil
}

// A stream outlives the time that its request had.
func TestStreamsOutliveTheReadTimeout(t *testing.T) {
	w, _ := serve(t, newHandler(t), mcpbridge.HTTPOptions{ReadTimeout: soon, SSE: true})
	stream := openSSE(t, w, aliceToken)
	isClosed(t, w.dial("")) // so the time is over
	got := w.do(w.request(initialize, path("/message"), query(stream.query)))
	check.That(t, got.status == http.StatusAccepted, "the stream is gone: %+v", got)
	stream.read(t)
}

func TestConnectionsMakeRoom(t *testing.T) {
	const most, more = 16, 40
	w, _ := serve(t, newHandler(t), mcpbridge.HTTPOptions{MaxConnections: most})
	var silent []net.Conn
	for range more {
		silent = append(silent, w.dial("POST /mcp HTTP/1.1\r\n"))
	}
	w.isServed()
	isClosed(t, silent[0])

	idle := make([]net.Conn, more)
	for i := range idle {
		eventually(t, "an answer", func() bool { // none while the server still thinks that all others are at work
			idle[i] = w.dial("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + withToken(aliceToken) + "\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(idle[i]), nil)
			return err == nil && answer.StatusCode == http.StatusBadRequest
		})
	}
	w.isServed()
	// Which ones depends on when each became idle, which the server notices behind its answer.
	closed := make(chan string, more)
	for _, conn := range idle {
		go func() {
			if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				closed <- "closed"
			}
		}()
	}
	for range more - most {
		receive(t, closed, "closed")
	}
}

func TestCallsKeepTheirConnections(t *testing.T) {
	const most = 8
	h := newHandler(t)
	running, _ := waiting(h)
	w, _ := serve(t, h, mcpbridge.HTTPOptions{MaxConnections: most})
	calls := make([]<-chan reply, most/2)
	for i := range calls {
		_, calls[i] = w.start(w.request(modernLine(i, "wait", `{}`), modern("tools/call", "wait")))
		receive(t, running, "{}")
	}
	isClosed(t, w.dial(post)) // the share of this client is full of calls
	for i, call := range calls {
		select {
		case got := <-call:
			t.Errorf("call %d was given up: %+v", i, got)
		default:
		}
	}
}

// Of two clients, the one that opens many takes no place from the other.
func TestCrowdTakesNoPlaceFromOthers(t *testing.T) {
	const many = 500
	crowd, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, test := range []struct {
		name    string
		address func(i int) netip.Addr
		shows   bool
		left    int
	}{
		{"without a token", func(int) netip.Addr { return crowd }, false, 63},
		{"with a token", func(int) netip.Addr { return crowd }, true, 128},
		{"over one network of IPv6", func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		}, true, 128},
		{"over the loopback", func(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, byte(i >> 8), byte(i)}) }, true, 128},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := mcpbridge.NewConnTable(256)
			silent, idle := &fakeConn{from: other}, &fakeConn{from: other}
			table.Open(silent)
			table.Open(idle)
			table.Show(idle)
			var opened []*fakeConn
			for i := range many {
				conn := &fakeConn{from: test.address(i)}
				opened = append(opened, conn)
				table.Open(conn)
				check.Must(t, !conn.closed, "connection %d was not let in", i)
				if test.shows {
					table.Show(conn)
				}
			}
			check.That(t, !silent.closed && !idle.closed, "the other client's connections were closed: %v, %v", silent.closed, idle.closed)
			left := 0
			for _, conn := range opened {
				if !conn.closed {
					left++
				}
			}
			check.Equal(t, left, test.left)
		})
	}
}

type fakeConn struct {
	net.Conn
	from   netip.Addr
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.from, 1234))
}

func (c *fakeConn) Close() error {
	if c.closed {
		return fmt.Errorf("closed twice")
	}
	c.closed = true
	return nil
}
