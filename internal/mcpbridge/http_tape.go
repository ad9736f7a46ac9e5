package mcpbridge

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// keptEvents and keptEventBytes bound what is kept of a call that runs; the last event is kept whatever its size.
	// What goes first is old progress.
	keptEvents     = 32
	keptEventBytes = 64 << 10
	// keptStreams and keptBytes bound what is kept for one principal of calls that have ended.
	keptStreams = 256
	keptBytes   = 16 << 20
)

// primingRevision is the first whose clients take an event without data, which tells them from where they can resume.
// Earlier clients take it for a broken message.
const primingRevision = "2025-11-25"

// tapes are the streams of one principal that can be resumed.
type tapes struct {
	mu    sync.Mutex
	last  uint64
	byID  map[string]*tape
	ended []*tape // the oldest first
	bytes int     // of the ended
}

// tape keeps what was sent for one call. A nil one keeps nothing. Its events are guarded by its stream's mutex.
type tape struct {
	in     *tapes
	id     string
	stream *callStream
	from   *peer
	primes bool // the client takes an event without data
	tells  bool // the client has asked for progress

	next    int
	events  []event
	bytes   int
	written bool // the client was sent an event's id
}

// event is a message with its place in the stream.
type event struct {
	id     string
	number int
	data   []byte
}

// open makes the tape of a stream.
func (t *tapes) open(stream *callStream, from *peer, revision string, tells bool) *tape {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = make(map[string]*tape)
	}
	t.last++
	tape := &tape{in: t, id: strconv.FormatUint(t.last, 36), stream: stream, from: from, primes: revision >= primingRevision, tells: tells}
	t.byID[tape.id] = tape
	return tape
}

// find returns the stream of a session that has sent that event, and the event's number; nil if there is none.
func (t *tapes) find(eventID string, from *peer) (*callStream, int) {
	id, number, _ := strings.Cut(eventID, "-")
	seen, err := strconv.Atoi(number)
	if err != nil || seen < 0 {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tape := t.byID[id]
	if tape == nil || tape.from != from {
		return nil, 0
	}
	return tape.stream, seen
}

// eventID names a place in the stream; 0 is that before the first event.
func (t *tape) eventID(number int) string { return t.id + "-" + strconv.Itoa(number) }

// keep makes an event of a message.
func (t *tape) keep(data []byte) event {
	if t == nil {
		return event{data: data}
	}
	t.next++
	e := event{t.eventID(t.next), t.next, data}
	t.events = append(t.events, e)
	t.bytes += len(data)
	for len(t.events) > 1 && (len(t.events) > keptEvents || t.bytes > keptEventBytes) {
		t.bytes -= len(t.events[0].data)
		t.events = slices.Delete(t.events, 0, 1)
	}
	return e
}

// since are the events behind one.
func (t *tape) since(number int) []event {
	i := slices.IndexFunc(t.events, func(e event) bool { return e.number > number })
	if i < 0 {
		return nil
	}
	return t.events[i:]
}

func (t *tape) wrote() {
	if t != nil {
		t.written = true
	}
}

// sent tells whether the client has an id to resume from.
func (t *tape) sent() bool { return t != nil && t.written }

// end keeps what the client may not have got, and forgets the oldest where that is too much. It is not ok where there
// is nothing to keep.
func (t *tape) end() (ok bool) {
	if !t.sent() {
		t.forget()
		return false
	}
	in := t.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.byID[t.id] != t {
		return false
	}
	in.ended = append(in.ended, t)
	in.bytes += t.bytes
	for len(in.ended) > 1 && (len(in.ended) > keptStreams || in.bytes > keptBytes) {
		in.remove(in.ended[0])
	}
	return true
}

// forget lets nobody resume the stream any more.
func (t *tape) forget() {
	if t == nil {
		return
	}
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	t.in.remove(t)
}

func (t *tapes) remove(tape *tape) {
	delete(t.byID, tape.id)
	if i := slices.Index(t.ended, tape); i >= 0 {
		t.ended = slices.Delete(t.ended, i, i+1)
		t.bytes -= tape.bytes
	}
}
