package login_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient/login"
)

// world is a server and its authorization server, in one place.
type world struct {
	*httptest.Server
	t         *testing.T
	mu        sync.Mutex
	challenge string         // for the well-known places where it is ""
	resource  map[string]any // nil: there is no metadata
	issuer    map[string]any
	answer    url.Values // what is changed in the answer to the browser
	grant     map[string]any
	status    int
	asked     url.Values   // by the browser
	tokens    []url.Values // requests for them
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	w.resource = map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL}, "scopes_supported": []string{"a", "b"}}
	w.issuer = map[string]any{
		"issuer": w.URL, "authorization_endpoint": w.URL + "/authorize?keep=1", "token_endpoint": w.URL + "/token", "registration_endpoint": w.URL + "/register",
		"code_challenge_methods_supported": []string{"plain", "S256"}, "authorization_response_iss_parameter_supported": true, "scopes_supported": []string{"offline_access"},
	}
	w.answer = url.Values{}
	w.grant = map[string]any{"access_token": "first", "token_type": "bearer", "expires_in": 3600, "refresh_token": "r1"}
	return w
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	send := func(v any) {
		if v == nil || fmt.Sprint(v) == "map[]" {
			http.NotFound(out, r)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		check.NoError(w.t, json.NewEncoder(out).Encode(v))
	}
	switch r.URL.Path {
	case "/mcp":
		out.Header().Set("WWW-Authenticate", w.challenge)
		out.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource", "/elsewhere":
		send(w.resource)
	case "/.well-known/openid-configuration":
		send(w.issuer)
	case "/register":
		var asked map[string]any
		check.NoError(w.t, json.NewDecoder(r.Body).Decode(&asked))
		check.That(w.t, asked["application_type"] == "native" && asked["token_endpoint_auth_method"] == "none" && asked["client_name"] == "orchestra-mcp", "registered %v", asked)
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusCreated)
		send(map[string]any{"client_id": "registered"})
	case "/authorize":
		w.asked = r.URL.Query()
		q := url.Values{"code": {"the code"}, "state": {w.asked.Get("state")}, "iss": {w.URL}}
		for name, values := range w.answer {
			q[name] = values
			if values == nil {
				delete(q, name)
			}
		}
		http.Redirect(out, r, w.asked.Get("redirect_uri")+"?"+q.Encode(), http.StatusFound)
	case "/token":
		check.NoError(w.t, r.ParseForm())
		if user, password, is := r.BasicAuth(); is {
			r.PostForm.Set("basic", user+":"+password)
		}
		w.tokens = append(w.tokens, r.PostForm)
		if w.status != 0 {
			out.Header().Set("Content-Type", "application/json")
			out.WriteHeader(w.status)
			fmt.Fprint(out, `{"error":"invalid_grant","error_description":"gone"}`)
			return
		}
		send(w.grant)
	default:
		http.NotFound(out, r)
	}
}

func (w *world) options() login.Options {
	return login.Options{Server: w.URL + "/mcp", File: filepath.Join(w.t.TempDir(), "dir", "server.oauth"), Name: "orchestra-mcp", Show: browse(w.t)}
}

// browse is a user with a browser.
func browse(t *testing.T) func(string) error {
	return func(address string) error {
		response, err := http.Get(address)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		check.NoError(t, err)
		return nil
	}
}

func TestALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	source := login.Open(o.File, o.Server, nil)
	check.Fails(source.Token(t.Context()))(t, login.ErrNoLogin)
	check.OK(t, login.Login(t.Context(), o))
	check.Equal(t, check.Value(source.Token(t.Context()))(t), "first")
	if runtime.GOOS != "windows" {
		check.Equal(t, check.Value(os.Stat(o.File))(t).Mode().Perm(), 0o600)
	}

	q, form := w.asked, w.tokens[0]
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	check.That(t, q.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) && q.Get("code_challenge_method") == "S256" && len(form.Get("code_verifier")) >= 43,
		"asked %v, then %v", q, form)
	check.That(t, q.Get("scope") == "a b offline_access" && q.Get("resource") == o.Server && q.Get("keep") == "1" && q.Get("client_id") == "registered" &&
		strings.HasPrefix(q.Get("redirect_uri"), "http://127.0.0.1:"), "asked %v", q)
	check.That(t, form.Get("code") == "the code" && form.Get("resource") == o.Server && form.Get("client_id") == "registered" && form.Get("redirect_uri") == q.Get("redirect_uri"), "got %v", form)

	check.Fails(login.Open(o.File, w.URL+"/other", nil).Token(t.Context()))(t, login.ErrNoLogin, "for another address")
	check.OK(t, os.Chmod(o.File, 0o644))
	_, err := source.Token(t.Context())
	check.That(t, runtime.GOOS == "windows" || err != nil && !strings.Contains(err.Error(), "first"), "a file that others can read: %v", err)
	check.OK(t, os.Remove(o.File))
	check.Fails(source.Token(t.Context()))(t, login.ErrNoLogin)
}

func TestWhatAServerNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.challenge = `Basic realm="x, Bearer scope=no", Bearer realm="a \"b", resource_metadata="` + w.URL + `/elsewhere" , scope="c d"`
	o := w.options()
	o.ClientID, o.ClientSecret = "mine", "s cret"
	delete(w.issuer, "registration_endpoint")
	check.OK(t, login.Login(t.Context(), o))
	check.Equal(t, w.asked.Get("scope"), "c d offline_access")
	check.Equal(t, w.tokens[0].Get("basic"), "mine:s+cret")

	w.resource, w.challenge = nil, ""
	w.issuer["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	check.OK(t, login.Login(t.Context(), o))
	check.That(t, w.asked.Get("resource") == o.Server && w.tokens[1].Get("client_secret") == "s cret", "without metadata: %v, %v", w.asked, w.tokens[1])
}

func TestLoginsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, o *login.Options){
		"another resource":        func(w *world, _ *login.Options) { w.resource["resource"] = "https://other.example/mcp" },
		"a resource beside":       func(w *world, _ *login.Options) { w.resource["resource"] = w.URL + "/mc" },
		"no authorization server": func(w *world, _ *login.Options) { w.resource["authorization_servers"] = []string{} },
		"another issuer":          func(w *world, _ *login.Options) { w.issuer["issuer"] = "https://other.example" },
		"a plain issuer elsewhere": func(w *world, _ *login.Options) {
			w.resource["authorization_servers"] = []string{"http://other.example"}
		},
		"no PKCE":                  func(w *world, _ *login.Options) { w.issuer["code_challenge_methods_supported"] = []string{"plain"} },
		"a plain token endpoint":   func(w *world, _ *login.Options) { w.issuer["token_endpoint"] = "http://other.example/token" },
		"a script as endpoint":     func(w *world, _ *login.Options) { w.issuer["authorization_endpoint"] = "javascript:alert(1)" },
		"a file as endpoint":       func(w *world, _ *login.Options) { w.issuer["authorization_endpoint"] = "file:///etc/passwd" },
		"no registration":          func(w *world, _ *login.Options) { delete(w.issuer, "registration_endpoint") },
		"no issuer in the answer":  func(w *world, _ *login.Options) { w.answer["iss"] = nil },
		"the wrong issuer":         func(w *world, _ *login.Options) { w.answer["iss"] = []string{"https://other.example"} },
		"an error":                 func(w *world, _ *login.Options) { w.answer["error"] = []string{"access_denied"} },
		"no code":                  func(w *world, _ *login.Options) { w.answer["code"] = nil },
		"no token":                 func(w *world, _ *login.Options) { delete(w.grant, "access_token") },
		"a token for a header":     func(w *world, _ *login.Options) { w.grant["access_token"] = "a\r\nX: y" },
		"another kind of token":    func(w *world, _ *login.Options) { w.grant["token_type"] = "DPoP" },
		"an error of the endpoint": func(w *world, _ *login.Options) { w.status = http.StatusBadRequest },
		"a user in the address":    func(_ *world, o *login.Options) { o.Server = strings.Replace(o.Server, "http://", "http://u:p@", 1) },
		"a plain server elsewhere": func(_ *world, o *login.Options) { o.Server = "http://other.example/mcp" },
		"nothing to show it with":  func(_ *world, o *login.Options) { o.Show = func(string) error { return errors.New("no browser") } },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.options()
			change(w, &o)
			err := login.Login(t.Context(), o)
			check.That(t, err != nil, "it went through")
			_, stat := os.Stat(o.File)
			check.Is(t, stat, os.ErrNotExist)
		})
	}
}

// TestAnAnswerOfAnotherPageDoesNotEndTheLogin: any page can ask a port of this machine.
func TestAnAnswerOfAnotherPageDoesNotEndTheLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Show = func(address string) error {
		at := check.Value(url.Parse(address))(t)
		for _, query := range []string{"", "?code=evil&state=guess", "?error=x"} {
			response := check.Value(http.Get(at.Query().Get("redirect_uri") + query))(t)
			response.Body.Close()
			check.Equal(t, response.StatusCode, http.StatusBadRequest)
		}
		return browse(t)(address)
	}
	check.OK(t, login.Login(t.Context(), o))
	check.Equal(t, w.tokens[0].Get("code"), "the code")

	ctx, cancel := context.WithCancel(t.Context())
	o.Show = func(string) error { cancel(); return nil }
	check.Is(t, login.Login(ctx, o), context.Canceled)
}

func TestTokensAreRefreshedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	w.grant["expires_in"] = "1"
	check.OK(t, login.Login(t.Context(), o))
	w.grant = map[string]any{"access_token": "second", "token_type": "Bearer", "expires_in": 3600}
	var all sync.WaitGroup
	for range 4 {
		source := login.Open(o.File, o.Server, nil) // as processes do
		for range 4 {
			all.Go(func() {
				token, err := source.Token(t.Context())
				check.That(t, err == nil && token == "second", "got %s, %v", token, err)
			})
		}
	}
	all.Wait()
	check.Equal(t, len(w.tokens), 2)
	form := w.tokens[1]
	check.That(t, form.Get("refresh_token") == "r1" && form.Get("resource") == o.Server && form.Get("client_id") == "registered", "got %v", form)
	check.That(t, strings.Contains(string(check.Value(os.ReadFile(o.File))(t)), `"r1"`), "the refresh token that was not replaced is lost")

	expire := func() {
		text := check.Value(os.ReadFile(o.File))(t)
		var k map[string]any
		check.OK(t, json.Unmarshal(text, &k))
		k["expires"] = "2001-01-01T00:00:00Z"
		check.OK(t, os.WriteFile(o.File, check.Value(json.Marshal(k))(t), 0o600))
	}
	expire()
	source := login.Open(o.File, o.Server, nil)
	w.status = http.StatusServiceUnavailable
	_, err := source.Token(t.Context())
	check.That(t, err != nil && !errors.Is(err, login.ErrNoLogin), "while the server is away: %v", err)
	w.status = http.StatusBadRequest
	check.Fails(source.Token(t.Context()))(t, login.ErrNoLogin)
}

func FuzzBearer(f *testing.F) {
	f.Add(`Bearer realm="a", scope="b c"`)
	f.Add(`Negotiate abc==, Bearer a=b,c = "d\"`)
	f.Fuzz(func(t *testing.T, header string) {
		for name := range login.Bearer(header) {
			check.That(t, name == strings.ToLower(name), "%q", name)
		}
	})
}
