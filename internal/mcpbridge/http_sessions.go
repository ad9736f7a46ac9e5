package mcpbridge

import (
	"crypto/rand"
	"sync"
	"time"
)

// session is a protocol session of the initialize era over HTTP, or an SSE stream. Only the principal that opened it
// can use it.
type session struct {
	id        string
	principal string
	peer      *peer
	conn      *conn         // of an SSE stream, nil otherwise
	done      chan struct{} // closed when the session has ended

	// Guarded by the table's mutex.
	lastUsed  time.Time
	holds     int  // requests that have it, and what they began
	worked    bool // it has asked for something
	streaming bool // a GET stream is open
}

// sessionTable knows the sessions that we opened. An id that is not in it does not exist, whoever sends it.
type sessionTable struct {
	perPrincipal int
	idle         time.Duration
	ended        func(*peer)
	// busy tells of a connection without a call that something runs for it.
	busy func(connection string) bool

	mu     sync.Mutex
	closed bool
	byID   map[string]*session
}

func newSessionTable(perPrincipal int, idle time.Duration, ended func(*peer), busy func(string) bool) *sessionTable {
	if busy == nil {
		busy = func(string) bool { return false }
	}
	return &sessionTable{perPrincipal: perPrincipal, idle: idle, ended: ended, busy: busy, byID: make(map[string]*session)}
}

// open adds a session, and ends those that have expired and the one that makes room. It is not ok where none can:
// each has a call, a stream or a command.
func (t *sessionTable) open(principal string, p *peer, c *conn) (_ *session, ok bool) {
	s := &session{id: rand.Text(), principal: principal, peer: p, conn: c, done: make(chan struct{}), lastUsed: time.Now()}
	pushedOut, ok := t.add(s)
	for _, old := range pushedOut {
		t.finish(old)
	}
	return s, ok
}

func (t *sessionTable) add(s *session) (pushedOut []*session, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return []*session{s}, true
	}
	for _, old := range t.byID {
		if !t.inUse(old) && s.lastUsed.Sub(old.lastUsed) > t.idle {
			pushedOut = append(pushedOut, old)
			delete(t.byID, old.id)
		}
	}
	if count, spare := t.spare(s.principal); count >= t.perPrincipal {
		if spare == nil {
			return pushedOut, false
		}
		pushedOut = append(pushedOut, spare)
		delete(t.byID, spare.id)
	}
	t.byID[s.id] = s
	return pushedOut, true
}

// inUse tells whether a session has a call, a stream or a command.
func (t *sessionTable) inUse(s *session) bool {
	return s.holds > 0 || s.conn != nil || t.busy(s.peer.connection)
}

// spare counts the sessions of a principal and returns the one to make room for a further one: one that never asked
// for anything, so that a client that only opens sessions takes none from those that work; else the one idle longest;
// nil where all are in use.
func (t *sessionTable) spare(principal string) (count int, spare *session) {
	for _, s := range t.byID {
		if s.principal != principal {
			continue
		}
		count++
		sooner := spare == nil || spare.worked && !s.worked || spare.worked == s.worked && s.lastUsed.Before(spare.lastUsed)
		if sooner && !t.inUse(s) {
			spare = s
		}
	}
	return count, spare
}

// has tells whether a principal has a session of that id.
func (t *sessionTable) has(id, principal string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	return s != nil && s.principal == principal
}

// use returns the session with that id if that principal opened it. Until leave is called it has what the request
// began, and does not make room.
func (t *sessionTable) use(id, principal string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.principal != principal || !t.inUse(s) && time.Since(s.lastUsed) > t.idle {
		return nil
	}
	s.lastUsed = time.Now()
	s.holds++
	return s
}

// leave says that nothing of a request is left.
func (t *sessionTable) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.holds--
	s.lastUsed = time.Now()
}

// works notes that a session has asked for something.
func (t *sessionTable) works(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.worked = true
}

// stream marks the session's one GET stream as open.
func (t *sessionTable) stream(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.streaming {
		return false
	}
	s.streaming = true
	return true
}

func (t *sessionTable) streamEnded(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.streaming = false
}

// end ends a session, once.
func (t *sessionTable) end(s *session) {
	t.mu.Lock()
	known := t.byID[s.id] == s
	delete(t.byID, s.id)
	t.mu.Unlock()
	if known {
		t.finish(s)
	}
}

// silence ends all questions to clients.
func (t *sessionTable) silence() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		s.peer.silence()
	}
}

func (t *sessionTable) closeAll() {
	t.mu.Lock()
	t.closed = true
	all := t.byID
	t.byID = make(map[string]*session)
	t.mu.Unlock()
	for _, s := range all {
		t.finish(s)
	}
}

// finish is called once for a session that is no longer in the table.
func (t *sessionTable) finish(s *session) {
	close(s.done)
	s.peer.silence()
	s.peer.cancelAll()
	t.ended(s.peer)
}
