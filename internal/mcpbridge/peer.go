package mcpbridge

import (
	"context"
	"crypto/rand"
	"sync"

	"golang.org/x/time/rate"
)

// peer is the other end of a connection: the standard streams, an HTTP session of the initialize era, an SSE stream, or
// one request of 2026-07-28 over HTTP. It holds what initialize said, and what is in flight in both directions, so that
// only the peer that sent a request can cancel it, and only the one that was asked can answer.
type peer struct {
	connection string

	mu          sync.Mutex
	initialized bool
	said        Caller // by initialize
	inFlight    map[string]*flight
	questions   map[string]chan message // that we have asked, by id
	mute        bool                    // no answer can come any more
	level       string                  // of the log messages that it wants; "" for none
	logRate     *rate.Limiter           // nil before the first
}

func newPeer() *peer {
	return &peer{connection: rand.Text(), inFlight: make(map[string]*flight), questions: make(map[string]chan message)}
}

// initialize records what a handshake said. A bridge can put several clients through one connection, each with a
// handshake of its own, and nothing tells which of them a request is from: so only what all of them said holds.
func (p *peer) initialize(said Caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initialized {
		said.Client = p.said.Client.inCommon(said.Client)
		said.CanElicit = said.CanElicit && p.said.CanElicit
		said.ShowsApps = said.ShowsApps && p.said.ShowsApps
		said.ProtocolVersion = min(said.ProtocolVersion, p.said.ProtocolVersion)
	}
	p.initialized, p.said = true, said
}

// caller describes the peer as the sender of an initialize-era request.
func (p *peer) caller() (Caller, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := p.said
	said.Connection = p.connection
	return said, p.initialized
}

// begin enters a request as in flight; two of one id are an error.
func (p *peer) begin(ctx context.Context, s *Server, r *request) (*flight, *rpcError) {
	key, _ := idKey(r.id) // which the reader has let through
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.inFlight[key]; taken {
		return nil, errorf(codeInvalidRequest, "a request with this id is still in flight; ids must be unique")
	}
	f := &flight{request: r, server: s, from: p, key: key, over: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(ctx)
	p.inFlight[key] = f
	return f, nil
}

// end takes a request out and tells whether its answer is still wanted.
func (p *peer) end(f *flight) bool {
	f.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight[f.key] == f {
		delete(p.inFlight, f.key)
	}
	return !f.abandoned
}

// wants tells whether the peer still wants to hear of the request.
func (p *peer) wants(f *flight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !f.abandoned
}

// cancelled serves notifications/cancelled. Unknown ids are ignored: the answer may have crossed the notification.
func (p *peer) cancelled(m message) {
	key, err := idKey(m.params.get("requestId"))
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.inFlight[key]; ok {
		f.abandoned = true
		f.cancel()
		delete(p.inFlight, key)
	}
}

// cancelAll cancels whatever is in flight; answers are still wanted.
func (p *peer) cancelAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.inFlight {
		f.cancel()
	}
}

// open enters a question. It is not ok when the peer can no longer answer.
func (p *peer) open(id string) (<-chan message, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute {
		return nil, false
	}
	q := make(chan message, 1) // its one answer, so that the reader never waits
	p.questions[id] = q
	return q, true
}

// forget takes a question out: an answer that comes later is dropped.
func (p *peer) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.questions, id)
}

// answered passes a response on to the question of this peer that it answers. What answers none, or answers it again,
// is dropped.
func (p *peer) answered(m message) {
	id, ok := unquote(m.id)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q, isOpen := p.questions[id]; isOpen {
		delete(p.questions, id)
		q <- m
	}
}

// silence ends all questions: no answer can come any more.
func (p *peer) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
	for id, q := range p.questions {
		delete(p.questions, id)
		close(q)
	}
}
