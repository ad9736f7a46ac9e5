package mcpbridge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// maxRunning bounds the tool calls of one connection that run at once, maxReserved those that run or wait.
	maxRunning  = 64
	maxReserved = 4096
	// maxRunningReads bounds the calls of tools that only read, so that commands that take long do not keep a client
	// from reading; and the other requests, so that calls that hang do not keep it from listing tools.
	maxRunningReads = 16
	// maxRunningOutside bounds the calls of tools that reach out of the server, such as commands, so that those that
	// take long do not keep a client from changing files.
	maxRunningOutside = 64
	// maxSpare bounds the goroutines of each pool of a connection that wait for further calls.
	maxSpare = 2
)

// What the pools of a connection are for.
const (
	forCalls   = iota
	forLooks   // calls of tools that only read
	forOutside // calls of tools that reach out of the server
	forReads   // what is no call
	forBeside  // what other servers do, so that those that hang keep nobody from the rest
	forListens // subscriptions
)

// conn is a connection over which messages go both ways: the standard streams or an SSE stream. Its receive is called
// by one goroutine at a time.
type conn struct {
	server *Server
	peer   *peer
	ctx    context.Context // of everything in flight
	cancel context.CancelFunc
	pools  [6]*pool // by what each is for

	readMu  sync.Mutex // of who receives messages on several goroutines
	writeMu sync.Mutex
	write   func(message []byte) error // one whole message, which it does not keep
	failed  atomic.Pointer[error]      // why nothing is written any more
	broken  chan struct{}              // closed at the first write error
	ending  chan struct{}              // closed when nothing further may start
	told    bool                       // of lists that change; of who receives messages
}

var errStopped = errors.New("the connection has been stopped")

// newConn makes a connection. heldBytes bounds the messages that are in flight at a time.
func (s *Server) newConn(ctx context.Context, heldBytes int, write func([]byte) error) *conn {
	c := &conn{server: s, peer: newPeer(), write: write, broken: make(chan struct{}), ending: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(ctx)
	for i, running := range [...]int{forCalls: maxRunning, forLooks: maxRunningReads, forOutside: maxRunningOutside, forReads: maxRunningReads, forBeside: maxRunning, forListens: maxListens} {
		limit := poolLimit{running: running, places: maxReserved, bytes: heldBytes / heldMessages, away: maxQuestions, spare: maxSpare}
		if i == forCalls {
			limit.bytes = heldBytes
		}
		if i == forListens {
			limit.places = maxListens
		}
		c.pools[i] = newPool(limit)
	}
	return c
}

// receive takes one message of somebody. It does not wait for what the message starts, except for initialize, which nothing may overtake.
func (c *conn) receive(raw []byte, who Identity) {
	m, failure := parseMessage(raw)
	if failure != nil {
		c.send(encodeError(m.id, failure))
		return
	}
	switch m.kind {
	case notificationMessage:
		if m.method == "notifications/cancelled" {
			c.peer.cancelled(m)
		}
	case requestMessage:
		c.request(m, len(raw), who)
	case responseMessage:
		if !who.Unasked {
			c.peer.answered(m)
		}
	}
}

func (c *conn) request(m message, size int, who Identity) {
	if m.method == "initialize" {
		answer, ok := c.server.initialize(c.ctx, m, c.peer, who)
		c.send(answer)
		if ok && !c.told && c.server.config.Beside != nil {
			c.told = true
			go c.announce(c.server.news.follow(changingLists))
		}
		return
	}
	declared, failure := readMeta(m.params)
	var r *request
	if failure == nil {
		r, failure = c.server.admit(m, declared, c.peer, who)
	}
	if failure == nil {
		failure = c.begin(r, size)
	}
	if failure != nil {
		c.send(encodeError(m.id, failure))
	}
}

// begin starts an admitted request, or says why it cannot be started.
func (c *conn) begin(r *request, size int) *rpcError {
	f, failure := c.peer.begin(c.ctx, c.server, r)
	if failure != nil {
		return failure
	}
	// A connection that ends takes all of its calls with it, whenever they end: none is fragile.
	f.asks, f.ending, f.send = true, c.ending, func(message []byte) bool {
		c.send(message)
		return c.failed.Load() == nil
	}
	if r.method == "ping" {
		// Answered at once, so that a ping tells that the server is there however much is in flight.
		c.send(f.serve())
		return nil
	}
	var ok bool
	if f.held, ok = c.poolFor(r).reserve(size); !ok {
		c.peer.end(f)
		return errorf(codeBusy, "too much is in flight on this connection; wait for answers, then send it again")
	}
	if failure := f.arrive(); failure != nil {
		c.peer.end(f)
		f.held.release()
		return failure
	}
	f.held.start(f.ctx, func() {
		defer f.held.release()
		if answer := f.serve(); answer != nil {
			c.send(answer)
			written.Put(&answer)
		}
	})
	return nil
}

func (c *conn) poolFor(r *request) *pool {
	if r.call != nil {
		if _, ours := c.server.tools[r.call.Tool]; !ours {
			return c.pools[forBeside]
		}
	}
	switch {
	case r.beside != nil:
		return c.pools[forBeside]
	case r.method == listenMethod:
		return c.pools[forListens]
	case r.call == nil:
		return c.pools[forReads]
	case c.server.tools[r.call.Tool].ReadOnly:
		return c.pools[forLooks]
	case c.server.tools[r.call.Tool].OpenWorld:
		return c.pools[forOutside]
	}
	return c.pools[forCalls]
}

// send writes one message. After the first error nothing more is written.
func (c *conn) send(message []byte) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if c.failed.Load() != nil {
		return
	}
	if err := c.write(message); err != nil && c.failed.CompareAndSwap(nil, &err) {
		close(c.broken)
		c.cancel()
	}
}

// stop lets nothing more be written, and returns the error that broke the connection before, if any. It does not wait
// for a write that hangs.
func (c *conn) stop() error {
	stopped := errStopped
	if c.failed.CompareAndSwap(nil, &stopped) {
		return nil
	}
	return *c.failed.Load()
}

// close lets nothing further start, and ends what waits for an answer. The channel is closed when everything in
// flight has ended.
func (c *conn) close() <-chan struct{} {
	c.peer.silence()
	close(c.ending)
	done := make(chan struct{})
	var ended [len(c.pools)]<-chan struct{}
	for i, p := range c.pools {
		ended[i] = p.close()
	}
	go func() {
		for _, each := range ended {
			<-each
		}
		close(done)
	}()
	return done
}
