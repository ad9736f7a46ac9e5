package mcpbridge

import (
	"context"
	"crypto/rand"
	"sync"
)

// peer is the other end of a connection: the standard streams, an HTTP session of the initialize era, or an SSE
// stream. It holds what initialize said, and what is in flight in both directions, so that only the peer that sent a
// request can cancel it, and only the one that was asked can answer. Requests of 2026-07-28 over HTTP have no peer.
type peer struct {
	connection string

	mu          sync.Mutex
	initialized bool
	client      Client
	canElicit   bool
	version     string
	inFlight    map[string]*flight
	questions   map[string]chan message // that we have asked, by id
	mute        bool                    // no answer can come any more
}

// flight is a request that has no answer yet.
type flight struct {
	ctx    context.Context
	cancel context.CancelFunc
	// abandoned: the peer cancelled the request, and must hear no more of it. Guarded by the peer's mutex.
	abandoned bool
}

func newPeer() *peer {
	return &peer{connection: rand.Text(), inFlight: make(map[string]*flight), questions: make(map[string]chan message)}
}

// initialize records what a handshake said. A bridge can put several clients through one connection, each with a
// handshake of its own, and nothing tells which of them a request is from: so only what all of them said holds.
func (p *peer) initialize(client Client, canElicit bool, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initialized {
		client = p.client.inCommon(client)
		canElicit = canElicit && p.canElicit
		version = min(version, p.version)
	}
	p.initialized = true
	p.client, p.canElicit, p.version = client, canElicit, version
}

// caller describes the peer as the sender of an initialize-era request. A nil peer is one that never initialized.
func (p *peer) caller() (Caller, bool) {
	if p == nil {
		return Caller{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Caller{
		Connection:      p.connection,
		Client:          p.client,
		CanElicit:       p.canElicit,
		ProtocolVersion: p.version,
	}, p.initialized
}

// begin enters a request as in flight; two of one id are an error.
func (p *peer) begin(ctx context.Context, r *request) (*flight, *rpcError) {
	f := &flight{}
	f.ctx, f.cancel = context.WithCancel(ctx)
	if p == nil {
		return f, nil
	}
	key, err := idKey(r.id)
	if err != nil {
		return nil, errorf(codeInvalidRequest, "bad id: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.inFlight[key]; taken {
		f.cancel()
		return nil, errorf(codeInvalidRequest, "a request with this id is still in flight; ids must be unique")
	}
	p.inFlight[key] = f
	return f, nil
}

// end takes a request out and tells whether its answer is still wanted.
func (p *peer) end(r *request, f *flight) bool {
	f.cancel()
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if key, err := idKey(r.id); err == nil && p.inFlight[key] == f {
		delete(p.inFlight, key)
	}
	return !f.abandoned
}

// wanted tells whether the peer still wants to hear of the request.
func (p *peer) wanted(f *flight) bool {
	if p == nil {
		return f.ctx.Err() == nil
	}
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
