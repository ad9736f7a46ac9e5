package mcpbridge

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// callStream is what carries the messages of one request to its client: a single JSON object, or an event stream. In
// the initialize era the events of a call are kept, and when the connection is lost another can carry on.
type callStream struct {
	json   bool // the client takes JSON
	events bool // the client takes event streams
	eager  bool // the client names event streams, and so gets one at once
	cancel func()

	// Of a call that can be resumed.
	kept   *keptStreams // nil: it cannot
	id     string
	from   *peer
	primes bool // the client takes an event without data
	tells  bool // the client has asked for progress

	mu      sync.Mutex
	to      *line // nil: nobody is connected
	over    bool  // the answer was sent, or none will be
	expiry  *time.Timer
	last    int     // number of the last event
	sent    []event // the latest
	bytes   int     // of these
	written bool    // the client was sent an event's id
}

// line is one connection that carries a call's messages.
type line struct {
	w       http.ResponseWriter
	started bool          // as an event stream
	ended   chan struct{} // closed when nothing more is written on it
}

// event is a message with its place in the stream.
type event struct {
	id     string
	number int
	data   []byte
}

func newCallStream(r *http.Request, to *line) *callStream {
	s := &callStream{to: to}
	s.json, _ = accepts(r, "application/json")
	s.events, s.eager = accepts(r, "text/event-stream")
	return s
}

// fragile: what is lost before the client has an event's id cannot be resumed.
func (s *callStream) fragile() bool {
	return s.kept == nil || !s.eager || !s.primes && !s.tells
}

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
		left := false
		select {
		case <-to.ended:
			return
		case <-r.Context().Done():
			left = true
		case <-ticker.C:
		}
		s.mu.Lock()
		switch {
		case s.to != to:
		case left:
			s.lose()
		case s.events:
			s.begin()
			s.silence()
		}
		s.mu.Unlock()
		if left {
			return
		}
	}
}

// silence writes what clients skip.
func (s *callStream) silence() { s.put([]byte(comment)) }

// put writes to who is connected, and tells whether it was written. An error is the client's leaving.
func (s *callStream) put(data []byte) bool {
	if s.to == nil {
		return false
	}
	if writeNow(s.to.w, data) != nil {
		s.lose()
		return false
	}
	return true
}

// lose is called when the client has left. What it can resume goes on.
func (s *callStream) lose() {
	s.drop()
	switch {
	case s.over:
	case s.written:
		s.expiry = time.AfterFunc(resumeTime, s.expire)
	default:
		s.cancel()
	}
}

// drop lets go of the connection.
func (s *callStream) drop() {
	if s.to != nil {
		close(s.to.ended)
		s.to = nil
	}
}

// expire ends what was not resumed in time.
func (s *callStream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		s.kept.forget(s)
		s.cancel()
	}
}

// attach has another connection carry on behind an event. The one before, if it is still there, is one that the
// client has given up.
func (s *callStream) attach(w http.ResponseWriter, seen int) *line {
	to := &line{w: w, started: true, ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	if s.expiry != nil && !s.over {
		s.expiry.Stop()
		s.expiry = nil
	}
	s.to = to
	startEvents(w)
	s.silence()
	for _, e := range s.sent {
		if e.number > seen {
			s.write(e)
		}
	}
	if s.over {
		s.drop()
	}
	return to
}

// send sends a message, or keeps it for who resumes.
func (s *callStream) send(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.events {
		return false
	}
	s.write(s.keep(message))
	return s.to != nil || s.written
}

// keep makes an event of a message.
func (s *callStream) keep(data []byte) event {
	if s.kept == nil {
		return event{data: data}
	}
	s.last++
	e := event{s.eventID(s.last), s.last, data}
	s.sent = append(s.sent, e)
	s.bytes += len(data)
	for len(s.sent) > 1 && (len(s.sent) > keptEvents || s.bytes > keptEventBytes) {
		s.bytes -= len(s.sent[0].data)
		s.sent = slices.Delete(s.sent, 0, 1)
	}
	return e
}

// eventID names a place in the stream; 0 is that before the first event.
func (s *callStream) eventID(number int) string { return s.id + "-" + strconv.Itoa(number) }

// write sends one event.
func (s *callStream) write(e event) {
	s.begin()
	if s.put(encodeEvent(e.id, "message", e.data)) {
		s.written = s.kept != nil
	}
}

func (s *callStream) begin() {
	if s.to == nil || s.to.started {
		return
	}
	s.to.started = true
	startEvents(s.to.w)
	if s.kept != nil && s.primes && s.put([]byte("id: "+s.eventID(0)+"\n"+resumeSoon+"data:\n\n")) {
		s.written = true
	}
}

// finish sends the answer; nil means that the client wants none. What it may not have got is kept.
func (s *callStream) finish(status int, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	switch fresh := s.to != nil && !s.to.started; {
	case answer == nil:
		s.kept.forget(s)
		if fresh {
			s.to.w.WriteHeader(http.StatusAccepted)
		}
	case fresh && s.json:
		_ = http.NewResponseController(s.to.w).SetWriteDeadline(time.Now().Add(writeTimeout))
		writeJSON(s.to.w, status, answer)
		_ = http.NewResponseController(s.to.w).SetWriteDeadline(time.Time{})
	default:
		s.write(s.keep(answer))
	}
	s.drop()
	if s.kept.end(s) && s.expiry == nil {
		s.expiry = time.AfterFunc(resumeTime, s.expire)
	}
}

const (
	// keptEvents and keptEventBytes bound what is kept of a call that runs; the last event is kept whatever its size.
	// What goes first is old progress.
	keptEvents     = 32
	keptEventBytes = 64 << 10
	// maxKept and keptBytes bound what is kept for one principal of calls that have ended.
	maxKept   = 256
	keptBytes = 16 << 20
)

// resumeSoon tells a client how long it should wait before it resumes a stream that it has lost: a second.
const resumeSoon = "retry: 1000\n"

// primingRevision is the first whose clients take an event without data, which tells them from where they can resume.
// Earlier clients take it for a broken message.
const primingRevision = "2025-11-25"

// keptStreams are the streams of one principal that can be resumed. A nil one keeps nothing.
type keptStreams struct {
	mu    sync.Mutex
	last  uint64
	byID  map[string]*callStream
	ended []*callStream // the oldest first
	bytes int           // of the ended
}

// add has a stream kept.
func (k *keptStreams) add(s *callStream, from *peer, revision string, tells bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	s.kept, s.id, s.from, s.primes, s.tells = k, strconv.FormatUint(k.last, 36), from, revision >= primingRevision, tells
	k.byID[s.id] = s
}

// find returns the stream of a session that has sent that event, and the event's number; nil if there is none.
func (k *keptStreams) find(eventID string, from *peer) (*callStream, int) {
	id, number, _ := strings.Cut(eventID, "-")
	seen, err := strconv.Atoi(number)
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byID[id]
	if err != nil || seen < 0 || s == nil || s.from != from {
		return nil, 0
	}
	return s, seen
}

// end keeps a stream whose call has ended, and forgets the oldest where that is too much. It is not ok where there is
// nothing to keep: the client has no id to resume from.
func (k *keptStreams) end(s *callStream) (ok bool) {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !s.written || k.byID[s.id] != s {
		k.remove(s)
		return false
	}
	k.ended = append(k.ended, s)
	k.bytes += s.bytes
	for len(k.ended) > 1 && (len(k.ended) > maxKept || k.bytes > keptBytes) {
		k.remove(k.ended[0])
	}
	return true
}

// forget lets nobody resume a stream any more.
func (k *keptStreams) forget(s *callStream) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(s)
}

func (k *keptStreams) remove(s *callStream) {
	delete(k.byID, s.id)
	if i := slices.Index(k.ended, s); i >= 0 {
		k.ended = slices.Delete(k.ended, i, i+1)
		k.bytes -= s.bytes
	}
}
