package mcpclient

import (
	"context"
	"encoding/json"
	"sync"
)

const (
	// heldLines and heldLog bound the log that waits to be delivered, in lines and in bytes.
	heldLines = 64
	heldLog   = 1 << 20
)

// call is a request in flight.
type call struct {
	id     int64
	method string
	name   string // of the tool, prompt or resource, for HTTP
	line   []byte // as sent, with a newline
	// arguments are those of a tool, for HTTP.
	arguments json.RawMessage
	h         Handlers
	modern    bool
	// session is that of the initialize era which the answer began, over HTTP.
	session string
	abort   context.CancelFunc // ends its HTTP request
	// asked is the context of its questions, which ends with the call.
	asked context.Context

	answer chan answer   // has room for the one
	ended  chan error    // what ends the call from our side, likewise
	woken  chan struct{} // there is progress or log

	mu        sync.Mutex
	progress  []progress
	lines     []logLine
	held      int // bytes in lines
	questions int
}

// answer is what came for a call, or why nothing comes.
type answer struct {
	message
	err error
}

type progress struct {
	message     string
	done, total float64
}

type logLine struct {
	level, logger string
	data          json.RawMessage
}

// opens reports whether it is one that finds out how to speak with the server. Such are not cancelled, nor are they of a session.
func (c *call) opens() bool { return c.method == "initialize" || c.method == "server/discover" }

func (c *call) asks() bool { return c.h.Ask != nil }
func (c *call) logs() bool { return c.h.Log != nil }

// wake makes who waits for the answer deliver what else there is.
func (c *call) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// end ends the call from our side.
func (c *call) end(err error) {
	select {
	case c.ended <- err:
	default:
	}
}

// heldProgress is how many signs of progress a call keeps that nobody has delivered yet. Of more the latest takes the place of the
// last.
const heldProgress = 32

func (c *call) progressed(p progress) {
	c.mu.Lock()
	if len(c.progress) == heldProgress {
		c.progress = c.progress[:heldProgress-1]
	}
	c.progress = append(c.progress, p)
	c.mu.Unlock()
	c.wake()
}

// logged keeps a line; false if there are too many.
func (c *call) logged(line logLine) bool {
	c.mu.Lock()
	size := len(line.data) + len(line.logger)
	fits := len(c.lines) < heldLines && c.held+size <= heldLog
	if fits {
		c.lines, c.held = append(c.lines, line), c.held+size
	}
	c.mu.Unlock()
	c.wake()
	return fits
}

// deliver calls the handlers.
func (c *call) deliver() {
	c.mu.Lock()
	lines, all := c.lines, c.progress
	c.lines, c.held, c.progress = nil, 0, nil
	c.mu.Unlock()
	for _, line := range lines {
		c.h.Log(line.level, line.logger, line.data)
	}
	for _, p := range all {
		c.h.Progress(p.message, p.done, p.total)
	}
}

// flight are the calls that wait for an answer.
type flight struct {
	mu    sync.Mutex
	calls map[int64]*call
}

func (f *flight) add(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[int64]*call{}
	}
	f.calls[c.id] = c
}

// take returns a call once; nil if there is none such.
func (f *flight) take(id int64) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[id]
	delete(f.calls, id)
	return c
}

func (f *flight) get(id int64) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[id]
}

// only returns the call that what the server says can belong to: where one of a client's is in flight alone, and takes such. Beside
// another one nobody knows whose it is, whatever that one takes: they may be of two people.
func (f *flight) only(takes func(*call) bool) (found *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		switch c.method {
		case "tools/call", "prompts/get", "resources/read", "completion/complete":
			if found != nil {
				return nil
			}
			found = c
		}
	}
	if found == nil || !takes(found) {
		return nil
	}
	return found
}
