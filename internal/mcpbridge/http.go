package mcpbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// HTTPOptions say who may speak to an HTTP server, and how much.
type HTTPOptions struct {
	// Authenticate tells whom a bearer token belongs to, "" where a request has none. It is required. What one principal
	// began, nobody else can use, read or cancel. An error that is no [Denial] is one of 401 that says nothing.
	Authenticate func(ctx context.Context, token string) (Identity, error)
	// Protected tells clients where to get a token; nil: nowhere.
	Protected *Protected
	// MaxPrincipals bounds those who are known at a time; 0 means 1,024. Who has nothing in use makes room, the one idle
	// longest first, and its sessions end.
	MaxPrincipals int
	// AllowedHosts are the Host headers that are served beside the loopback names and the address that the client
	// reached: a name or address, with or without a port.
	AllowedHosts []string
	// AllowedOrigins are the Origin headers that are served, such as "http://localhost:6274", beside that of the
	// server itself. Requests without one, as programs send them, are always served.
	AllowedOrigins []string
	// ReadTimeout is how long the headers may take, and all of a request that shows no token; a body has that, and
	// the time that what came of it takes at 64 KiB a second. 0 means 5 seconds.
	ReadTimeout time.Duration
	// MaxConnections bounds the connections that Serve holds; 0 means 1,024. One client address may have half of
	// them, and a quarter may be such that no request on them has shown a token.
	MaxConnections int
	// MaxBody is the longest request body; 0 means 16 MiB. What one principal has in flight holds at most four times that.
	MaxBody int64
	// RequestsPerSecond and Burst limit each client: a protocol session, or a connection without one. 0 means 100 and
	// 400. All clients of one principal together have ten times that.
	RequestsPerSecond float64
	Burst             int
	// MaxInFlight bounds the requests of one client that have no answer yet; 0 means 64. All clients of one principal
	// together have four times that, and each at most as much as it leaves free.
	MaxInFlight int
	// MaxSessions bounds the protocol sessions and SSE streams of one principal; 0 means 256. A session that never
	// asked for anything makes room, else the one idle longest. One with a call, a stream or a command never does;
	// where all have, no further one is opened.
	MaxSessions int
	// SessionIdle is how long a protocol session lives without a request; 0 means 24 hours.
	SessionIdle time.Duration
	// SSE also serves the transport of revision 2024-11-05 at /sse and /message.
	SSE bool
	// Pages are served to a GET at their paths, to whoever shows a token.
	Pages map[string]http.HandlerFunc
	// Status answer a GET at their paths with whether something is well, and no more, to everybody who may name this
	// server: without a token, so they have to be cheap.
	Status map[string]func() bool
	// Drain is how long calls may go on after shutdown has begun; 0 means one second.
	Drain time.Duration
}

const (
	defaultRate        = 100
	defaultBurst       = 400
	defaultMaxInFlight = 64
	defaultMaxSessions = 256
	defaultSessionIdle = 24 * time.Hour
	defaultReadTimeout = 5 * time.Second
	defaultConnections = 1024
	defaultPrincipals  = 1024

	// principalsHeld is how much the messages of all principals may hold, as a multiple of what those of one may.
	principalsHeld = 8
	// bodyRate is what a client has to send of a body, in bytes a second.
	bodyRate = 64 << 10
	// writeTimeout is how long a client may leave what was sent unread.
	writeTimeout = 30 * time.Second
	// keepAlive is how often a silent stream gets a comment, and a client that asked for progress hears that its call
	// runs. Clients give up on what is silent after 60 seconds and more.
	keepAlive = 25 * time.Second
	// resumeTime is how long a lost stream can be resumed, and its call goes on.
	resumeTime = 5 * time.Minute
)

func (o HTTPOptions) withDefaults() HTTPOptions {
	o.ReadTimeout = orDefault(o.ReadTimeout, defaultReadTimeout)
	o.MaxConnections = orDefault(o.MaxConnections, defaultConnections)
	o.MaxPrincipals = orDefault(o.MaxPrincipals, defaultPrincipals)
	o.MaxBody = orDefault(o.MaxBody, defaultMaxMessage)
	o.RequestsPerSecond = orDefault(o.RequestsPerSecond, defaultRate)
	o.Burst = orDefault(o.Burst, defaultBurst)
	o.MaxInFlight = orDefault(o.MaxInFlight, defaultMaxInFlight)
	o.MaxSessions = orDefault(o.MaxSessions, defaultMaxSessions)
	o.SessionIdle = orDefault(o.SessionIdle, defaultSessionIdle)
	o.Drain = orDefault(o.Drain, defaultDrain)
	return o
}

// orDefault is what holds where a limit may be left out.
func orDefault[T cmp.Ordered](given, otherwise T) T {
	var zero T
	if given > zero {
		return given
	}
	return otherwise
}

// HTTPHandler serves MCP over HTTP: Streamable HTTP of both eras at /mcp, and the SSE transport at /sse and /message
// if that was asked for. It checks every request itself, whatever is in front of it.
type HTTPHandler struct {
	server  *Server
	options HTTPOptions
	conns   *connTable

	mu         sync.Mutex
	principals map[string]*principal
	tick       uint64 // of the last use of any

	// calls is done when calls are to end, streams when streams without a call are.
	calls, streams       context.Context
	stopCalls, endStream context.CancelFunc
	closed               atomic.Bool
	// running has a place for each request that runs; calls can outlive the connection that brought them.
	running *pool
	// bodies has the messages of all principals.
	bodies *pool
}

var _ http.Handler = (*HTTPHandler)(nil)

// HTTPHandler makes a handler. Its Close is to be called when it is no longer used.
func (s *Server) HTTPHandler(options HTTPOptions) (*HTTPHandler, error) {
	if options.Authenticate == nil {
		return nil, errors.New("mcpbridge: HTTP needs HTTPOptions.Authenticate")
	}
	h := &HTTPHandler{server: s, options: options.withDefaults(), principals: make(map[string]*principal)}
	h.conns = newConnTable(h.options.MaxConnections)
	h.running = newPool(poolLimit{places: math.MaxInt, bytes: math.MaxInt})
	h.bodies = newPool(poolLimit{places: math.MaxInt, bytes: principalsHeld * heldMessages * int(h.options.MaxBody)})
	h.calls, h.stopCalls = context.WithCancel(context.Background())
	h.streams, h.endStream = context.WithCancel(context.Background())
	return h, nil
}

// Close ends all streams and sessions and cancels all calls.
func (h *HTTPHandler) Close() {
	h.closed.Store(true)
	h.endStream()
	h.stopCalls()
	for _, p := range h.all() {
		p.close()
	}
}

// ServeHTTP checks the request and passes it to its transport.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, ok := h.check(w, r)
	if !ok {
		return
	}
	defer h.done(from.principal)
	if page := h.options.Pages[r.URL.Path]; page != nil {
		if onlyGET(w, r) {
			page(w, r)
		}
		return
	}
	switch r.URL.Path {
	case "/mcp":
		h.serveMCP(w, r, from)
	case "/sse":
		h.serveSSE(w, r, from)
	case "/message":
		h.serveMessage(w, r, from)
	}
}

// serves tells whether anything is at a path. Clients that are refused look for an authorization server at several,
// which needs no token: we are none.
func (h *HTTPHandler) serves(path string) bool {
	return path == "/mcp" || h.options.SSE && (path == "/sse" || path == "/message") || h.options.Pages[path] != nil
}

// serveStatus answers without a token, and so ends the connection: it has no place among those that have shown one.
func (h *HTTPHandler) serveStatus(w http.ResponseWriter, r *http.Request, well func() bool) {
	h.giveUp(w)
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case !onlyGET(w, r):
	case well():
		fmt.Fprintln(w, "ok")
	default:
		http.Error(w, "not ok", http.StatusServiceUnavailable)
	}
}

func onlyGET(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	methodNotAllowed(w, "GET, HEAD")
	return false
}

func (h *HTTPHandler) serveMCP(w http.ResponseWriter, r *http.Request, from sender) {
	switch modern := mcp.IsModernProtocol(r.Header.Get(headerVersion)); {
	case r.Method == http.MethodPost:
		h.servePost(w, r, from)
	case modern: // which has no sessions
		methodNotAllowed(w, "POST")
	case r.Method == http.MethodGet:
		h.serveStream(w, r, from.principal)
	case r.Method == http.MethodDelete:
		h.serveDelete(w, r, from.principal)
	default:
		methodNotAllowed(w, "GET, POST, DELETE")
	}
}

func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
}

const (
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// Serve serves HTTP/1.1 on a listener, which may be a TLS one, until ctx is done. Then it ends the streams, lets
// calls go on for the drain time, cancels them, and returns nil. The handler is closed afterwards.
func (h *HTTPHandler) Serve(ctx context.Context, listener net.Listener) error {
	defer h.Close()
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.options.ReadTimeout,
		ReadTimeout:       h.options.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         h.conns.watch,
		ConnContext:       withConn,
		Protocols:         new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true) // with HTTP/2 a connection would be many
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		h.shutdown(server)
	})
	err := server.Serve(listener)
	if stop() {
		return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
}

func (h *HTTPHandler) shutdown(server *http.Server) {
	h.endStream()
	for _, p := range h.all() {
		p.silence() // no new request is let in, so no answer either
	}
	patience, cancel := context.WithTimeout(context.Background(), h.options.Drain)
	defer cancel()
	if server.Shutdown(patience) == nil && h.allEnded(patience) {
		return
	}
	h.stopCalls()
	grace, cancelGrace := context.WithTimeout(context.Background(), drainGrace)
	defer cancelGrace()
	if server.Shutdown(grace) != nil || !h.allEnded(grace) {
		h.server.log.Warn().Msg("calls did not end in time at shutdown")
		_ = server.Close() // the connections are given up
	}
}

// allEnded waits for the calls, which can outlive their connections. No further one begins.
func (h *HTTPHandler) allEnded(patience context.Context) bool {
	select {
	case <-h.running.close():
		return true
	case <-patience.Done():
		return false
	}
}
