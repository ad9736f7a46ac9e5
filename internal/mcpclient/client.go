package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

// Options are the same for both transports.
type Options struct {
	// Name and Version are what the server is told of us.
	Name, Version string
	// MaxMessage is the longest line, body or event that is taken, in bytes; 0 means 16 MiB.
	MaxMessage int
	// Logger gets what the server does wrong, seldom. The zero value is silent.
	Logger zerolog.Logger
	// Changed is told that a list has changed: tools, prompts or resources. Calls come one after the other, never closer than a
	// tenth of a second; nil means that nobody wants to know, and then the server is not asked for it.
	Changed func(list string)
	// Initialize goes straight to the initialize handshake, for a server of which its era is known, or that ends at the question.
	Initialize bool
}

// Identity is what a server says of itself; nothing of it is verified.
type Identity struct {
	// Name, Version and Title are at most 200 characters, Instructions 32 KiB.
	Name, Version, Title, Instructions string
	// Revision is the one that is spoken; Modern, whether it is one without a handshake.
	Revision string
	Modern   bool
	// Capabilities is the object as the server sent it, {} if that has more than 64 KiB.
	Capabilities json.RawMessage
}

// Handlers are what a request takes beside its answer. What is nil is neither declared nor delivered. Progress and Log are called
// one after the other before Request returns; while one of them runs, what comes meanwhile is coalesced (progress) or dropped
// (log, beyond 64 lines or 1 MiB). They must not wait for the request.
type Handlers struct {
	Progress func(message string, done, total float64) // total is 0 if not known
	Log      func(level, logger string, data json.RawMessage)
	// LogLevel is the least level that Log wants, "" for info. A server of the initialize era, which has one level for all, is told
	// the least of all.
	LogLevel string
	// Ask puts a form to the user: params are those of elicitation/create, the result is an ElicitResult object. key names the
	// question: if the request is made again, the same questions have the same keys, as far as the server is so kind. Its context
	// ends with the request. An error ends the request with that error; one that the user declined is a result, not an error.
	Ask func(ctx context.Context, key string, params json.RawMessage) (result json.RawMessage, err error)
	// Meta is an object whose members go into _meta (traceparent, tracestate), nil for none.
	Meta json.RawMessage
	// Schema is the inputSchema of the tool that is called: over HTTP some of its parameters are sent as headers too
	// (x-mcp-header, 2026-07-28). It is used for tools/call only.
	Schema json.RawMessage
}

// link is a transport. None of its methods waits for the server.
type link interface {
	// send begins to send a call; it may wait for others that are being sent, until ctx is done.
	send(ctx context.Context, c *call) error
	// giveUp tells the server that nobody waits for the answer any more.
	giveUp(c *call)
	// post sends a message of ours that gets no answer; false if too many are waiting already.
	post(message []byte) bool
	// opened is told that an era was chosen, before it is used.
	opened(ctx context.Context, s *state) error
	close() error
}

// state is what was agreed with the server. It is never changed, only replaced.
type state struct {
	Identity
	session string // over HTTP, of the initialize era
	// meta begins the _meta of each request; with asks, that of one that takes questions.
	meta, metaAsks []byte
}

// Client is a connection to one server. Its methods can be called at the same time.
type Client struct {
	options Options
	link    link
	lastID  atomic.Int64
	flight  flight
	state   atomic.Pointer[state]
	changes *changes
	noise   *rate.Limiter
	asks    asks
	counts  counts
	told    toldLevel
	listed  atomic.Bool // a list was had
	shared  bool        // one stream for all answers
	// patience is how long a server may say nothing when it is asked for its era.
	patience time.Duration

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	done   chan struct{}
	ending sync.Once
	err    error // written before done is closed
	closed error // of the link
}

const (
	defaultMaxMessage = 16 << 20
	// noiseRate is how much a second is taken of what is no answer, in units of a message and of each KiB of it.
	noiseRate = 8192
	// firstID bounds where our ids begin: readers with 32 bits for them can take two thousand million more.
	firstID = 1 << 30
)

func newClient(o Options) *Client {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	c := &Client{options: o, done: make(chan struct{}), noise: rate.NewLimiter(noiseRate, noiseRate), told: toldLevel{turn: make(chan struct{}, 1)}}
	c.counts.logger = o.Logger
	c.lastID.Store(1 + rand.Int64N(firstID))
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.changes = newChanges(c.ctx, o.Changed)
	c.state.Store(&state{})
	return c
}

// Connect opens the protocol over the streams of a server, on which each message is a line: Read reads its standard output,
// Write writes to its standard input. rw.Close must end a Read and a Write that are in progress; it is called once, by
// [Client.Close] or when the connection fails, also if Connect does. ctx bounds the opening only.
func Connect(ctx context.Context, rw io.ReadWriteCloser, o Options) (*Client, error) {
	c := newClient(o)
	c.shared, c.patience = true, streamPatience
	s := newStream(c, rw)
	c.link = s
	go s.write()
	go s.read()
	return c.opened(ctx)
}

func (c *Client) opened(ctx context.Context) (*Client, error) {
	if err := c.open(ctx); err != nil {
		c.fail(err)
		return nil, err
	}
	return c, nil
}

// Identity is what the server said of itself when it was connected, or over HTTP when its session was last begun.
func (c *Client) Identity() Identity { return c.state.Load().Identity }

// Offers reports whether the server declared a capability: tools, prompts, resources, completions, logging.
func (c *Client) Offers(capability string) bool {
	return member(c.state.Load().Capabilities, capability) != nil
}

// Dropped is what was dropped so far.
func (c *Client) Dropped() Dropped { return c.counts.read() }

// Done is closed when the connection has failed or was closed. Over HTTP only Close does it: each request stands alone.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why, nil while it is not.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection, and what is in flight with ErrClosed. Over HTTP it ends the session, within two seconds.
func (c *Client) Close() error {
	c.fail(ErrClosed)
	if !errors.Is(c.err, ErrClosed) {
		return nil
	}
	return c.closed
}

// fail ends the connection, once.
func (c *Client) fail(err error) {
	c.ending.Do(func() {
		c.err = err
		close(c.done)
		c.cancel()
		c.closed = c.link.close()
	})
}
