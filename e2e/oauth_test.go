package e2e_test

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

const (
	// issuerNode is what oidc-provider says that it runs on.
	issuerNode = 22
	allScopes  = "orchestra:agent orchestra:operator orchestra:auditor"
)

// issuer is a process of oauth/issuer.mjs, with the key that it signs with.
type issuer struct {
	t   *testing.T
	url string
	key jose.JSONWebKey
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startIssuer starts one with a new key of that id, at a port; "0" is any.
func startIssuer(t *testing.T, kid, port string) *issuer {
	t.Helper()
	program := needsNode(t, issuerNode)
	if _, err := os.Stat(filepath.Join("oauth", "node_modules", "oidc-provider")); err != nil {
		missing(t, "the authorization server is not installed: run `npm ci` in e2e/oauth")
	}
	private := check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	i := &issuer{t: t, key: jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: "RS256", Use: "sig"}}
	config := check.Value(json.Marshal(args{
		"port": port, "scopes": allScopes, "jwks": jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key}},
		"clients": []args{
			{"client_id": "ci", "client_secret": "secret", "grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}},
			{"client_id": "known", "token_endpoint_auth_method": "none", "redirect_uris": []string{"http://127.0.0.1:9/callback"}},
		},
	}))(t)
	i.cmd = exec.Command(program, filepath.Join("oauth", "issuer.mjs"), string(config))
	var err error
	i.in, err = i.cmd.StdinPipe()
	check.OK(t, err)
	out, err := i.cmd.StdoutPipe()
	check.OK(t, err)
	check.OK(t, i.cmd.Start())
	t.Cleanup(i.stop)
	i.url = strings.TrimSpace(check.Value(bufio.NewReader(out).ReadString('\n'))(t))
	return i
}

func (i *issuer) stop() {
	if i.cmd.ProcessState == nil {
		i.in.Close()
		_ = i.cmd.Wait()
	}
}

// forClient is a token of the grant client_credentials.
func (i *issuer) forClient(resource, scope string) string {
	i.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {scope}}
	r := check.Value(http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.url+"/token", strings.NewReader(form.Encode())))(i.t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("ci", "secret")
	response := check.Value(http.DefaultClient.Do(r))(i.t)
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	check.OK(i.t, json.NewDecoder(response.Body).Decode(&answer))
	check.Must(i.t, answer.Token != "", "the issuer gives no token: %s", answer.Error)
	return answer.Token
}

// sign makes a token with the issuer's own key, or another.
func (i *issuer) sign(algorithm jose.SignatureAlgorithm, key any, claims args) string {
	i.t.Helper()
	signer := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("at+jwt")))(i.t)
	return check.Value(check.Value(signer.Sign(check.Value(json.Marshal(claims))(i.t)))(i.t).CompactSerialize())(i.t)
}

// tried is how the server answered a request with a token.
type tried struct {
	status          int
	challenge, text string
}

// try lists the tools with a token, "" for none.
func try(t *testing.T, at, token string, change ...func(*http.Request)) tried {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}}}`
	r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body)))(t)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": modern, "Mcp-Method": "tools/list",
	} {
		r.Header.Set(name, value)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, c := range change {
		c(r)
	}
	response := check.Value(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	text := check.Value(io.ReadAll(response.Body))(t)
	return tried{response.StatusCode, response.Header.Get("WWW-Authenticate"), string(text)}
}

// TestOAuth has clients that we did not write get their tokens from an authorization server that we did not write.
func TestOAuth(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, "first", "0")
	w := newWorkspace(t)
	e, log := w.serveTo("http", "ORCHESTRA_AUTH_ISSUER="+i.url)
	check.That(t, e.token == "", "beside an issuer the server makes a token that is good for everything")

	began := time.Now()
	var access, id string
	for name, d := range map[string]driver{
		"typescript1":        {SDK: 1, Transport: "http"},
		"typescript2":        {SDK: 2, Transport: "http"},
		"typescript2/modern": {SDK: 2, Transport: "http", Pin: modern},
	} {
		t.Run(name, func(t *testing.T) {
			d.URL, d.OAuth = e.url, args{}
			steps := []string{"registered", "approved", "token"}
			if d.SDK == 1 {
				d.OAuth, steps = args{"client": "known", "scope": "openid orchestra:agent"}, steps[1:] // for an ID token
			}
			client := w.drive(d)
			was := client.greeting.OAuth
			check.That(t, slices.Equal(was.Steps, steps), "it did %v", was.Steps)
			check.That(t, was.Asked["resource"] == e.url && strings.Contains(was.Asked["scope"], "orchestra:agent") && !strings.Contains(was.Asked["scope"], "operator") &&
				was.Asked["code_challenge_method"] == "S256", "it asked for %v", was.Asked)
			a := newAgent(t, client)
			session := a.Selects("INT-001")
			a.OK("write_to_file", args{"session": session, "path": "src/" + strings.ReplaceAll(name, "/", "-") + ".txt", "content": name + "\n"})
			access = was.Token
			if was.IDToken != "" {
				id = was.IDToken
			}
		})
	}
	who := `"principal":"alice@` + strings.TrimPrefix(i.url, "http://") + `"`
	check.Equal(t, len(w.records(`"kind":"mutation"`)), 3, "changes")
	check.That(t, len(w.records(who)) == len(w.records(`"id"`)), "records without %s: %v", who, w.records(`"kind"`))
	check.That(t, len(id) > 100, "the flow gave no ID token")

	ci := i.forClient(e.url, "orchestra:auditor")
	check.Equal(t, try(t, e.url, ci).status, http.StatusOK, "a token of client_credentials")
	t.Run("refused", func(t *testing.T) { i.refused(t, e.url, id) })
	t.Run("metadata", func(t *testing.T) { i.metadata(t, e.url) })
	t.Run("handles", func(t *testing.T) {
		alice := newAgent(t, w.dialGo(endpoint{e.url, access}, modern))
		other := newAgent(t, w.dialGo(endpoint{e.url, i.forClient(e.url, "orchestra:agent")}, modern))
		session := alice.Selects("INT-001")
		other.Refused("SESSION_EXPIRED", "write_to_file", args{"session": session, "path": "src/stolen.txt", "content": "x"})
	})
	t.Run("issuer away", func(t *testing.T) {
		i.stop()
		check.Equal(t, try(t, e.url, ci).status, http.StatusOK, "with keys that are fresh")
		new, _ := w.serveTo("http", "ORCHESTRA_AUTH_ISSUER="+i.url, "ORCHESTRA_AUTH_RESOURCE="+e.url)
		got := try(t, new.url, ci)
		check.That(t, got.status == http.StatusServiceUnavailable && got.challenge == "", "without keys: %+v", got)
	})
	t.Run("rotated keys", func(t *testing.T) {
		next := startIssuer(t, "second", i.url[strings.LastIndex(i.url, ":")+1:])
		fresh := next.forClient(e.url, "orchestra:agent")
		eventually(t, "the new key is known", func() bool { return try(t, e.url, fresh).status == http.StatusOK })
		got := try(t, e.url, ci)
		check.That(t, got.status == http.StatusUnauthorized && strings.Contains(got.challenge, "invalid_token"), "by a key that is published no more: %+v", got)
		t.Logf("all took %v", time.Since(began))
	})
	for _, token := range []string{access, id, ci} {
		check.That(t, !strings.Contains(log(), token) && !strings.Contains(log(), token[strings.LastIndex(token, ".")+1:]), "a token is in the log:\n%s", log())
	}
}

// refused is the table of tokens that let nobody in.
func (i *issuer) refused(t *testing.T, at, idToken string) {
	now := time.Now().Unix()
	claims := func(changes args) args {
		c := args{"iss": i.url, "sub": "mallory", "aud": at, "iat": now, "exp": now + 300, "scope": "orchestra:agent", "jti": "j", "client_id": "c"}
		for name, value := range changes {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}
		return c
	}
	own := func(changes args) string { return i.sign(jose.RS256, i.key, claims(changes)) }
	check.Equal(t, try(t, at, own(nil)).status, http.StatusOK, "what the rows are made of")
	parts := strings.Split(own(nil), ".")
	public := check.Value(x509.MarshalPKIXPublicKey(i.key.Public().Key))(t)
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	stranger := check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	var none []func(*http.Request)
	for _, row := range []struct {
		name, token string
		status      int
		says        string
		change      []func(*http.Request)
	}{
		{"no token", "", 401, `scope="orchestra:agent"`, none},
		{"wrong audience", own(args{"aud": "https://other.example/mcp"}), 401, "audience", none},
		{"wrong audience, by the issuer itself", i.forClient("https://other.example/mcp", "orchestra:agent"), 401, "audience", none},
		{"wrong issuer", own(args{"iss": "https://other.example"}), 401, "issuer", none},
		{"expired", own(args{"exp": now - 60}), 401, "expired", none},
		{"not yet valid", own(args{"nbf": now + 600}), 401, "not valid yet", none},
		{"alg none", base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"first"}`)) + "." + parts[1] + ".", 401, "asymmetric", none},
		{"HS256 with the public key", i.sign(jose.HS256, jose.JSONWebKey{Key: asPEM, KeyID: "first"}, claims(nil)), 401, "asymmetric", none},
		{"unknown kid", i.sign(jose.RS256, jose.JSONWebKey{Key: i.key.Key, KeyID: "other"}, claims(nil)), 401, "does not publish", none},
		{"another key", i.sign(jose.RS256, jose.JSONWebKey{Key: stranger, KeyID: "first"}, claims(nil)), 401, "not signed by its issuer", none},
		{"the ID token of the flow", idToken, 401, "audience", none},
		{"an ID token for us", own(args{"at_hash": "x", "nonce": "n"}), 401, "ID token", none},
		{"opaque", "WjVYd0hIb2FnZ0p0X2c4", 401, "not known", none},
		{"no scope", own(args{"scope": nil}), 403, `error="insufficient_scope"`, none},
		{"other scopes", own(args{"scope": "openid read"}), 403, `scope="orchestra:agent"`, none},
		{"in the query", "", 401, "", []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "access_token=" + own(nil) }}},
		{"in the query of a form", "", 401, "", []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "bearer_token=" + own(nil) }}},
		{"twice", own(nil), 401, "", []func(*http.Request){func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }}},
		{"another scheme", "", 401, "", []func(*http.Request){func(r *http.Request) { r.Header.Set("Authorization", "DPoP "+own(nil)) }}},
		{"from a page", own(nil), 403, "", []func(*http.Request){func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }}},
		{"to another host", own(nil), 403, "", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }}},
	} {
		got := try(t, at, row.token, row.change...)
		check.That(t, got.status == row.status && strings.Contains(got.challenge, row.says), "%s: %+v", row.name, got)
		if row.status == 401 || strings.Contains(row.name, "scope") {
			check.That(t, strings.HasPrefix(got.challenge, "Bearer ") && strings.Contains(got.challenge, `resource_metadata="`+wellKnown(at)+`"`), "%s: %s", row.name, got.challenge)
			check.That(t, strings.Contains(got.challenge, "error=") == (row.token != "" && row.name != "twice"), "%s: %s", row.name, got.challenge)
		}
	}
}

func wellKnown(at string) string {
	return strings.TrimSuffix(at, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
}

// metadata is readable without a token, where Host and Origin are looked at all the same.
func (i *issuer) metadata(t *testing.T, at string) {
	get := func(url string, change func(*http.Request)) (int, args) {
		r := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
		change(r)
		response := check.Value(http.DefaultClient.Do(r))(t)
		defer response.Body.Close()
		var document args
		_ = json.NewDecoder(response.Body).Decode(&document)
		return response.StatusCode, document
	}
	as := func(*http.Request) {}
	for _, place := range []string{wellKnown(at), strings.TrimSuffix(wellKnown(at), "/mcp")} {
		status, document := get(place, as)
		servers, _ := document["authorization_servers"].([]any)
		check.That(t, status == 200 && document["resource"] == at && len(servers) == 1 && servers[0] == i.url, "%s: %d %v", place, status, document)
		status, _ = get(place, func(r *http.Request) { r.Host = "evil.example" })
		check.Equal(t, status, 403, "another host")
		status, _ = get(place, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
		check.Equal(t, status, 403, "a page")
		status, _ = get(place, func(r *http.Request) { r.Method = http.MethodPost })
		check.Equal(t, status, 405, "POST")
	}
	status, _ := get(strings.TrimSuffix(at, "/mcp")+"/.well-known/oauth-authorization-server", as)
	check.Equal(t, status, 404, "an authorization server here")
}

// Clients of the older transport ask for a token for the server, whose endpoints are two.
func TestOAuthOverSSE(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, "only", "0")
	w := newWorkspace(t)
	e, _ := w.serveTo("sse", "ORCHESTRA_AUTH_ISSUER="+i.url)
	for _, d := range []driver{
		{SDK: 1, Transport: "sse", URL: strings.TrimSuffix(e.url, "/mcp") + "/sse", OAuth: args{}},
		{SDK: 1, Transport: "http", URL: e.url, OAuth: args{}},
	} {
		a := newAgent(t, w.drive(d))
		session := a.Selects("INT-001")
		a.OK("write_to_file", args{"session": session, "path": "src/" + d.Transport + ".txt", "content": "x\n"})
	}
}
