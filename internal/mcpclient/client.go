package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/rs/zerolog"
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

// HTTPOptions are those of Streamable HTTP.
type HTTPOptions struct {
	// Header goes with every request, such as the secrets of an operator; never to another origin than the server's.
	Header http.Header
	// Client is what requests are made with, nil for one of our own. Redirections are followed only within the same scheme, host
	// and port, whatever it says. It needs limits for connecting, and must have none for a whole request: streams last.
	Client *http.Client
	// Token gives the bearer token for each request, "" for none; nil for none ever. Its errors end the request.
	Token func(context.Context) (string, error)
}

// Identity is what a server says of itself; nothing of it is verified.
type Identity struct {
	// Name, Version and Title are at most 200 characters, Instructions 32 KiB.
	Name, Version, Title, Instructions string
	// Revision is the one that is spoken; Modern, whether it is one without a handshake.
	Revision string
	Modern   bool
	// Capabilities is the object as the server sent it.
	Capabilities json.RawMessage
}

// Handlers are what a request takes beside its answer. What is nil is neither declared nor delivered. Progress and Log are called
// one after the other before Request returns; while one of them runs, what comes meanwhile is coalesced (progress) or dropped
// (log, beyond 64 lines). They must not wait for the request.
type Handlers struct {
	Progress func(message string, done, total float64) // total is 0 if not known
	Log      func(level, logger string, data json.RawMessage)
	// LogLevel is the least level that Log wants, "" for info.
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

// Dropped counts what was not taken of what a server sent.
type Dropped struct {
	Answers  int64 // to nothing that was asked, or asked any more
	Requests int64 // questions that were cancelled or refused: not one request they can belong to, or too many at once
	Notices  int64 // notifications for nobody
	Garbage  int64 // lines that are no message
}

// Client is a connection to one server. Its methods can be called at the same time.
type Client struct{}

// Connect opens the protocol over the streams of a server, on which each message is a line: Read reads its standard output,
// Write writes to its standard input. rw.Close must end a Read and a Write that are in progress; it is called once, by
// [Client.Close] or when the connection fails, also if Connect does. ctx bounds the opening only.
func Connect(ctx context.Context, rw io.ReadWriteCloser, o Options) (*Client, error) { return nil, nil }

// ConnectHTTP opens the protocol at an address. ctx bounds the opening only.
func ConnectHTTP(ctx context.Context, address string, h HTTPOptions, o Options) (*Client, error) {
	return nil, nil
}

// Identity is what the server said of itself when it was connected, or over HTTP when its session was last begun.
func (c *Client) Identity() Identity { return Identity{} }

// Offers reports whether the server declared a capability: tools, prompts, resources, completions, logging.
func (c *Client) Offers(capability string) bool { return false }

// Request sends a request and returns the result object as it came. params is an object without _meta, or nil. What the server
// asks meanwhile is put to h.Ask. The error is an [*Error] if the server answered with one, context.Cause(ctx) if ctx is done, an
// [*AuthError], a [*StatusError], or one of the package's.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, h Handlers) (json.RawMessage, error) {
	return nil, nil
}

// List returns the entries of all pages of a list, such as tools/list with its member tools, each as it came. It takes at most
// 10,000 entries, 1,000 pages and MaxMessage bytes: beyond is ErrList or ErrTooLarge, and no entries. What is no object is left
// out, and so is a tool of 2026-07-28 over HTTP whose x-mcp-header is not valid, as the protocol has it.
func (c *Client) List(ctx context.Context, method, member string) ([]json.RawMessage, error) {
	return nil, nil
}

// Dropped is what was dropped so far.
func (c *Client) Dropped() Dropped { return Dropped{} }

// Done is closed when the connection has failed or was closed. Over HTTP only Close does it: each request stands alone.
func (c *Client) Done() <-chan struct{} { return nil }

// Err is why, nil while it is not.
func (c *Client) Err() error { return nil }

// Close ends the connection, and what is in flight with ErrClosed. Over HTTP it ends the session, within two seconds.
func (c *Client) Close() error { return nil }
