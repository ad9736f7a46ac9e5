package upstreams_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// pair is a client of one era, and a server of one behind the program, over streams or HTTP on both sides.
type pair struct {
	*client
	w              *world
	modern, serves bool // the client's revision has no handshake; the server's
	http           bool
	session        string // of an intent
	user           *eraUser
	hangs          int            // calls that were made to hang
	called         map[string]int // how often the server was, with what asks
}

// eraUser answers what the client puts to it.
type eraUser struct {
	mu     sync.Mutex
	answer args
	asked  []string
}

func (u *eraUser) asks(params json.RawMessage) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, string(params))
	return u.answer
}

// will has the user give an answer from now on.
func (u *eraUser) will(answer args) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer, u.asked = answer, nil
}

// was is what the user was asked.
func (u *eraUser) was() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// newPair starts the program between the two.
func newPair(t *testing.T, overHTTP, clientModern, serverModern bool) *pair {
	t.Helper()
	w := newWorld(t, "")
	entry := fixtureOf("era", eraNames[serverModern])
	if overHTTP {
		s := httptest.NewServer(newEraServer(serverModern))
		t.Cleanup(s.Close)
		entry = "  - name: era\n    url: " + s.URL + "\n"
	}
	w.servers(entry + "    safe: [\"*\", \"!write_*\"]\n")
	p := &pair{w: w, modern: clientModern, serves: serverModern, http: overHTTP, user: &eraUser{}, called: map[string]int{}}
	p.client = &client{
		t: t, asked: p.user.asks, log: &lockedText{}, answer: map[string]chan message{}, noted: make(chan struct{}, 1), gone: make(chan struct{}),
		cmd: exec.Command(program, "serve", "--workspace", w.dir),
	}
	p.cmd.Env, p.cmd.Stderr = w.env(), p.log
	if overHTTP {
		p.overHTTP()
	} else {
		p.in = check.Value(p.cmd.StdinPipe())(t)
		out := check.Value(p.cmd.StdoutPipe())(t)
		check.OK(t, p.cmd.Start())
		go p.read(out)
	}
	t.Cleanup(p.end)
	if !clientModern {
		p.must("initialize", args{
			"protocolVersion": "2025-11-25", "clientInfo": args{"name": "raw", "version": "1"}, "capabilities": args{"elicitation": args{}},
		})
		p.send(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	p.whole("tools/list", args{}) // the first use, after which all lists are others
	if !clientModern {
		p.until("the lists of the first use", func() bool { return p.changes() == [3]int{1, 1, 1} })
	}
	selected := p.whole("tools/call", args{"name": "select_active_intent", "arguments": args{"intent_id": "INT-001"}})
	check.OK(t, json.Unmarshal(membersOf(membersOf(selected)["structuredContent"])["session"], &p.session))
	return p
}

// eraNames are the eras by whether they are without a handshake.
var eraNames = map[bool]string{false: "initialize", true: modernRevision}

// params are those of a request in the client's era.
func (p *pair) params(params, meta args) args {
	if p.modern {
		meta["io.modelcontextprotocol/protocolVersion"] = modernRevision
		meta["io.modelcontextprotocol/clientCapabilities"] = args{"elicitation": args{}}
		meta["io.modelcontextprotocol/clientInfo"] = args{"name": "raw", "version": "1"}
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	return params
}

// asks makes a request, with members of _meta, and answers what a result of 2026-07-28 asks. rounds is how often it did.
func (p *pair) asks(method string, params, meta args) (m message, rounds int) {
	p.t.Helper()
	for {
		m = p.request(method, p.params(params, meta))
		if string(membersOf(m.Result)["resultType"]) != `"input_required"` {
			return m, rounds
		}
		rounds++
		check.Must(p.t, rounds < 5, "it asks again and again: %s", m.Result)
		answers := args{}
		for key, asked := range membersOf(membersOf(m.Result)["inputRequests"]) {
			answers[key] = p.user.asks(membersOf(asked)["params"])
		}
		params["inputResponses"], params["requestState"] = answers, membersOf(m.Result)["requestState"]
	}
}

// whole is the result of a request that succeeds, in one round.
func (p *pair) whole(method string, params args) json.RawMessage {
	p.t.Helper()
	m, rounds := p.asks(method, params, args{})
	check.Must(p.t, m.Error == nil && rounds == 0, "%s %v: %+v in %d rounds\n%s", method, params, m.Error, rounds, p.log)
	return m.Result
}

// tool calls a tool of the server's, with members of _meta.
func (p *pair) tool(name string, arguments, meta args) (message, int) {
	p.t.Helper()
	if strings.HasPrefix(name, "write_") {
		arguments["session"] = p.session
	}
	return p.asks("tools/call", args{"name": "era_" + name, "arguments": arguments}, meta)
}

// says is the text that a tool answers with.
func (p *pair) says(name string, arguments, meta args) (text string, rounds int) {
	p.t.Helper()
	m, rounds := p.tool(name, arguments, meta)
	var result struct{ Content []struct{ Text string } }
	check.Must(p.t, m.Error == nil && json.Unmarshal(m.Result, &result) == nil && len(result.Content) > 0, "%s: %s %+v", name, m.Result, m.Error)
	return result.Content[0].Text, rounds
}

// heard are the notifications of a method so far that have a text in them.
func (p *pair) heard(method, text string) (params []json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.notes {
		if m.Method == method && strings.Contains(string(m.Params), text) {
			params = append(params, m.Params)
		}
	}
	return params
}

// poster has a client that writes and reads lines speak Streamable HTTP.
type poster struct {
	t              testing.TB
	modern         bool
	address, token string
	stop           func() // the program

	ctx   context.Context
	end   context.CancelFunc
	tasks sync.WaitGroup

	mu      sync.Mutex
	session string
	out     *io.PipeWriter
	flight  map[string]context.CancelFunc
}

// overHTTP starts the program with its address, and connects to it.
func (p *pair) overHTTP() {
	p.t.Helper()
	at := make(chan [2]string, 1)
	p.cmd.Args = append(p.cmd.Args, "--transport", "http", "--listen", "127.0.0.1:0")
	p.cmd.Stderr = announced{p.log, at}
	check.OK(p.t, p.cmd.Start())
	in, out := io.Pipe()
	go p.read(in)
	h := &poster{t: p.t, modern: p.modern, out: out, flight: map[string]context.CancelFunc{}, stop: func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }}
	h.ctx, h.end = context.WithCancel(context.Background())
	p.in = h
	select {
	case where := <-at:
		h.address, h.token = where[0], where[1]
	case <-time.After(patience):
		p.t.Fatalf("the program does not say where it listens\n%s", p.log)
	}
}

// announced is a log in which the program says where it listens.
type announced struct {
	*lockedText
	at chan [2]string
}

func (a announced) Write(b []byte) (int, error) {
	n, err := a.lockedText.Write(b)
	var address, token string
	for line := range strings.Lines(a.String()) {
		if said, ok := strings.CutPrefix(line, "bearer token: "); ok {
			token = strings.TrimSpace(said)
		}
		if said, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(said, "\n") {
			address = strings.TrimSpace(said)
		}
	}
	if address != "" && token != "" {
		select {
		case a.at <- [2]string{address, token}:
		default:
		}
	}
	return n, err
}

func (h *poster) Close() error {
	h.end()
	h.tasks.Wait()
	h.stop()
	return h.out.Close()
}

// Write posts a message. In 2026-07-28 the response is closed in place of sending that a request is cancelled.
func (h *poster) Write(line []byte) (int, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, err
	}
	if h.modern && m.Method == "notifications/cancelled" {
		h.mu.Lock()
		h.flight[string(membersOf(m.Params)["requestId"])]()
		h.mu.Unlock()
		return len(line), nil
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.mu.Lock()
	h.flight[string(m.ID)] = cancel
	h.mu.Unlock()
	posts := func() { h.exchange(ctx, http.MethodPost, m, bytes.Clone(line)) }
	switch m.Method {
	case "notifications/initialized":
		posts()
		h.tasks.Go(func() { h.exchange(h.ctx, http.MethodGet, message{}, nil) })
	default:
		h.tasks.Go(posts)
	}
	return len(line), nil
}

// exchange makes one HTTP request, and writes the messages that come as lines.
func (h *poster) exchange(ctx context.Context, method string, m message, body []byte) {
	r, err := http.NewRequestWithContext(ctx, method, h.address, bytes.NewReader(body))
	if err != nil {
		panic(err) // of an address that was reached before
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	h.mark(r.Header, m)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		check.That(h.t, ctx.Err() != nil, "%s %s: %v", method, body, err)
		return
	}
	defer response.Body.Close()
	check.That(h.t, response.StatusCode < 300 || m.ID != nil, "%s %s: %s", method, body, response.Status)
	h.mu.Lock()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	h.mu.Unlock()
	events := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadBytes('\n')
		if data, is := bytes.CutPrefix(line, []byte("data: ")); is || !events && len(line) > 0 {
			h.mu.Lock()
			_, _ = h.out.Write(append(bytes.TrimSpace(data), '\n'))
			h.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// mark sets the headers that a message needs.
func (h *poster) mark(header http.Header, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.modern:
		header.Set("Mcp-Protocol-Version", modernRevision)
		header.Set("Mcp-Method", m.Method)
		x := exchange{message: m}
		if name := x.text("name") + x.text("uri"); name != "" {
			header.Set("Mcp-Name", name)
		}
	case h.session != "":
		header.Set("Mcp-Session-Id", h.session)
		header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
}
