package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient/login"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// Times of a server's life.
const (
	// startTime bounds a start, from the program to its lists. The first start of a program has more: it may have to be downloaded.
	startTime      = 30 * time.Second
	firstStartTime = 2 * time.Minute
	// After the n-th end in a row a server rests for 2^(n-1) times shortestRest, longestRest at most. One that has lived for
	// goodLife begins anew.
	shortestRest = time.Second
	longestRest  = time.Minute
	goodLife     = time.Minute
)

// server is one of the fleet.
type server struct {
	fleet *Fleet
	def   upstream.Definition
	files Files
	book  *catalogue.Book
	log   zerolog.Logger
	slots chan struct{} // holds one token for each request
	notes notes

	mu         sync.Mutex
	live       *connection
	starting   *attempt
	hide       *strings.Replacer // takes out the secrets that it was last given
	token      string            // of a login, among them
	initialize bool              // it ended when it was asked for its era
	ends       int               // in a row
	next       time.Time
	why        error
	printed    string
	closed     bool
}

// connection is a server that runs.
type connection struct {
	client  *mcpclient.Client
	process *process // nil for an address
	since   time.Time
	changed chan struct{} // a list has changed, or can have
	looked  atomic.Int64  // when, in nanoseconds since 1970
	over    chan struct{} // closed when nothing is left of it, and that is noted
	// holds: it may write the workspace, and does nothing while nobody waits for it: what it writes is what a call has it write.
	holds bool
	using sync.Mutex
	users int
	// listed are the hashes of its tools as it listed them last itself: another process may have seen another listing since.
	listed atomic.Pointer[map[string]string]
}

// enter is called by who has something to wait for, and leave when that is over.
func (c *connection) enter() {
	c.using.Lock()
	defer c.using.Unlock()
	if c.users++; c.users == 1 && c.holds {
		c.process.service.Release()
	}
}

func (c *connection) leave() {
	c.using.Lock()
	defer c.using.Unlock()
	if c.users--; c.users == 0 && c.holds {
		c.process.service.Hold()
	}
}

// lists reports whether the server lists a tool as it is pinned.
func (c *connection) lists(t catalogue.Tool) bool {
	listed := c.listed.Load()
	return listed != nil && (*listed)[t.Own] == t.Hash
}

// mayHaveChanged has the server looked at again, soon.
func (c *connection) mayHaveChanged() {
	select {
	case c.changed <- struct{}{}:
	default: // it is going to be looked at anyway
	}
}

// dying reports whether the connection has ended, be that noted or not.
func (c *connection) dying() bool { return c.client.Err() != nil }

// attempt is a start in progress, which several requests can wait for.
type attempt struct {
	done chan struct{}
	conn *connection
	err  error
}

func newServer(f *Fleet, d upstream.Definition) *server {
	files := FilesOf(f.o.UserDir, f.o.Workspace, d)
	return &server{
		hide: hider(nil), fleet: f, def: d, files: files, book: catalogue.Open(files.Pins),
		log: f.o.Logger.With().Str("server", d.Name).Logger(), slots: make(chan struct{}, MaxInFlight),
	}
}

// close has the server end. Who attends it waits for that.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	live := s.live
	s.mu.Unlock()
	if live != nil {
		s.fleet.tasks.Go(func() { _ = live.client.Close() })
	}
}

// connected returns the running server, which it starts if need be.
func (s *server) connected(ctx context.Context) (*connection, error) {
	for {
		a, err := s.attempt()
		if err != nil {
			return nil, err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if a.err != nil || !a.conn.dying() {
			return a.conn, a.err
		}
		select {
		case <-a.conn.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// attempt is the start that a request has to wait for; it is done where the server runs.
func (s *server) attempt() (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.live != nil:
		return &attempt{done: already, conn: s.live}, nil
	case s.starting != nil:
		return s.starting, nil
	}
	if wait := s.next.Sub(s.fleet.o.Clock()); wait > 0 {
		text := fmt.Sprintf("%v (%v); it can be started again in %v: orchestra-mcp servers list", ErrResting, s.why, wait.Round(100*time.Millisecond))
		return nil, reason{ErrResting, text}
	}
	a := &attempt{done: make(chan struct{})}
	s.starting = a
	s.fleet.tasks.Go(func() { s.start(a) })
	return a, nil
}

// already is closed.
var already = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// start starts the server, and tells who waits.
func (s *server) start(a *attempt) {
	defer close(a.done)
	ctx, cancel := context.WithTimeoutCause(s.fleet.ctx, s.startTime(), fmt.Errorf("it was not ready within %v", s.startTime()))
	defer cancel()
	conn, err := s.open(ctx)
	if err == nil {
		if err = s.look(ctx, conn); err != nil {
			err = conn.end(err)
		}
	}
	if a.conn, a.err = conn, s.settle(conn, err); a.err != nil {
		a.conn = nil
		s.log.Warn().Str("error", s.text(a.err)).Msg("a server did not start")
		return
	}
	s.noteReady()
	if conn.process != nil {
		for _, warning := range conn.process.warnings {
			s.note(warning)
		}
	}
	conn.leave() // who has waited for the start enters by itself
	s.log.Info().Int("pid", conn.pid()).Str("revision", conn.client.Identity().Revision).Msg("a server was started")
	s.fleet.tasks.Go(func() { s.attend(conn) })
}

// settle notes how a start has come out.
func (s *server) settle(conn *connection, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = nil
	if s.closed && err == nil {
		err = conn.end(ErrClosed)
	}
	if err != nil {
		s.rest(err, conn)
		return err
	}
	conn.since = s.fleet.o.Clock()
	s.live, s.why, s.printed = conn, nil, ""
	_ = os.Remove(s.files.Failure)
	return nil
}

// rest notes that the server has ended. The caller holds the lock.
func (s *server) rest(why error, conn *connection) {
	now := s.fleet.o.Clock()
	if conn != nil && !conn.since.IsZero() && now.Sub(conn.since) >= goodLife {
		s.ends = 0
	}
	s.ends++
	s.next = now.Add(min(longestRest, shortestRest<<min(s.ends-1, 10)))
	s.why = reason{why, printable(s.hide, why)}
	if conn != nil && conn.process != nil {
		s.printed = conn.process.printed.String()
	}
	s.noteFailure(now)
}

// attend looks again when the server says that its lists have changed, and notes its end.
func (s *server) attend(conn *connection) {
	defer close(conn.over)
	var pause time.Duration
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-conn.changed:
			pause = pauseAfter(pause, time.Since(last))
			s.lookAgain(conn, pause)
			continue
		case <-conn.client.Done():
		}
		break
	}
	err := conn.end(conn.client.Err())
	s.mu.Lock()
	closed := s.closed
	s.live = nil
	if !closed {
		s.rest(err, conn)
	}
	s.mu.Unlock()
	if !closed {
		s.log.Warn().Str("error", s.text(err)).Msg("a server has ended")
	}
}

// startTime bounds the start that is due.
func (s *server) startTime() time.Duration {
	if _, err := os.Stat(s.readyFile()); s.def.HTTP() || err == nil {
		return startTime
	}
	return max(firstStartTime, s.def.Timeout)
}

// noteReady notes that the program is there, so that the next start is no first one.
func (s *server) noteReady() {
	if !s.def.HTTP() {
		_ = os.WriteFile(s.readyFile(), nil, 0o600) // without it the next start has more time
	}
}

func (s *server) readyFile() string { return filepath.Join(s.fleet.placeOf(s.def.Name), "started") }

// open connects to the server, whose program it starts.
func (s *server) open(ctx context.Context) (*connection, error) {
	if _, err := s.book.Known(); err != nil { // nothing of it could be trusted
		return nil, err
	}
	secrets, err := readSecrets(s.files.Secrets, s.def.HTTP())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.hide, s.token = hider(secrets), ""
	s.mu.Unlock()
	conn := &connection{users: 1, changed: make(chan struct{}, 1), over: make(chan struct{})}
	o := mcpclient.Options{
		Name: "orchestra-mcp", Version: s.fleet.o.Version, Logger: s.log,
		Changed: func(string) { conn.mayHaveChanged() },
	}
	if s.def.HTTP() {
		tokens := login.Open(s.files.Login, s.def.URL, s.fleet.o.HTTP)
		conn.client, err = mcpclient.ConnectHTTP(ctx, s.def.URL, mcpclient.HTTPOptions{
			Header: headers(secrets), Client: s.fleet.o.HTTP, Token: s.bearer(tokens, secrets),
		}, o)
		return conn, s.explain(err)
	}
	return conn, s.speak(ctx, conn, secrets, o)
}

// bearer gives the token of a login, where there is one and the operator has not set a header for it.
func (s *server) bearer(tokens *login.Source, own []secret) func(context.Context) (string, error) {
	if headers(own).Get("Authorization") != "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		token, err := tokens.Token(ctx)
		if errors.Is(err, login.ErrNoLogin) {
			return "", nil // the server may want none, and says so if it does
		}
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.token != token { // which the server can say again, as it can any secret
				s.token, s.hide = token, hider(append(slices.Clip(own), secret{"Authorization", token}))
			}
		}
		return token, err
	}
}

// speak starts the program and greets it, a second time where it cannot be asked for its era.
func (s *server) speak(ctx context.Context, conn *connection, secrets []secret, o mcpclient.Options) (err error) {
	for o.Initialize = s.asksNoMore(); ; o.Initialize = true {
		if conn.process, err = s.launch(secrets); err != nil {
			return err
		}
		if conn.client, err = mcpclient.Connect(ctx, conn.process, o); err == nil {
			conn.holds = s.def.Writes
			return nil
		}
		ended := conn.end(err)
		if !errors.Is(err, mcpclient.ErrProbed) || o.Initialize {
			return ended
		}
		s.mu.Lock()
		s.initialize = true
		s.mu.Unlock()
	}
}

func (s *server) hider() *strings.Replacer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hide
}

func (s *server) asksNoMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialize
}

// end ends the connection, waits until nothing is left of it, and returns what it ended for, with what is known of the program's end.
func (c *connection) end(why error) error {
	if c.client != nil {
		c.client.Close()
	}
	if c.process == nil {
		return why
	}
	_ = c.process.Close() // closing it twice is an error that says nothing
	<-c.process.gone
	if errors.Is(why, mcpclient.ErrEnded) || errors.Is(why, mcpclient.ErrProbed) {
		return c.process.ending()
	}
	if last := c.process.printed.lastLine(); last != "" && why != nil {
		return fmt.Errorf("%w; the last that it wrote to standard error: %s", why, last)
	}
	return why
}

func (c *connection) pid() int {
	if c.process == nil {
		return 0
	}
	return c.process.service.PID()
}
