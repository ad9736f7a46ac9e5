package mcpbridge_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

const (
	aliceToken = "alice-secret"
	bobToken   = "bob-secret"
)

func authenticate(_ context.Context, token string) (mcpbridge.Identity, error) {
	switch token {
	case aliceToken:
		return mcpbridge.Identity{Principal: "alice"}, nil
	case bobToken:
		return mcpbridge.Identity{Principal: "bob"}, nil
	}
	return mcpbridge.Identity{}, &mcpbridge.Denial{Status: http.StatusUnauthorized}
}

// web is a server with its address.
type web struct {
	t   testing.TB
	url string
}

func startWeb(t testing.TB, h *handler, options mcpbridge.HTTPOptions) web {
	t.Helper()
	return startWebWith(t, bridgeConfig(h), options)
}

func startWebWith(t testing.TB, config mcpbridge.Config, options mcpbridge.HTTPOptions) web {
	t.Helper()
	if options.Authenticate == nil {
		options.Authenticate = authenticate
	}
	s := check.Value(mcpbridge.New(config))(t)
	handler := check.Value(s.HTTPHandler(options))(t)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		server.Close()
	})
	return web{t, server.URL}
}

// request makes a POST to /mcp as alice; edits change it.
func (w web) request(body string, edits ...func(*http.Request)) *http.Request {
	w.t.Helper()
	r := check.Value(http.NewRequestWithContext(context.Background(), http.MethodPost, w.url+"/mcp", strings.NewReader(body)))(w.t)
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, edit := range edits {
		edit(r)
	}
	return r
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

func method(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
func path(p string) func(*http.Request)      { return func(r *http.Request) { r.URL.Path = p } }
func host(name string) func(*http.Request)   { return func(r *http.Request) { r.Host = name } }
func as(token string) func(*http.Request)    { return header("Authorization", "Bearer "+token) }
func session(id string) func(*http.Request)  { return header("Mcp-Session-Id", id) }

// modern sets the headers of 2026-07-28 that mirror the body.
func modern(rpcMethod, name string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		header("Mcp-Method", rpcMethod)(r)
		header("Mcp-Name", name)(r)
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (w web) do(r *http.Request) reply {
	w.t.Helper()
	client := &http.Client{Timeout: patience}
	response := check.Value(client.Do(r))(w.t)
	defer response.Body.Close()
	body := check.Value(io.ReadAll(response.Body))(w.t)
	return reply{response.StatusCode, response.Header, string(body)}
}

// messages are the JSON-RPC messages of a reply, in either form.
func (r reply) messages(t testing.TB) (found []answer) {
	t.Helper()
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return []answer{parseAnswer(t, r.body)}
	}
	scanner := bufio.NewScanner(strings.NewReader(r.body))
	for scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			found = append(found, parseAnswer(t, data))
		}
	}
	return found
}

// initialize opens a session of the initialize era.
func (w web) initialize(edits ...func(*http.Request)) string {
	w.t.Helper()
	got := w.do(w.request(initialize, edits...))
	id := got.header.Get("Mcp-Session-Id")
	check.Must(w.t, got.status == http.StatusOK && len(id) >= 22, "initialize: %+v", got)
	return id
}

func TestHTTPChecks(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{MaxBody: 2000, AllowedOrigins: []string{"http://localhost:6274"}, SSE: true})
	call := modernLine(1, "echo", `{"a":1}`)
	ok := modern("tools/call", "echo")
	for _, test := range []struct {
		name  string
		body  string
		edits []func(*http.Request)
		want  int
	}{
		{"a good call", call, nil, 200},
		{"no token", call, []func(*http.Request){header("Authorization", "")}, 401},
		{"wrong token", call, []func(*http.Request){as("alice")}, 401},
		{"other scheme", call, []func(*http.Request){header("Authorization", "Basic "+aliceToken)}, 401},
		{"foreign origin", call, []func(*http.Request){header("Origin", "https://evil.example")}, 403},
		{"null origin", call, []func(*http.Request){header("Origin", "null")}, 403},
		{"allowed origin", call, []func(*http.Request){header("Origin", "http://localhost:6274")}, 200},
		{"foreign host", call, []func(*http.Request){host("evil.example")}, 403},
		{"foreign host with our port", call, []func(*http.Request){host("evil.example:80")}, 403},
		{"loopback name", call, []func(*http.Request){host("LOCALHOST:1")}, 200},
		{"IPv6 loopback", call, []func(*http.Request){host("[::1]:1")}, 200},
		{"form", call, []func(*http.Request){header("Content-Type", "text/plain")}, 415},
		{"no content type", call, []func(*http.Request){header("Content-Type", "")}, 415},
		{"charset", call, []func(*http.Request){header("Content-Type", "application/json; charset=utf-8")}, 200},
		{"too large", modernLine(1, "echo", `{"a":"`+strings.Repeat("x", 2000)+`"}`), nil, 413},
		{"too large, length unknown", call, []func(*http.Request){func(r *http.Request) {
			r.ContentLength = -1
			r.Body = io.NopCloser(io.LimitReader(letters{}, 5000))
		}}, 413},
		{"not JSON", "{", nil, 400},
		{"not UTF-8", modernLine(1, "echo", "{\"a\":\"\xff\"}"), nil, 400},
		{"batch", "[" + call + "]", nil, 400},
		{"empty", "", nil, 400},
		{"accepts neither form", call, []func(*http.Request){header("Accept", "text/html")}, 406},
		{"other path", call, []func(*http.Request){path("/")}, 404},
		{"other path, no token", call, []func(*http.Request){path("/register"), header("Authorization", "")}, 404},
		{"resource metadata, no token", "", []func(*http.Request){path("/.well-known/oauth-protected-resource"), method(http.MethodGet), header("Authorization", "")}, 404},
		{"resource metadata of the endpoint, no token", "", []func(*http.Request){path("/.well-known/oauth-protected-resource/mcp"), method(http.MethodGet), header("Authorization", "")}, 404},
		{"authorization server metadata, no token", "", []func(*http.Request){path("/.well-known/oauth-authorization-server"), method(http.MethodGet), header("Authorization", "")}, 404},
		{"OpenID configuration, no token", "", []func(*http.Request){path("/mcp/.well-known/openid-configuration"), method(http.MethodGet), header("Authorization", "")}, 404},
		{"other path, foreign host", "", []func(*http.Request){path("/.well-known/oauth-protected-resource"), method(http.MethodGet), host("evil.example")}, 403},
		{"PUT", call, []func(*http.Request){method(http.MethodPut)}, 405},
		{"GET foreign origin", "", []func(*http.Request){method(http.MethodGet), header("Origin", "https://evil.example")}, 403},
		{"GET foreign host", "", []func(*http.Request){method(http.MethodGet), host("evil.example")}, 403},
		{"GET no token", "", []func(*http.Request){method(http.MethodGet), header("Authorization", "")}, 401},
		{"DELETE foreign origin", "", []func(*http.Request){method(http.MethodDelete), header("Origin", "https://evil.example")}, 403},
		{"OPTIONS foreign origin", "", []func(*http.Request){method(http.MethodOptions), header("Origin", "https://evil.example")}, 403},
		{"OPTIONS no origin", "", []func(*http.Request){method(http.MethodOptions), header("Authorization", "")}, 401},
		{"preflight", "", []func(*http.Request){method(http.MethodOptions), header("Authorization", ""), header("Origin", "http://localhost:6274")}, 204},
		{"sse foreign origin", "", []func(*http.Request){path("/sse"), method(http.MethodGet), header("Origin", "https://evil.example")}, 403},
		{"sse no token", "", []func(*http.Request){path("/sse"), method(http.MethodGet), header("Authorization", "")}, 401},
		{"sse POST", "", []func(*http.Request){path("/sse")}, 405},
		{"message foreign origin", call, []func(*http.Request){path("/message"), header("Origin", "https://evil.example")}, 403},
		{"message without a stream", call, []func(*http.Request){path("/message")}, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			edits := append([]func(*http.Request){ok}, test.edits...)
			got := w.do(w.request(test.body, edits...))
			check.Equal(t, got.status, test.want, "status")
			if got.status == 401 && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("401 with WWW-Authenticate %q", got.header.Get("WWW-Authenticate"))
			}
		})
	}
	for _, call := range h.calls() {
		check.Equal(t, call.Caller.Principal, "alice", "a call came in as")
	}
}

// A server is always served by the address that the client reached, and what is allowed beside it takes nothing away.
func TestOwnAddressIsServed(t *testing.T) {
	for _, test := range []struct {
		local, host, origin string
		want                int
	}{
		{"192.0.2.7:7420", "192.0.2.7:7420", "", 200},
		{"192.0.2.7:7420", "192.0.2.7", "", 200},
		{"192.0.2.7:7420", "192.0.2.8:7420", "", 403},
		{"[2001:db8::7]:7420", "[2001:db8::7]:7420", "", 200},
		{"[2001:db8::7]:7420", "[2001:db8::8]:7420", "", 403},
		{"127.0.0.1:7420", "localhost:7420", "", 200},
		{"127.0.0.1:7420", "127.0.0.1:7420", "", 200},
		{"127.0.0.1:7420", "[::1]:7420", "", 200},
		{"127.0.0.1:7420", "box.example:7420", "", 200},
		{"127.0.0.1:7420", "evil.example:7420", "", 403},
		{"127.0.0.1:7420", "127.0.0.1.evil.example", "", 403},
		{"127.0.0.1:7420", "localhost.", "", 403},
		{"192.0.2.7:7420", "192.0.2.7:7420", "http://192.0.2.7:7420", 200},
		{"192.0.2.7:7420", "192.0.2.7:7420", "http://192.0.2.7:80", 403},
		{"192.0.2.7:7420", "192.0.2.7:7420", "ftp://192.0.2.7:7420", 403},
		{"127.0.0.1:7420", "localhost:7420", "http://localhost:7420", 200},
		{"127.0.0.1:7420", "localhost:7420", "http://localhost:3000", 403},
		{"127.0.0.1:7420", "localhost:7420", "http://127.0.0.1:7420", 403},
		{"127.0.0.1:7420", "box.example", "https://box.example", 200},
		{"127.0.0.1:7420", "localhost:7420", "https://app.example", 200},
		{"127.0.0.1:7420", "localhost:7420", "null", 403},
		{"127.0.0.1:7420", "evil.example:7420", "http://evil.example:7420", 403},
	} {
		handler := check.Value(newServer(t, newHandler(t)).HTTPHandler(mcpbridge.HTTPOptions{
			Authenticate: authenticate, AllowedHosts: []string{"box.example"}, AllowedOrigins: []string{"https://app.example"},
		}))(t)
		w := web{t: t}
		r := w.request(modernLine(1, "echo", "{}"), modern("tools/call", "echo"), host(test.host), header("Origin", test.origin))
		local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(test.local))
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		handler.Close()
		check.Equal(t, out.Code, test.want, "at %s, Host %q, Origin %q", test.local, test.host, test.origin)
	}
}

func TestSSEOffUnlessAsked(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{})
	for _, p := range []string{"/sse", "/message"} {
		check.Equal(t, w.do(w.request("", path(p), method(http.MethodGet))).status, http.StatusNotFound, "%s answers", p)
	}
}

func TestHTTPNeedsAuthentication(t *testing.T) {
	_, err := newServer(t, newHandler(t)).HTTPHandler(mcpbridge.HTTPOptions{})
	check.That(t, err != nil, "a handler without authentication was made")
}

func TestHTTPRateLimitIsPerPrincipal(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{RequestsPerSecond: 0.001, Burst: 2})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	for i, want := range []int{200, 200, 429} {
		check.Equal(t, w.do(w.request(list, modern("tools/list", ""))).status, want, "request %d", i)
	}
	check.Equal(t, w.do(w.request(list, modern("tools/list", ""), as(bobToken))).status, 200, "the other principal")
}

func TestModernHeadersMustMatchTheBody(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	call := modernLine(1, "echo", "{}")
	for _, test := range []struct {
		name string
		body string
		edit func(*http.Request)
		code int
	}{
		{"no version", call, func(r *http.Request) { header("Mcp-Method", "tools/call")(r); header("Mcp-Name", "echo")(r) }, -32020},
		{"other version", call, func(r *http.Request) {
			modern("tools/call", "echo")(r)
			header("Mcp-Protocol-Version", "2025-11-25")(r)
		}, -32020},
		{"no version in the body", callLine(1, "echo", "{}"), modern("tools/call", "echo"), -32602},
		{"no method", call, modern("", "echo"), -32020},
		{"other method", call, modern("tools/list", "echo"), -32020},
		{"no name", call, modern("tools/call", ""), -32020},
		{"other name", call, modern("tools/call", "refuse"), -32020},
		{"two names", call, func(r *http.Request) { modern("tools/call", "echo")(r); r.Header.Add("Mcp-Name", "refuse") }, -32020},
		{"unknown version", strings.ReplaceAll(call, "2026-07-28", "2031-01-01"), func(r *http.Request) {
			modern("tools/call", "echo")(r)
			header("Mcp-Protocol-Version", "2031-01-01")(r)
		}, -32022},
		{"unknown version in the body only", strings.ReplaceAll(call, "2026-07-28", "v999"), modern("tools/call", "echo"), -32020},
		{"unknown version in the body, none stated", strings.ReplaceAll(call, "2026-07-28", "v999"), header("Mcp-Method", "tools/call"), -32020},
		{"unknown version in the header only", call, func(r *http.Request) {
			modern("tools/call", "echo")(r)
			header("Mcp-Protocol-Version", "v999")(r)
		}, -32020},
		{"other version, and no capabilities", strings.ReplaceAll(call, `"io.modelcontextprotocol/clientCapabilities"`, `"x"`), header("Mcp-Protocol-Version", "2025-11-25"), -32020},
		{"no capabilities", strings.ReplaceAll(call, `"io.modelcontextprotocol/clientCapabilities"`, `"x"`), modern("tools/call", "echo"), -32602},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.do(w.request(test.body, test.edit))
			check.Equal(t, got.status, http.StatusBadRequest, "status")
			got.messages(t)[0].wantError(t, "1", test.code, "")
		})
	}
	encoded := w.do(w.request(call, modern("tools/call", "=?base64?ZWNobw==?=")))
	check.Equal(t, encoded.status, 200, "an encoded name was refused")
	check.Equal(t, len(h.calls()), 1)
	unknown := w.do(w.request(`{"jsonrpc":"2.0","id":1,"method":"no/such","params":{`+modernMeta+`}}`, modern("no/such", "")))
	check.Equal(t, unknown.status, http.StatusNotFound, "an unknown method")
	unknown.messages(t)[0].wantError(t, "1", -32601, "")
	for _, removed := range []string{"initialize", "ping"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + removed + `","params":{` + modernMeta + `}}`
		check.Equal(t, w.do(w.request(body, modern(removed, ""))).status, http.StatusNotFound, "%s", removed)
	}
	if got := w.do(w.request(`{"jsonrpc":"2.0","id":1,"result":{}}`, modern("", ""))); got.status != http.StatusBadRequest {
		t.Errorf("a response: %+v", got)
	}
	for _, verb := range []string{http.MethodGet, http.MethodDelete} {
		got := w.do(w.request("", method(verb), header("Mcp-Protocol-Version", "2026-07-28")))
		check.That(t, got.status == http.StatusMethodNotAllowed, "%s answers %d in 2026-07-28", verb, got.status)
	}
}
