package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`

// by takes any token as the name of a principal; "" is denied, and so is a name of a denial.
func by(denials map[string]*mcpbridge.Denial) func(context.Context, string) (mcpbridge.Identity, error) {
	return func(_ context.Context, token string) (mcpbridge.Identity, error) {
		if d := denials[token]; d != nil {
			return mcpbridge.Identity{}, d
		}
		return mcpbridge.Identity{Principal: token, Role: "role of " + token, Unasked: strings.HasPrefix(token, "unasked")}, nil
	}
}

func TestChallenges(t *testing.T) {
	denials := map[string]*mcpbridge.Denial{
		"":      {Status: 401},
		"bad":   {Status: 401, Code: "invalid_token", Text: "the token has expired"},
		"low":   {Status: 403, Code: "insufficient_scope", Scope: "most", Text: "too little"},
		"later": {Status: 503, Text: "ask again"},
	}
	protected := &mcpbridge.Protected{Resource: "https://mcp.example.com/team/mcp", Issuer: "https://auth.example.com", Scope: "least"}
	place := `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/team/mcp"`
	for _, c := range []struct {
		protected *mcpbridge.Protected
		token     string
		status    int
		challenge string
	}{
		{nil, "", 401, `Bearer realm="orchestra-mcp"`},
		{nil, "bad", 401, `Bearer realm="orchestra-mcp", error="invalid_token", error_description="the token has expired"`},
		{nil, "later", 503, ""},
		{protected, "", 401, `Bearer realm="orchestra-mcp", ` + place + `, scope="least"`},
		{protected, "bad", 401, `Bearer realm="orchestra-mcp", ` + place + `, scope="least", error="invalid_token", error_description="the token has expired"`},
		{protected, "low", 403, `Bearer realm="orchestra-mcp", ` + place + `, scope="most", error="insufficient_scope", error_description="too little"`},
	} {
		w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{Authenticate: by(denials), Protected: c.protected})
		got := w.do(w.request(listTools, modern("tools/list", ""), as(c.token)))
		check.That(t, got.status == c.status && got.header.Get("WWW-Authenticate") == c.challenge, "%q: %d %s", c.token, got.status, got.header.Get("WWW-Authenticate"))
		check.Equal(t, strings.Contains(got.body, "auth.tokens"), c.status == 401, "what to send: %s", got.body)
		check.That(t, (got.header.Get("Retry-After") != "") == (c.status == 503), "%q: Retry-After %q", c.token, got.header.Get("Retry-After"))
	}
	// An error that says nothing, and a principal without a name, are no token.
	for _, authenticate := range []func(context.Context, string) (mcpbridge.Identity, error){
		func(context.Context, string) (mcpbridge.Identity, error) {
			return mcpbridge.Identity{Principal: "x"}, fmt.Errorf("secret")
		},
		func(context.Context, string) (mcpbridge.Identity, error) { return mcpbridge.Identity{}, nil },
	} {
		w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{Authenticate: authenticate})
		got := w.do(w.request(listTools, modern("tools/list", ""), as("x")))
		check.That(t, got.status == 401 && !strings.Contains(got.body, "secret"), "%d %s", got.status, got.body)
	}
}

func TestProtectedResourceMetadata(t *testing.T) {
	options := mcpbridge.HTTPOptions{Authenticate: authenticate, Protected: &mcpbridge.Protected{
		Resource: "https://mcp.example.com/team/mcp", Issuer: "https://auth.example.com", Scope: "least",
	}}
	const place = "/.well-known/oauth-protected-resource"
	w := startWeb(t, newHandler(t), options)
	for at, want := range map[string]int{place: 200, place + "/mcp": 200, place + "/team/mcp": 200, place + "/": 404, place + "/sse": 404, place + "x": 404, "/.well-known/oauth-authorization-server": 404} {
		got := w.do(w.request("", path(at), method(http.MethodGet), as("")))
		check.Equal(t, got.status, want, at)
		if want != 200 {
			continue
		}
		var document map[string]any
		check.OK(t, json.Unmarshal([]byte(got.body), &document))
		check.That(t, document["resource"] == "https://mcp.example.com/team/mcp" && fmt.Sprint(document["authorization_servers"], document["scopes_supported"], document["bearer_methods_supported"]) ==
			"[https://auth.example.com] [least] [header]", "%s: %v", at, document)
	}
	for name, c := range map[string]struct {
		status int
		change func(*http.Request)
	}{
		"another host": {403, func(r *http.Request) { r.Host = "evil.example" }},
		"a page":       {403, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }},
		"POST":         {405, method(http.MethodPost)},
		"HEAD":         {200, method(http.MethodHead)},
	} {
		got := w.do(w.request("", path(place), method(http.MethodGet), as(""), c.change))
		check.Equal(t, got.status, c.status, name)
	}
	w = startWeb(t, newHandler(t), mcpbridge.HTTPOptions{Authenticate: authenticate})
	check.Equal(t, w.do(w.request("", path(place), method(http.MethodGet))).status, 404, "metadata where there is no issuer")
}

// Principals are bounded: who is idle makes room, who has something in use does not, and comes back to its own.
func TestPrincipalsAreBounded(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{Authenticate: by(nil), MaxPrincipals: 2, SSE: true})
	list := func(token string, changes ...func(*http.Request)) int {
		return w.do(w.request(listTools, append([]func(*http.Request){modern("tools/list", ""), as(token)}, changes...)...)).status
	}
	for n := range 10 {
		check.Equal(t, list(fmt.Sprint("passer-by-", n)), 200, "a principal of many")
	}
	var streams [2]*eventStream
	for n := range streams {
		token := as(fmt.Sprint("busy-", n))
		eventually(t, "a stream", func() bool { // as soon as the last passer-by's request is done
			streams[n] = w.stream(w.request("", path("/sse"), method(http.MethodGet), token))
			return streams[n].status == 200
		})
	}
	check.Equal(t, list("busy-0"), 200, "one of those that have a stream")
	check.Equal(t, list("new"), 503, "a further one while all have a stream")
	streams[1].leave()
	eventually(t, "the place is free", func() bool { return list("new") == 200 })
	check.Equal(t, list("busy-0"), 200, "who had a stream all the time")
}

// The role is that of the request, not of who opened the session.
func TestRoleIsOfTheRequest(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{Authenticate: func(_ context.Context, token string) (mcpbridge.Identity, error) {
		return mcpbridge.Identity{Principal: "alice", Role: token}, nil
	}})
	id := w.initialize(as("first"))
	for _, role := range []string{"first", "second"} {
		got := w.do(w.request(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}`, session(id), as(role)))
		check.That(t, got.status == 200 && strings.Contains(got.body, `\"Role\":\"`+role+`\"`), "%s: %s", role, got.body)
	}
}

// Whose role does not answer has nothing to say to a question, also where it was put to a client of the same principal.
func TestTheUnaskedDoNotAnswer(t *testing.T) {
	for name, over := range map[string]func(testing.TB, web, string) duplex{"streamable HTTP": overHTTP, "SSE": overSSE} {
		t.Run(name, func(t *testing.T) {
			var unasked atomic.Bool // by now, with the same token
			w := startWeb(t, asker(t), mcpbridge.HTTPOptions{SSE: true, Authenticate: func(context.Context, string) (mcpbridge.Identity, error) {
				return mcpbridge.Identity{Principal: "alice", Unasked: unasked.Load()}, nil
			}})
			d := over(t, w, "x")
			d.send(callLine(1, "wait", "{}"))
			id := d.question()
			unasked.Store(true)
			d.reply(id, yes)
			unasked.Store(false)
			d.reply(id, `"result":{"action":"decline"}`)
			check.Equal(t, d.next().text(t), "decline", "the answer of one that answers nothing counted")
		})
	}
}

// A question that nobody may answer is not put: the call would wait for it, or take an answer from who may not give one.
func TestTheUnaskedAreNotAsked(t *testing.T) {
	const cannot = "error: the client cannot ask its user, error: the client cannot ask its user"
	h := newHandler(t)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		check.That(t, call.Elicit == nil, "a form could be put")
		return asksTwice(ctx, call)
	}
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true, Authenticate: by(nil)})
	for name, over := range map[string]func(testing.TB, web, string) duplex{"streamable HTTP": overHTTP, "SSE": overSSE} {
		d := over(t, w, "unasked")
		d.send(callLine(1, "wait", "{}"))
		check.Equal(t, d.next().text(t), cannot, name)
	}
	answers := resumed("", `"name":{"action":"decline"},"colour":{"action":"decline"}`)
	got := w.do(w.request(modernCall(1, forms, answers), modern("tools/call", "wait"), as("unasked"))).messages(t)[0]
	check.Equal(t, got.text(t), cannot, "2026-07-28")
}

// Who has a command that runs makes no room, and who makes room loses its sessions.
func TestWhoMakesRoom(t *testing.T) {
	config := bridgeConfig(newHandler(t))
	var busy atomic.Bool
	config.Busy = func(string) bool { return busy.Load() }
	w := startWebWith(t, config, mcpbridge.HTTPOptions{Authenticate: by(nil), MaxPrincipals: 1})
	id := w.initialize(as("alice"))
	use := func() int {
		return w.do(w.request(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, session(id), as("alice"))).status
	}
	list := func() int { return w.do(w.request(listTools, modern("tools/list", ""), as("bob"))).status }
	busy.Store(true)
	check.Equal(t, list(), 503, "while alice's session is busy")
	check.Equal(t, use(), 200, "alice's session")
	busy.Store(false)
	eventually(t, "alice makes room", func() bool { return list() == 200 })
	eventually(t, "bob makes room", func() bool { return use() != 503 })
	check.Equal(t, use(), 404, "alice's session after that")
}

// What all principals send at a time is bounded, whoever they are.
func TestBodiesOfAllPrincipals(t *testing.T) {
	const size = 64 << 10
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{Authenticate: by(nil), MaxBody: size, ReadTimeout: time.Hour})
	list := func(token string) int { return w.do(w.request(listTools, modern("tools/list", ""), as(token))).status }
	var held []net.Conn
	eventually(t, "nothing more fits", func() bool {
		// What has been dialled may not have got there yet, or have met what list holds.
		held = append(held, w.dial(post+withToken(fmt.Sprint("principal-", len(held)/4))+fmt.Sprintf("Content-Length: %d\r\n\r\n", size)))
		return list("another") == 503
	})
	for _, conn := range held {
		conn.Close()
	}
	eventually(t, "all is given back", func() bool { return list("another") == 200 })
}
