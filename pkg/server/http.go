package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/auth/oauth"
)

// OperatorPrincipal is whom auth.token, or the token in its place, belongs to.
const OperatorPrincipal = auth.DefaultName

// HTTPOptions say who may speak to the server over HTTP.
type HTTPOptions struct {
	// Token is the bearer token of the operator; "" for none. The settings' auth.tokens and auth.issuer let in others.
	Token string
	// Resource is the URL of /mcp, or of the server, by which clients know it, where auth.resource does not say it. Needed for
	// auth.issuer alone.
	Resource string
	// Names are further names of this server, which clients may send as Host beside those in the settings, without a port.
	Names []string
	// SSE also serves the transport of revision 2024-11-05 at /sse and /message.
	SSE bool
	// Authenticate replaces all of these and the settings where an embedder knows its principals: what one began, no other
	// can use, read or cancel. Names of tokens have no @.
	Authenticate auth.Authenticate
}

// HTTPHandler serves the protocol at /mcp, metrics at /metrics, and without a token /healthz and /readyz. The handler must be closed by Serve or by the caller.
func (s *Server) HTTPHandler(o HTTPOptions) (http.Handler, error) { return s.httpHandler(o) }

func (s *Server) httpHandler(o HTTPOptions) (*mcpbridge.HTTPHandler, error) {
	b, err := s.protocol()
	if err != nil {
		return nil, err
	}
	var protected *mcpbridge.Protected
	if o.Authenticate == nil {
		if o.Authenticate, protected, err = s.authentication(o); err != nil {
			return nil, err
		}
	}
	if protected != nil {
		if u, err := url.Parse(protected.Resource); err == nil {
			o.Names = append(slices.Clone(o.Names), u.Hostname())
		}
	}
	if err := s.observe(true); err != nil {
		return nil, err
	}
	s.answered()
	set := s.options.Settings
	return b.HTTPHandler(mcpbridge.HTTPOptions{
		Authenticate: identified(o.Authenticate), Protected: protected, SSE: o.SSE, Pages: s.pages(), Status: s.status(),
		AllowedHosts: slices.Concat(o.Names, set.HTTP.AllowedHosts), AllowedOrigins: set.HTTP.AllowedOrigins,
		MaxBody: int64(set.Limits.RequestSize), RequestsPerSecond: float64(set.Limits.Rate), Burst: 4 * set.Limits.Rate,
	})
}

// authentication is what the settings say, and what clients are told of it.
func (s *Server) authentication(o HTTPOptions) (auth.Authenticate, *mcpbridge.Protected, error) {
	set := s.options.Settings.Auth
	var tokens []auth.Token
	if o.Token != "" {
		tokens = append(tokens, auth.Token{Name: OperatorPrincipal, Token: o.Token, Role: auth.Operator})
	}
	for _, t := range set.Tokens {
		tokens = append(tokens, t.Auth())
	}
	fixed, err := auth.NewTokens(tokens, s.options.Clock)
	if err != nil {
		return nil, nil, fmt.Errorf("auth.tokens: %w", err)
	}
	for _, t := range tokens {
		if t.Expired(s.options.Clock()) {
			s.log.Warn().Str("name", t.Name).Time("expired", t.Expires).Msg("a token of auth.tokens has expired: nobody can use it")
		}
	}
	if set.Issuer == "" {
		return fixed.Authenticate, nil, nil
	}
	resource := set.Resource
	if resource == "" {
		resource = o.Resource
	}
	if resource == "" {
		return nil, nil, errors.New("auth.issuer needs auth.resource, the address of /mcp by which clients know this server")
	}
	issuer, err := oauth.New(oauth.Options{Issuer: set.Issuer, Resource: resource, Logger: s.log, Clock: s.options.Clock})
	if err != nil {
		return nil, nil, err
	}
	return fixed.Or(issuer.Authenticate), &mcpbridge.Protected{Resource: resource, Issuer: set.Issuer, Scope: oauth.ScopeOf(auth.Agent)}, nil
}

// identified has the transport say why a token lets nobody in.
func identified(authenticate auth.Authenticate) func(context.Context, string) (mcpbridge.Identity, error) {
	return func(ctx context.Context, token string) (mcpbridge.Identity, error) {
		who, err := authenticate(ctx, token)
		if err == nil {
			return mcpbridge.Identity{Principal: who.Name, Role: string(who.Role), Unasked: !who.Role.Answers()}, nil
		}
		denial := &mcpbridge.Denial{Status: http.StatusUnauthorized, Code: "invalid_token", Text: auth.ErrUnknown.Error()}
		if said, ok := errors.AsType[*auth.Rejected](err); ok {
			denial.Text = said.Text
		}
		switch {
		case errors.Is(err, auth.ErrMissing):
			denial.Code = ""
		case errors.Is(err, auth.ErrScope):
			denial.Status, denial.Code, denial.Scope = http.StatusForbidden, "insufficient_scope", oauth.ScopeOf(auth.Agent)
		case errors.Is(err, auth.ErrUnavailable):
			denial.Status = http.StatusServiceUnavailable
		}
		return mcpbridge.Identity{}, denial
	}
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
