package server

import (
	"context"
	"net"
	"net/http"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// OperatorPrincipal is whom the server's single bearer token belongs to.
const OperatorPrincipal = "operator"

// HTTPOptions say who may speak to the server over HTTP.
type HTTPOptions struct {
	// Token is the bearer token that every request must carry.
	Token string
	// Names are further names of this server, which clients may send as Host beside those in the settings, without a port.
	Names []string
	// SSE also serves the transport of revision 2024-11-05 at /sse and /message.
	SSE bool
	// Authenticate replaces Token where an embedder knows several principals:
	// what one began, no other can use, read or cancel.
	Authenticate func(token string) (principal string, ok bool)
}

// HTTPHandler serves the protocol at /mcp, metrics at /metrics, and without a token /healthz and /readyz. The handler must be closed by Serve or by the caller.
func (s *Server) HTTPHandler(o HTTPOptions) (http.Handler, error) { return s.httpHandler(o) }

func (s *Server) httpHandler(o HTTPOptions) (*mcpbridge.HTTPHandler, error) {
	b, err := s.protocol()
	if err != nil {
		return nil, err
	}
	if o.Authenticate == nil {
		o.Authenticate = mcpbridge.StaticToken(o.Token, OperatorPrincipal)
	}
	if err := s.observe(true); err != nil {
		return nil, err
	}
	s.answered()
	set := s.options.Settings
	return b.HTTPHandler(mcpbridge.HTTPOptions{
		Authenticate: o.Authenticate, SSE: o.SSE, Pages: s.pages(), Status: s.status(),
		AllowedHosts: slices.Concat(o.Names, set.HTTP.AllowedHosts), AllowedOrigins: set.HTTP.AllowedOrigins,
		MaxBody: int64(set.Limits.RequestSize), RequestsPerSecond: float64(set.Limits.Rate), Burst: 4 * set.Limits.Rate,
	})
}

// ServeHTTP serves on a listener, which may be a TLS one, until ctx is done.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, o HTTPOptions) error {
	s.presence.transport, s.presence.address = "http", listener.Addr().String()
	if o.SSE {
		s.presence.transport = "sse"
	}
	handler, err := s.httpHandler(o)
	if err != nil {
		return err
	}
	return handler.Serve(ctx, listener)
}
