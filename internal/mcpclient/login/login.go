// Package login gets and keeps the OAuth tokens for an MCP server: what `orchestra-mcp servers login NAME` does.
//
// It promises that a token is sent only to the authorization server that gave it, and is given only for the address of the server
// that it was asked for; that everything goes over TLS, but between programs of this machine where the server itself is one; that
// the flow is bound to this login (PKCE with S256, state, and the issuer where the authorization server names itself); and that
// tokens stand in one file that is its owner's alone, and in no error.
//
// It does not verify tokens, which are the server's business, and does not keep a program of the same user from reading the file.
// It is for people with a browser on this machine: the answer comes to a port of the loopback.
//
// The flow is that of the protocol's revision 2026-07-28: RFC 9728 and, for servers without it, the server's own origin as the
// issuer (2025-03-26); RFC 8414 or OpenID Connect Discovery; a client that was registered beforehand, or RFC 7591; RFC 7636,
// 8252, 8707 and 9207.
package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ErrNoLogin: there is no usable login, so a person has to log in.
var ErrNoLogin = errors.New("not logged in")

// Options describe a login.
type Options struct {
	// Server is the address of the MCP server.
	Server string
	// File keeps the tokens; it and its directory are made.
	File string
	// Name is what the authorization server shows to the user as the client that asks.
	Name string
	// ClientID and ClientSecret are those of a client that was registered beforehand; without them one is registered.
	ClientID, ClientSecret string
	// Show gets the address that the user has to open in a browser: to print it, or to open it.
	Show func(address string) error
	// HTTP makes the requests, nil for one of our own. It follows no redirections, whatever it says.
	HTTP *http.Client
}

// Login takes a user through the authorization of a server and keeps the tokens. It waits for the user until ctx is done.
func Login(ctx context.Context, o Options) error {
	w, err := newWeb(o.HTTP, o.Server)
	if err != nil {
		return err
	}
	resource, err := w.discover(ctx)
	if err != nil {
		return err
	}
	issuer, err := w.metadata(ctx, resource)
	if err != nil {
		return err
	}
	back, err := listen(issuer)
	if err != nil {
		return err
	}
	defer back.close()
	client, err := w.client(ctx, o, issuer, back.address)
	if err != nil {
		return err
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	scope := scopes(resource, issuer)
	back.begin(state)
	if err := o.Show(authorization(issuer, client, back.address, state, verifier, scope, resource.Resource)); err != nil {
		return err
	}
	code, err := back.wait(ctx)
	if err != nil {
		return err
	}
	k := kept{
		Server: o.Server, Issuer: issuer.Issuer, TokenEndpoint: issuer.TokenEndpoint, Resource: resource.Resource, Scope: scope, registered: client,
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.address}, "code_verifier": {verifier}}
	if err := w.token(ctx, &k, form); err != nil {
		return err
	}
	return k.save(o.File)
}

// authorization is the address at which the user allows it.
func authorization(i *issuer, c registered, back, state, verifier, scope, resource string) string {
	sum := sha256.Sum256([]byte(verifier))
	at, _ := url.Parse(i.AuthorizationEndpoint) // was checked
	q := at.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": c.ClientID, "redirect_uri": back, "state": state, "scope": scope, "resource": resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	at.RawQuery = q.Encode()
	return at.String()
}

// scopes are those of the challenge or, without one, those of the metadata, and the one for tokens that last, where the
// authorization server has it.
func scopes(r *resource, i *issuer) string {
	wanted := r.challenged
	if wanted == nil {
		wanted = r.Scopes
	}
	if slices.Contains(i.Scopes, "offline_access") {
		wanted = append(slices.Clone(wanted), "offline_access")
	}
	var once []string
	for _, scope := range wanted {
		if !slices.Contains(once, scope) {
			once = append(once, scope)
		}
	}
	return strings.Join(once, " ")
}

// registered is a client as the authorization server knows it.
type registered struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	AuthMethod   string `json:"token_endpoint_auth_method,omitempty"`
}

// client is the one that was registered beforehand, or a new one.
func (w *web) client(ctx context.Context, o Options, i *issuer, back string) (registered, error) {
	if o.ClientID != "" {
		c := registered{ClientID: o.ClientID, ClientSecret: o.ClientSecret, AuthMethod: "none"}
		if o.ClientSecret != "" {
			c.AuthMethod = "client_secret_basic"
			if len(i.AuthMethods) > 0 && !slices.Contains(i.AuthMethods, c.AuthMethod) {
				c.AuthMethod = "client_secret_post"
			}
		}
		return c, nil
	}
	if i.RegistrationEndpoint == "" {
		return registered{}, fmt.Errorf("%s registers no clients by itself: register one there, with the redirection %s, and log in with its client id", i.Issuer, back)
	}
	var c registered
	err := w.post(ctx, i.RegistrationEndpoint, map[string]any{
		"client_name": o.Name, "redirect_uris": []string{back}, "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none", "application_type": "native",
	}, &c)
	if err == nil && c.ClientID == "" {
		err = errors.New("it gave no client id")
	}
	if err != nil {
		return registered{}, fmt.Errorf("register at %s: %w", i.Issuer, err)
	}
	return c, nil
}
