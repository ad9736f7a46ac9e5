package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient/login"
)

// TestLoginAtAServer has our own client log in at an authorization server that we did not write, for a server of its own.
func TestLoginAtAServer(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, "first", "0")
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
			check.NoError(t, json.NewEncoder(w).Encode(args{"resource": site.URL + "/mcp", "authorization_servers": []string{i.url}, "scopes_supported": []string{"orchestra:agent"}}))
		case len(r.Header.Get("Authorization")) < 100: // JWTs are longer
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+site.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"","data":{"supported":["2027-01-01"]}}}`)
			check.NoError(t, err)
		}
	}))
	defer site.Close()
	o := login.Options{Server: site.URL + "/mcp", File: filepath.Join(t.TempDir(), "server.oauth"), Name: "orchestra-mcp", Show: func(address string) error {
		browser := http.Client{Jar: check.Value(cookiejar.New(nil))(t)}
		response := check.Value(browser.Get(address))(t)
		defer response.Body.Close()
		page := check.Value(io.ReadAll(response.Body))(t)
		check.That(t, strings.Contains(string(page), "You are logged in"), "the browser sees %s", page)
		return nil
	}}
	source := login.Open(o.File, o.Server, nil)
	connect := func() error {
		_, err := mcpclient.ConnectHTTP(t.Context(), o.Server, mcpclient.HTTPOptions{Token: source.Token}, mcpclient.Options{Name: "orchestra-mcp", Version: "1"})
		return err
	}
	check.Is(t, connect(), login.ErrNoLogin)
	check.OK(t, login.Login(t.Context(), o))
	check.Is(t, connect(), mcpclient.ErrForeign, "with a token the server answers")
}
