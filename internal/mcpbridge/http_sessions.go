package mcpbridge

import (
	"crypto/rand"
	"sync"
	"time"
)

// session is a protocol session of the initialize era over HTTP, or an SSE
// stream. Only the principal that opened it can use it.
type session struct {
	id        string
	principal string
	peer      *peer
	conn      *conn         // of an SSE stream, nil otherwise
	done      chan struct{} // closed when the session has ended

	// Guarded by the table's mutex.
	lastUsed  time.Time
	streaming bool // a GET stream is open
}

// sessionTable knows the sessions that we opened. An id that is not in it does
// not exist, whoever sends it.
type sessionTable struct {
	perPrincipal int
	idle         time.Duration
	ended        func(*peer)

	mu     sync.Mutex
	closed bool
	byID   map[string]*session
}

func newSessionTable(perPrincipal int, idle time.Duration, ended func(*peer)) *sessionTable {
	return &sessionTable{perPrincipal: perPrincipal, idle: idle, ended: ended, byID: make(map[string]*session)}
}

// open adds a session and ends those that it pushes out.
func (t *sessionTable) open(principal string, p *peer, c *conn) *session {
	s := &session{id: rand.Text(), principal: principal, peer: p, conn: c, done: make(chan struct{}), lastUsed: time.Now()}
	for _, old := range t.add(s) {
		t.finish(old)
	}
	return s
}

func (t *sessionTable) add(s *session) (pushedOut []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pushedOut = t.expired(s.lastUsed)
	if oldest := t.surplus(s.principal); oldest != nil {
		pushedOut = append(pushedOut, oldest)
	}
	for _, old := range pushedOut {
		delete(t.byID, old.id)
	}
	if t.closed {
		return append(pushedOut, s)
	}
	t.byID[s.id] = s
	return pushedOut
}

func (t *sessionTable) expired(now time.Time) (found []*session) {
	for _, s := range t.byID {
		if !s.streaming && s.conn == nil && now.Sub(s.lastUsed) > t.idle {
			found = append(found, s)
		}
	}
	return found
}

// surplus returns the session that has to make room for a further one.
func (t *sessionTable) surplus(principal string) (oldest *session) {
	count := 0
	for _, s := range t.byID {
		if s.principal != principal {
			continue
		}
		count++
		if oldest == nil || s.lastUsed.Before(oldest.lastUsed) {
			oldest = s
		}
	}
	if count < t.perPrincipal {
		return nil
	}
	return oldest
}

// use returns the session with that id if that principal opened it.
func (t *sessionTable) use(id, principal string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.principal != principal || time.Since(s.lastUsed) > t.idle {
		return nil
	}
	s.lastUsed = time.Now()
	return s
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
	s.lastUsed = time.Now()
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
