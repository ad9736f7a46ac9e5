package mcpbridge

import (
	"net/http"
	"sync"
	"time"
)

// callStream is what carries the messages of one request to its client: a single JSON object, or an event stream. In
// the initialize era its events are kept, and when the connection is lost another can carry on.
type callStream struct {
	json   bool // the client takes JSON
	events bool // the client takes event streams
	eager  bool // the client names event streams, and so gets one at once
	tape   *tape
	// wanted tells whether the client wants to hear of the request; cancel ends it. Both are set before anything is
	// sent.
	wanted func() bool
	cancel func()

	mu     sync.Mutex
	to     *line // nil: nobody is connected
	over   bool  // the answer was sent, or none will be
	expiry *time.Timer
}

// line is one connection that carries a call's messages.
type line struct {
	w       http.ResponseWriter
	started bool          // as an event stream
	ended   chan struct{} // closed when nothing more is written on it
}

func newCallStream(r *http.Request, to *line) *callStream {
	s := &callStream{to: to}
	s.json, _ = accepts(r, "application/json")
	s.events, s.eager = accepts(r, "text/event-stream")
	return s
}

// fragile implements sink: what is lost before the client has an event's id cannot be resumed.
func (s *callStream) fragile() bool {
	return s.tape == nil || !s.eager || !s.tape.primes && !s.tape.tells
}

// carriesRequests: a client that takes a JSON object only gets the answer.
func (s *callStream) carriesRequests() bool { return s.events }

// open begins the event stream of a client that asked for one.
func (s *callStream) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.eager && s.to != nil && !s.over {
		s.begin()
		s.silence()
	}
}

// attend holds a connection until all is said on it, another has taken over, or the client has left. The writer is
// not used afterwards.
func (s *callStream) attend(r *http.Request, to *line) {
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-to.ended:
			return
		case <-r.Context().Done():
			s.hangUp(to)
			return
		case <-ticker.C:
			s.stayOpen(to)
		}
	}
}

func (s *callStream) stayOpen(to *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == to && s.events {
		s.begin()
		s.silence()
	}
}

// silence writes what clients skip.
func (s *callStream) silence() {
	if s.to != nil && writeNow(s.to.w, []byte(comment)) != nil {
		s.lose()
	}
}

func (s *callStream) hangUp(to *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == to {
		s.lose()
	}
}

// lose is called when the client has left. What it can resume goes on.
func (s *callStream) lose() {
	s.drop()
	switch {
	case s.over:
	case s.tape.sent():
		s.expiry = time.AfterFunc(resumeTime, s.expire)
	default:
		s.cancel()
	}
}

// drop lets go of the connection.
func (s *callStream) drop() {
	close(s.to.ended)
	s.to = nil
}

// expire ends what was not resumed in time.
func (s *callStream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		s.tape.forget()
		s.cancel()
	}
}

// attach has another connection carry on behind an event. The one before, if it is still there, is one that the
// client has given up.
func (s *callStream) attach(w http.ResponseWriter, seen int) *line {
	to := &line{w: w, started: true, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.drop()
	}
	if s.expiry != nil && !s.over {
		s.expiry.Stop()
	}
	s.to = to
	startEvents(w)
	s.silence()
	for _, e := range s.tape.since(seen) {
		s.write(e)
	}
	if s.over && s.to != nil {
		s.drop()
	}
	return to
}

func (s *callStream) notify(notification []byte) {
	if s.wanted == nil || s.wanted() {
		s.request(notification)
	}
}

func (s *callStream) request(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.events {
		return false
	}
	s.write(s.tape.keep(message))
	return s.to != nil || s.tape.sent()
}

// write sends one event. An error is the client's leaving.
func (s *callStream) write(e event) {
	if s.to == nil {
		return
	}
	s.begin()
	if s.to == nil {
		return
	}
	if writeEvent(s.to.w, e.id, "message", e.data) != nil {
		s.lose()
		return
	}
	s.tape.wrote()
}

func (s *callStream) begin() {
	if s.to.started {
		return
	}
	s.to.started = true
	startEvents(s.to.w)
	if s.tape == nil || !s.tape.primes {
		return
	}
	if writeNow(s.to.w, []byte("id: "+s.tape.eventID(0)+"\ndata:\n\n")) != nil {
		s.lose()
		return
	}
	s.tape.wrote()
}

// finish sends the answer; nil means that the client wants none.
func (s *callStream) finish(status int, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	switch {
	case answer == nil:
		s.tape.forget()
		if s.to != nil && !s.to.started {
			s.to.w.WriteHeader(http.StatusAccepted)
		}
	case s.to != nil && !s.to.started && s.json:
		_ = http.NewResponseController(s.to.w).SetWriteDeadline(time.Now().Add(writeTimeout))
		writeJSON(s.to.w, status, answer)
		_ = http.NewResponseController(s.to.w).SetWriteDeadline(time.Time{})
	default:
		s.write(s.tape.keep(answer))
	}
	if s.to != nil {
		s.drop()
	}
	if !s.tape.end() {
		return
	}
	if s.expiry == nil {
		s.expiry = time.AfterFunc(resumeTime, s.expire)
	}
}
