// Package oauth judges access tokens of one OAuth 2.1 authorization server, as the resource server that they are for.
//
// # Promise
//
// A token is taken only if it is a JWT that the issuer has signed with a key that it publishes, by an asymmetric
// algorithm, for this resource, for this time, as an access token (RFC 9068, and what issuers send that are older than it),
// with a scope that gives a role. The claims of a token that is not verified decide nothing but that it is refused. No token
// is kept, sent anywhere, or part of an error.
//
// # Keys
//
// The issuer is asked for the first token that could be good, not before. Its metadata (RFC 8414, then OpenID Connect
// Discovery) must name it exactly as the settings do. Keys are used for at most keyLife without having been fetched again,
// which is how long tokens are taken while the issuer is away; after refreshAfter they are fetched again when one is
// needed, as they are for a key that is not known. Whatever is sent, the issuer is asked once in retryAfter at most, by one
// request at a time, whose answers are bounded in size and time. Redirects are not followed.
//
// # Non-promise
//
// A token that the issuer has revoked is good until it expires: introspection (RFC 7662) is not used, so opaque tokens are
// none. Tokens that are bound to a key of the client (DPoP, mutual TLS) are refused, since that key is not looked for.
package oauth

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
)

// scopePrefix begins the scopes that give a role.
const scopePrefix = "orchestra:"

// ScopeOf is the scope that gives a role.
func ScopeOf(role auth.Role) string { return scopePrefix + string(role) }

// Options are what an Issuer is made of.
type Options struct {
	// Issuer is the authorization server's identifier, as its tokens and its metadata have it, and Resource ours: the audience
	// that a token must have.
	Issuer, Resource string
	Logger           zerolog.Logger
	// Clock is for tests; nil is time.Now.
	Clock func() time.Time
	// Client asks the issuer; nil is one with the system's roots and proxy. Its redirects and time limit are ours.
	Client *http.Client
}

// Issuer judges the tokens of one authorization server. Its methods may be called at the same time.
type Issuer struct {
	url, authority string
	audiences      []string
	now            func() time.Time
	keys           *keys
}

// New checks the identifiers. It asks nobody.
func New(o Options) (*Issuer, error) {
	if err := auth.CheckURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("auth.issuer %w", err)
	}
	if err := auth.CheckURL(o.Resource); err != nil {
		return nil, fmt.Errorf("auth.resource %w", err)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	_, authority, _ := strings.Cut(o.Issuer, "://")
	return &Issuer{
		url: o.Issuer, authority: strings.TrimSuffix(authority, "/"), audiences: audiences(o.Resource), now: o.Clock,
		keys: newKeys(o),
	}, nil
}

// audiences are a resource, and it as URL libraries write one without a path: they give it a slash.
func audiences(resource string) []string {
	if u, err := url.Parse(resource); err == nil && (u.Path == "" || u.Path == "/") {
		bare := strings.TrimSuffix(resource, "/")
		return []string{bare, bare + "/"}
	}
	return []string{resource}
}
