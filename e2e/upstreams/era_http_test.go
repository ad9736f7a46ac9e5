package upstreams_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

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

// ServeHTTP serves over Streamable HTTP, strictly as to the headers.
func (s *eraServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	var writing sync.Mutex
	say := func(m any) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintf(w, "data: %s\n\n", exactly(m))
		_ = http.NewResponseController(w).Flush()
	}
	switch {
	case r.Method == http.MethodDelete:
		return
	case r.Method == http.MethodGet && !s.modern:
		news := s.follow()
		defer s.unfollow(news)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case list := <-news:
				say(notification("notifications/"+list+"/list_changed", args{}))
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if wrong := s.wrong(m, r.Header); wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	if s.take(m) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "the-one")
	}
	var left <-chan struct{}
	if s.modern {
		left = r.Context().Done()
	}
	(&exchange{s, m, say, left}).run()
}

// wrong says what is wrong with the headers of a message.
func (s *eraServer) wrong(m message, header http.Header) string {
	x := exchange{message: m}
	switch method := header.Get("Mcp-Method"); {
	case !s.modern && m.Method != "initialize" && m.Method != "server/discover" && header.Get("Mcp-Session-Id") != "the-one":
		return "no session"
	case s.modern && (method != m.Method || header.Get("Mcp-Protocol-Version") != modernRevision):
		return "the headers name another method, or revision"
	case s.modern && (m.Method == "tools/call" || m.Method == "prompts/get" || m.Method == "resources/read") && header.Get("Mcp-Name") != cmp.Or(x.text("name"), x.text("uri")):
		return "the headers name another thing"
	}
	return ""
}
