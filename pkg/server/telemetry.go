package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/telemetry"
)

// observed is what a server tells of its calls. It begins with the first transport that asks for it, not when a workspace
// is opened: commands and hooks of clients open one too, and end before anything could be sent.
type observed struct {
	once sync.Once
	err  error // why it could not begin
	by   atomic.Pointer[telemetry.Telemetry]
}

// headersVariable is the environment's name for what a collector wants to see. It counts only where the settings have an
// endpoint, and no command gets it.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

// observe begins, once, where the settings name an endpoint or somebody can come to read.
func (s *Server) observe(scraped bool) error {
	endpoint := string(s.options.Settings.Telemetry.Endpoint)
	if endpoint == "" && !scraped {
		return nil
	}
	s.observed.once.Do(func() {
		o := telemetry.Options{
			Endpoint: endpoint, Scraped: scraped, Paths: s.options.Settings.Telemetry.Paths, Version: s.options.Version, Instance: s.presence.id,
			Pending: s.pending, Running: s.running, Logger: s.log,
		}
		if endpoint != "" {
			o.Headers = os.Getenv(headersVariable)
		}
		for _, spec := range s.engine.Specs() {
			o.Tools = append(o.Tools, spec.Name)
		}
		t, err := telemetry.Start(o)
		if s.observed.err = err; err == nil {
			s.observed.by.Store(t)
		}
	})
	return s.observed.err
}

// flushTime bounds what the end of a server waits for a collector: little, for stdio has to end within 2 seconds in all.
const flushTime = 250 * time.Millisecond

func (s *Server) endObserved() error {
	t := s.observed.by.Swap(nil)
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn().Err(err).Msg("telemetry did not end cleanly")
	}
	return nil // what became of calls does not hang on it
}

// watch implements hooks.Options.Watch.
func (s *Server) watch(ctx context.Context, call *hooks.Call, behind hooks.Watch) (context.Context, hooks.Watch) {
	if t := s.observed.by.Load(); t != nil {
		return t.Begin(ctx, call, behind)
	}
	return ctx, nil
}

// traced gives a client's call the trace that the client says it is a part of.
func (s *Server) traced(ctx context.Context, call mcpbridge.Call) context.Context {
	if t := s.observed.by.Load(); t != nil {
		transport := "pipe"
		if call.Caller.Principal != "" { // whom no pipe tells
			transport = "tcp"
		}
		return t.Arrived(ctx, telemetry.Incoming{
			Transport: transport, TraceParent: call.Trace.Parent, TraceState: call.Trace.State, Protocol: call.Caller.ProtocolVersion,
		})
	}
	return ctx
}

// recorded is ledger.Options.Written.
func (s *Server) recorded(records int, took time.Duration) {
	if t := s.observed.by.Load(); t != nil {
		t.Recorded(records, took)
	}
}

// journaled is journal.Options.Written.
func (s *Server) journaled(took time.Duration) {
	if t := s.observed.by.Load(); t != nil {
		t.Journaled(took)
	}
}

// pending is how many requests wait for the operator; what cannot be read counts as none.
func (s *Server) pending() int {
	waiting, err := s.asks.Store.Pending()
	if err != nil {
		s.log.Warn().Err(err).Msg("the requests that wait cannot be counted")
	}
	return len(waiting)
}

func (s *Server) running() int {
	if s.runner == nil {
		return 0
	}
	return s.runner.Running()
}

// pages are what the HTTP transports serve beside the protocol, to whoever has a token.
func (s *Server) pages() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"/metrics": func(w http.ResponseWriter, r *http.Request) {
		if t := s.observed.by.Load(); t != nil {
			t.ServeMetrics(w, r)
			return
		}
		http.Error(w, "the server is ending", http.StatusServiceUnavailable)
	}}
}

// status are what they say to everybody.
func (s *Server) status() map[string]func() bool {
	return map[string]func() bool{"/healthz": func() bool { return true }, "/readyz": s.ready}
}

// ready reports whether a change could be made here: its intents can be read, and the ledger and the journal written. It
// changes nothing.
func (s *Server) ready() bool {
	if _, err := s.intents.Load(); err != nil {
		return false
	}
	return s.ledger.Writable(context.Background()) == nil && s.journal.Usable() == nil
}
