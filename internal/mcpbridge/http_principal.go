package mcpbridge

import (
	"crypto/rand"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// What all clients of one principal may use together, as a multiple of what one of them may.
const (
	clientsInFlight = 4
	clientsRate     = 10
)

// principal is whom a token belongs to: what it may use, and the sessions that it opened, which nobody else can use. Its
// clients share that: one of them gets its own limit, and no more than what it leaves to the others.
type principal struct {
	h       *HTTPHandler
	name    string
	using   int    // requests that are here; guarded by the handler's mutex, as is used
	used    uint64 // when it last sent one, in ticks
	rate    *rate.Limiter
	places  *pool // only its places: requests run on goroutines of their own
	listens *pool // likewise, of subscriptions
	kept    keptStreams

	mu       sync.Mutex
	rates    map[string]*clientRate
	tidied   int                 // how many rates were left when last looked through
	sessions map[string]*session // by id: one that is not there does not exist, whoever sends its id
}

// clientRate is how fast one client may send.
type clientRate struct {
	*rate.Limiter
	last time.Time
}

// session is a protocol session of the initialize era over HTTP, or an SSE stream.
type session struct {
	id        string
	peer      *peer
	conn      *conn         // of an SSE stream, nil otherwise
	done      chan struct{} // closed when the session has ended
	worked    atomic.Bool   // it has asked for something
	streaming atomic.Bool   // a GET stream is open
	lists     *follower     // of what the GET stream is to tell; nil where no list changes

	// Guarded by the principal's mutex.
	lastUsed time.Time
	holds    int // requests that have it, and what they began
}

// of gives a principal, which stays until done is called for it. It is not ok where there are as many as may be, and each has
// something in use.
func (h *HTTPHandler) of(name string) (_ *principal, ok bool) {
	h.mu.Lock()
	p, ok := h.principals[name]
	var pushedOut *principal
	if !ok && len(h.principals) >= h.options.MaxPrincipals {
		if pushedOut = h.spare(); pushedOut == nil {
			h.mu.Unlock()
			return nil, false
		}
		delete(h.principals, pushedOut.name)
	}
	if !ok {
		p = h.newPrincipal(name)
		h.principals[name] = p
	}
	h.tick++
	p.using, p.used = p.using+1, h.tick
	h.mu.Unlock()
	if pushedOut != nil {
		pushedOut.close()
	}
	return p, true
}

// done says that a request of a principal has been served. What it began holds the principal by itself.
func (h *HTTPHandler) done(p *principal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.using--
}

// spare is the principal idle longest of those that have nothing in use, nil for none. It needs the lock.
func (h *HTTPHandler) spare() (spare *principal) {
	for _, p := range h.principals {
		if p.using == 0 && (spare == nil || p.used < spare.used) && p.idle() {
			spare = p
		}
	}
	return spare
}

// idle tells whether nothing of a principal runs, or waits for it.
func (p *principal) idle() bool {
	p.places.mu.Lock()
	unused := p.places.all.places+p.places.all.away == 0
	p.places.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		if p.inUse(s) {
			return false
		}
	}
	return unused
}

func (h *HTTPHandler) newPrincipal(name string) *principal {
	o := h.options
	return &principal{
		h: h, name: name, rate: rate.NewLimiter(rate.Limit(clientsRate*o.RequestsPerSecond), clientsRate*o.Burst),
		places: newPool(poolLimit{
			running: math.MaxInt,
			places:  clientsInFlight * o.MaxInFlight,
			bytes:   heldMessages * int(o.MaxBody),
			away:    clientsInFlight * maxQuestions,
		}),
		listens:  newPool(poolLimit{running: math.MaxInt, places: principalListens, bytes: math.MaxInt}),
		kept:     keptStreams{byID: make(map[string]*callStream)},
		rates:    make(map[string]*clientRate),
		sessions: make(map[string]*session),
	}
}

// all are the principals that there are.
func (h *HTTPHandler) all() []*principal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.principals))
}

// clientOf tells the clients of one principal apart: by their protocol session where they have one, else by their connection.
func (p *principal) clientOf(r *http.Request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := r.Header.Get(headerSession); p.sessions[id] != nil {
		return "session " + id
	}
	return "connection " + r.RemoteAddr
}

// rateMemory is after how long without a request a client's rate is forgotten: by then it could send a whole burst
// again, at any but the lowest rates.
const rateMemory = 10 * time.Second

func (p *principal) rateOf(client string) *clientRate {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.rates) >= 2*p.tidied+64 {
		for name, r := range p.rates {
			if now.Sub(r.last) > rateMemory {
				delete(p.rates, name)
			}
		}
		p.tidied = len(p.rates)
	}
	c := p.rates[client]
	if c == nil {
		c = &clientRate{Limiter: rate.NewLimiter(rate.Limit(p.h.options.RequestsPerSecond), p.h.options.Burst)}
		p.rates[client] = c
	}
	c.last = now
	return c
}

// open adds a session, and ends those that have expired and the one that makes room. It is not ok where none can:
// each has a call, a stream or a command.
func (p *principal) open(from *peer, c *conn) (_ *session, ok bool) {
	s := &session{id: rand.Text(), peer: from, conn: c, done: make(chan struct{}), lastUsed: time.Now()}
	var pushedOut []*session
	defer func() {
		for _, old := range pushedOut {
			p.h.finish(old)
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.h.closed.Load() {
		pushedOut = append(pushedOut, s)
		return s, true
	}
	var spare *session
	for _, old := range p.sessions {
		switch {
		case p.inUse(old):
		case s.lastUsed.Sub(old.lastUsed) > p.h.options.SessionIdle:
			pushedOut = append(pushedOut, old)
			delete(p.sessions, old.id)
		case spare == nil || old.sooner(spare):
			spare = old
		}
	}
	if len(p.sessions) >= p.h.options.MaxSessions {
		if spare == nil {
			return s, false
		}
		pushedOut = append(pushedOut, spare)
		delete(p.sessions, spare.id)
	}
	if c == nil && p.h.server.config.Beside != nil {
		s.lists = p.h.server.news.follow(changingLists)
	}
	p.sessions[s.id] = s
	return s, true
}

// sooner tells which of two sessions makes room first: one that never asked for anything, so that a client that only
// opens sessions takes none from those that work; else the one idle longest.
func (s *session) sooner(other *session) bool {
	if s.worked.Load() != other.worked.Load() {
		return other.worked.Load()
	}
	return s.lastUsed.Before(other.lastUsed)
}

// inUse tells whether a session has a call, a stream or a command.
func (p *principal) inUse(s *session) bool {
	return s.holds > 0 || s.conn != nil || p.h.server.config.Busy(s.peer.connection)
}

// use returns the session with that id, of the SSE transport or of the other. Until leave is called it has what the request
// began, and does not make room.
func (p *principal) use(id string, sse bool) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[id]
	if s == nil || (s.conn != nil) != sse || !p.inUse(s) && time.Since(s.lastUsed) > p.h.options.SessionIdle {
		return nil
	}
	s.lastUsed = time.Now()
	s.holds++
	return s
}

// leave says that nothing of a request is left.
func (p *principal) leave(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.holds--
	s.lastUsed = time.Now()
}

// end ends a session, once.
func (p *principal) end(s *session) {
	p.mu.Lock()
	known := p.sessions[s.id] == s
	delete(p.sessions, s.id)
	p.mu.Unlock()
	if known {
		p.h.finish(s)
	}
}

// silence ends all questions to clients.
func (p *principal) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		s.peer.silence()
	}
}

// close ends all sessions.
func (p *principal) close() {
	p.mu.Lock()
	all := p.sessions
	p.sessions = make(map[string]*session)
	p.mu.Unlock()
	for _, s := range all {
		p.h.finish(s)
	}
}

// finish is called once for a session that is known no more.
func (h *HTTPHandler) finish(s *session) {
	close(s.done)
	h.server.news.leave(s.lists)
	s.peer.silence()
	s.peer.cancelAll()
	h.server.config.Disconnected(s.peer.connection)
}
