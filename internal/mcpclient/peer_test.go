package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// streams are those of a server's process, as its client sees them.
type streams struct {
	io.Reader
	io.Writer
	ends []io.Closer
	once sync.Once
	shut chan struct{}
}

func (s *streams) Close() error {
	s.once.Do(func() { close(s.shut) })
	for _, end := range s.ends {
		end.Close()
	}
	return nil
}

// peer is a server that does what a test says. What it writes is read at once; what is written to it is read by the test.
type peer struct {
	t      testing.TB
	in     *bufio.Reader
	out    *io.PipeWriter
	client *streams
}

func newPeer(t testing.TB) *peer {
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	s := &streams{Reader: fromServer, Writer: toServer, ends: []io.Closer{fromServer, toServer, in, out}, shut: make(chan struct{})}
	return &peer{t: t, in: bufio.NewReader(in), out: out, client: s}
}

// rpc is a message that came to a peer.
type rpc struct {
	line           string
	ID             json.RawMessage
	Method         string
	Params, Result json.RawMessage
	Error          struct{ Code int }
}

func (p *peer) next() rpc {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	check.Must(p.t, err == nil, "the client says nothing more: %v", err)
	m := rpc{line: strings.TrimSuffix(line, "\n")}
	check.OK(p.t, json.Unmarshal([]byte(line), &m))
	return m
}

// expect is the next message, which must be of a method.
func (p *peer) expect(method string) rpc {
	p.t.Helper()
	m := p.next()
	check.Must(p.t, m.Method == method, "got %s, want %s", m.line, method)
	return m
}

// levelled is a peer that is told from which level on it is to log, as one of the initialize era is before the first call that
// wants to hear of that.
func (p *peer) levelled(c *mcpclient.Client, level string) *peer {
	p.t.Helper()
	if !c.Identity().Modern {
		m := p.expect("logging/setLevel")
		check.Equal(p.t, string(m.Params), `{"level":"`+level+`"}`)
		p.answer(m, `{}`)
	}
	return p
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	check.Must(p.t, err == nil || errors.Is(err, io.ErrClosedPipe), "send: %v", err)
}

func (p *peer) answer(m rpc, result string) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *peer) die() {
	for _, end := range p.client.ends {
		end.Close()
	}
}

const (
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"instructions":"be kind",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","title":"Scripted","version":"7"}}}`
	begun = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"scripted","title":"Scripted","version":"7"},"instructions":"be kind"}`
)

func (p *peer) openModern() { p.answer(p.expect("server/discover"), discovered) }

func (p *peer) openLegacy() {
	p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, p.expect("server/discover").ID)
	p.answer(p.expect("initialize"), begun)
	p.expect("notifications/initialized")
}

var options = mcpclient.Options{Name: "orchestra-mcp", Version: "1"}

// dial connects to a peer, which opens meanwhile.
func dial(t testing.TB, o mcpclient.Options, open func(*peer)) (*mcpclient.Client, *peer) {
	t.Helper()
	p := newPeer(t)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		open(p)
	}()
	c, err := mcpclient.Connect(t.Context(), p.client, o)
	check.OK(t, err)
	<-opened
	t.Cleanup(func() { c.Close() })
	return c, p
}

// eras are how a peer opens, and whether it is modern.
var eras = map[string]func(*peer){"initialize": (*peer).openLegacy, "modern": (*peer).openModern}

// reply is what a request came to.
type reply struct {
	result string
	err    error
}

// begin makes a request beside the test.
func begin(ctx context.Context, c *mcpclient.Client, method, params string, h mcpclient.Handlers) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		result, err := c.Request(ctx, method, json.RawMessage(params), h)
		done <- reply{string(result), err}
	}()
	return done
}

const call = `{"name":"echo","arguments":{"text":"a"}}`
