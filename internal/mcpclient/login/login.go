// Package login gets and keeps the OAuth tokens for an MCP server: what `orchestra-mcp servers login NAME` does.
//
// It promises that a token is only ever sent to the server that it was asked for (by the caller, who gets it for that server's
// address) and to the authorization server that gave it, both over TLS unless they are on this machine; that the flow is bound to
// this login (PKCE with S256, state, the issuer in the answer where the authorization server announces it); that nothing a
// metadata document says leads to another scheme than https; and that tokens stand in one file that is its owner's alone.
//
// It does not verify tokens, which are the server's business, and does not keep a program of the same user from reading the file.
package login

import (
	"context"
	"errors"
	"net/http"
)

// ErrNoLogin: there is no usable login, so a person has to log in.
var ErrNoLogin = errors.New("not logged in")

// Options describe a login.
type Options struct {
	// Server is the address of the MCP server.
	Server string
	// Challenge is the WWW-Authenticate header of its 401 or 403 (mcpclient.AuthError), "" to ask the server for it.
	Challenge string
	// File keeps the tokens; it and its directory are made.
	File string
	// Name is what the authorization server shows to the user as the client that asks.
	Name string
	// ClientID and ClientSecret are those of a client that was registered beforehand; without them one is registered.
	ClientID, ClientSecret string
	// Scopes are asked for beside those that the server names.
	Scopes []string
	// Show gets the address that the user has to open in a browser: to print it, or to open it.
	Show func(address string) error
	// HTTP makes the requests, nil for one of our own.
	HTTP *http.Client
}

// Login takes a user through the authorization of a server and keeps the tokens. It waits for the user until ctx is done.
func Login(ctx context.Context, o Options) error { return nil }

// Logout forgets the tokens; the file is gone afterwards.
func Logout(file string) error { return nil }

// Source gives the access token of a server, refreshed when it is due. Several processes can share its file.
type Source struct{}

// Open reads no file yet: a login that comes later counts. The tokens of another server's address are not used.
func Open(file, server string, client *http.Client) *Source { return nil }

// Token fits mcpclient.HTTPOptions.Token. It is ErrNoLogin where there is none, or where it cannot be refreshed.
func (s *Source) Token(ctx context.Context) (string, error) { return "", nil }
