package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// browser is a terminal on which an address is printed, and a person who opens it.
type browser struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen bool
}

func (b *browser) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(text)
	for line := range strings.Lines(b.text.String()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http://") && !b.seen {
			b.seen = true
			go func() {
				if answer, err := http.Get(line); err == nil {
					answer.Body.Close()
				}
			}()
		}
	}
	return len(text), nil
}

// authorizing is a server that wants a login, and gives it.
func authorizing(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	answer := func(path, form string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasPrefix(path, "POST /register") {
				w.WriteHeader(http.StatusCreated)
			}
			fmt.Fprint(w, strings.ReplaceAll(form, "SERVER", server.URL))
		})
	}
	answer("/.well-known/oauth-protected-resource", `{"resource":"SERVER/mcp","authorization_servers":["SERVER"]}`)
	answer("/.well-known/oauth-protected-resource/mcp", `{"resource":"SERVER/mcp","authorization_servers":["SERVER"]}`)
	answer("/.well-known/oauth-authorization-server", `{"issuer":"SERVER","authorization_endpoint":"SERVER/authorize","token_endpoint":"SERVER/token",`+
		`"registration_endpoint":"SERVER/register","response_types_supported":["code"],"code_challenge_methods_supported":["S256"],"grant_types_supported":["authorization_code"]}`)
	answer("POST /register", `{"client_id":"registered","redirect_uris":[]}`)
	answer("POST /token", `{"access_token":"t0ken","token_type":"Bearer","expires_in":3600}`)
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}, "iss": {server.URL}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	return server
}

// TestServersLogin: a person who lets us use a server leaves its tokens in a file that nobody else reads, and on no screen.
func TestServersLogin(t *testing.T) {
	home(t)
	server, dir := authorizing(t), t.TempDir()
	userDir := settings.UserDir(os.Environ())
	check.OK(t, os.MkdirAll(userDir, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(userDir, settings.FileName), []byte("servers: [{name: remote, url: '"+server.URL+"/mcp'}]\n"), 0o600))
	var out bytes.Buffer
	var errs browser
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	code := execute(t.Context(), []string{"servers", "login", "remote"}, streams{in: strings.NewReader(""), out: &out, err: &errs}, env)
	check.Must(t, code == exitDone && strings.Contains(out.String(), "Logged in to remote."), "%d: %s %s", code, out.String(), errs.text.String())
	file := filepath.Join(userDir, "servers", "remote.oauth")
	text := check.Value(os.ReadFile(file))(t)
	info := check.Value(os.Stat(file))(t)
	check.That(t, bytes.Contains(text, []byte("t0ken")) && info.Mode().Perm()&0o077 == 0, "%s: %s", info.Mode(), text)
	check.That(t, !strings.Contains(out.String()+errs.text.String(), "t0ken"), "the token is shown")
}
