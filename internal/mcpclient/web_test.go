package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
)

// site is a server over HTTP that does what a test says with what is no opening.
type site struct {
	*httptest.Server
	modern  bool
	session atomic.Int64 // that it knows
	serve   func(w http.ResponseWriter, r *http.Request, m rpc)
	get     func(w http.ResponseWriter, r *http.Request) // nil: there is no stream
	mu      sync.Mutex
	seen    []string // methods, and the session if there is one
}

func newSite(t *testing.T, modern bool) *site {
	s := &site{modern: modern, serve: func(w http.ResponseWriter, _ *http.Request, m rpc) { writeJSON(w, m, `{"ok":true}`) }}
	s.session.Store(1)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handle(t, w, r) }))
	t.Cleanup(s.Close)
	return s
}

func (s *site) handle(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body := check.Value(io.ReadAll(r.Body))(t)
	m := rpc{line: string(body)}
	if r.Method == http.MethodPost {
		check.NoError(t, json.Unmarshal(body, &m))
	} else {
		m.Method = r.Method
	}
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	s.seen = append(s.seen, strings.TrimSpace(m.Method+" "+id))
	s.mu.Unlock()
	session := fmt.Sprintf("s%d", s.session.Load())
	switch {
	case m.Method == "server/discover" && s.modern:
		writeJSON(w, m, discovered)
	case m.Method == "server/discover":
		http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`, http.StatusBadRequest)
	case m.Method == "initialize" && !s.modern:
		w.Header().Set("Mcp-Session-Id", session)
		writeJSON(w, m, begun)
	case !s.modern && id != session:
		http.Error(w, "no such session", http.StatusNotFound)
	case m.Method == http.MethodGet && s.get != nil:
		s.get(w, r)
	case r.Method != http.MethodPost:
		http.Error(w, "", http.StatusMethodNotAllowed)
	case strings.HasPrefix(m.Method, "notifications/"):
		w.WriteHeader(http.StatusAccepted)
	default:
		s.serve(w, r, m)
	}
}

func (s *site) methods() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, ", ")
}

func writeJSON(w http.ResponseWriter, m rpc, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": %s,\n  \"result\": %s\n}\n", m.ID, result)
}

// events begins a stream of them.
func events(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(format string, args ...any) {
		fmt.Fprintf(w, format, args...)
		w.(http.Flusher).Flush()
	}
}

func (s *site) dial(t *testing.T, h mcpclient.HTTPOptions, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.ConnectHTTP(t.Context(), s.URL+"/mcp", h, o)
	check.OK(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func overHTTP(t *testing.T, test func(t *testing.T, s *site)) {
	for era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, era == "modern"))
		})
	}
}

func TestHTTPCallsAndHeaders(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		s.serve = func(w http.ResponseWriter, r *http.Request, m rpc) {
			want := map[string]string{"Mcp-Session-Id": "s1", "Mcp-Protocol-Version": "2025-06-18"}
			if s.modern {
				want = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?dMO2w7Zs?=", "Mcp-Param-Region": "eu", "Mcp-Param-Deep": "-3"}
			}
			want["Accept"], want["Content-Type"], want["Authorization"], want["X-Own"] = "application/json, text/event-stream", "application/json", "Bearer secret", "mine"
			for name, value := range r.Header {
				if strings.HasPrefix(name, "Mcp-") || want[name] != "" {
					check.Equal(t, value[0], want[name], "%s", name)
					delete(want, name)
				}
			}
			check.Equal(t, len(want), 0, "headers missing: %v", want)
			writeJSON(w, m, "{\"a\": 1.0,\r\n \"b\": \"\\n\"}")
		}
		h := mcpclient.HTTPOptions{Header: http.Header{"x-own": {"mine"}, "Authorization": {"Basic x"}}, Token: func(context.Context) (string, error) { return "secret", nil }}
		c := s.dial(t, h, options)
		check.Equal(t, c.Identity().Modern, s.modern)
		const schema = `{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"in":{"type":"object","properties":{"deep":{"type":"integer","x-mcp-header":"Deep"}}}}}`
		got, err := c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"tööl","arguments":{"region":"eu","in":{"deep":-3}}}`), mcpclient.Handlers{Schema: json.RawMessage(schema)})
		check.OK(t, err)
		check.Equal(t, string(got), `{"a": 1.0, "b": "\n"}`)
		check.OK(t, c.Close())
		want := "server/discover, tools/call"
		if !s.modern {
			want = "server/discover, initialize, notifications/initialized s1, tools/call s1, DELETE s1"
		}
		seen := strings.Replace(s.methods(), ", GET s1", "", 1) // if there was time for it
		check.That(t, sameWords(seen, want), "got %s", s.methods())
	})
}

// sameWords compares lists whose order is left to chance.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, word := range strings.Split(a, ", ") {
		count[word]++
	}
	for _, word := range strings.Split(b, ", ") {
		count[word]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestHTTPStreams(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		other := make(chan rpc, 1)
		s.serve = func(w http.ResponseWriter, r *http.Request, m rpc) {
			if strings.Contains(m.line, "other") {
				other <- m
				<-r.Context().Done()
				return
			}
			if m.Method == "logging/setLevel" {
				writeJSON(w, m, "{}")
				return
			}
			send := events(w)
			o := <-other
			send(": hello\r\n\r\nevent: message\r\nid:\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\r\n\r\n", m.ID)
			send("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":7}}\n\n", o.ID)
			send("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":1}}\n\n")
			send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"not\":\"its own\"}}\n\n", o.ID)
			send("data: nonsense\n\ndata\n\n")
			send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"a\":\ndata: 1}}\n\n", m.ID)
			send("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"twice\":1}}\n\n", m.ID)
		}
		c := s.dial(t, mcpclient.HTTPOptions{}, options)
		var got []string
		handlers := mcpclient.Handlers{
			Progress: func(_ string, done, _ float64) { got = append(got, fmt.Sprint(done)) },
			Log:      func(_, _ string, data json.RawMessage) { got = append(got, "log "+string(data)) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		waiting := begin(ctx, c, "tools/call", `{"name":"other"}`, mcpclient.Handlers{Progress: func(string, float64, float64) { t.Error("it got another's progress") }})
		result, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), handlers)
		check.OK(t, err)
		check.Equal(t, string(result), `{"a":1}`)
		check.That(t, sameWords(strings.Join(got, ", "), "1, log 1"), "got %v", got)
		cancel()
		check.Is(t, (<-waiting).err, context.Canceled)
		d := c.Dropped()
		check.That(t, d.Answers == 1 && d.Notices == 1 && d.Garbage == 1, "dropped %+v", d)
	})
}

func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		o := options
		o.MaxMessage = 1 << 20
		c := s.dial(t, mcpclient.HTTPOptions{}, o)
		for name, f := range map[string]struct {
			serve func(w http.ResponseWriter, m rpc)
			is    func(error) bool
		}{
			"a login": {func(w http.ResponseWriter, _ rpc) {
				w.Header().Set("WWW-Authenticate", `Bearer scope="a"`)
				w.WriteHeader(http.StatusUnauthorized)
			}, func(err error) bool {
				var e *mcpclient.AuthError
				return errors.As(err, &e) && e.Status == 401
			}},
			"more scopes": {func(w http.ResponseWriter, _ rpc) {
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
				w.WriteHeader(http.StatusForbidden)
			}, func(err error) bool { var e *mcpclient.AuthError; return errors.As(err, &e) && e.Status == 403 }},
			"a status": {func(w http.ResponseWriter, _ rpc) {
				http.Error(w, "over\x1b[2J loaded"+strings.Repeat("x", 1<<20), http.StatusServiceUnavailable)
			},
				func(err error) bool {
					var e *mcpclient.StatusError
					return errors.As(err, &e) && e.Status == 503 && strings.HasPrefix(e.Text, `over\x1b[2J loaded`) && len(e.Text) < 1000
				}},
			"an error with a status": {func(w http.ResponseWriter, m rpc) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.ID)
			}, isError},
			"an error without an id": {func(w http.ResponseWriter, m rpc) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}`)
			}, isError},
			"an error of another": {func(w http.ResponseWriter, m rpc) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`)
			}, isStatus(400)},
			"accepted":         {func(w http.ResponseWriter, _ rpc) { w.WriteHeader(http.StatusAccepted) }, isStatus(202)},
			"a page":           {func(w http.ResponseWriter, _ rpc) { fmt.Fprint(w, "<html>") }, isStatus(200)},
			"nothing":          {func(w http.ResponseWriter, _ rpc) { w.Header().Set("Content-Type", "application/json") }, is(mcpclient.ErrAnswer)},
			"another's answer": {func(w http.ResponseWriter, m rpc) { m.ID = json.RawMessage("1"); writeJSON(w, m, "{}") }, is(mcpclient.ErrAnswer)},
			"a body too large": {func(w http.ResponseWriter, m rpc) { writeJSON(w, m, `"`+strings.Repeat("x", 2<<20)+`"`) }, is(mcpclient.ErrTooLarge)},
			"a line too large": {func(w http.ResponseWriter, m rpc) { events(w)("data: " + strings.Repeat("x", 2<<20)) }, is(mcpclient.ErrTooLarge)},
			"an event too large": {func(w http.ResponseWriter, m rpc) {
				events(w)(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000))
			}, is(mcpclient.ErrTooLarge)},
			"a stream that breaks off": {func(w http.ResponseWriter, m rpc) {
				events(w)("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", m.ID)
			}, is(mcpclient.ErrLost)},
		} {
			s.serve = func(w http.ResponseWriter, _ *http.Request, m rpc) { f.serve(w, m) }
			_, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
			check.That(t, f.is(err), "%s: got %v", name, err)
		}
		s.serve = func(w http.ResponseWriter, _ *http.Request, m rpc) { writeJSON(w, m, "{}") }
		check.Value(c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{}))(t)
	})
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func isError(err error) bool {
	var e *mcpclient.Error
	return errors.As(err, &e) && e.Code == -32602
}

func isStatus(want int) func(error) bool {
	return func(err error) bool {
		var e *mcpclient.StatusError
		return errors.As(err, &e) && e.Status == want
	}
}

func TestHTTPCancellation(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		closed, began := make(chan struct{}), make(chan struct{})
		s.serve = func(w http.ResponseWriter, r *http.Request, m rpc) {
			events(w)(":\n")
			close(began)
			<-r.Context().Done()
			close(closed)
		}
		c := s.dial(t, mcpclient.HTTPOptions{}, options)
		ctx, cancel := context.WithCancel(t.Context())
		got := begin(ctx, c, "tools/call", call, mcpclient.Handlers{})
		<-began
		cancel()
		check.Is(t, (<-got).err, context.Canceled)
		<-closed
		for !s.modern && !strings.Contains(s.methods(), "notifications/cancelled s1") {
			time.Sleep(time.Millisecond)
		}
		check.That(t, !s.modern || !strings.Contains(s.methods(), "cancelled"), "got %s", s.methods())
	})
}

func TestHTTPRedirectionsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	overHTTP(t, func(t *testing.T, s *site) {
		thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
		defer thief.Close()
		to, status := "", 0
		s.serve = func(w http.ResponseWriter, r *http.Request, m rpc) {
			if r.URL.Path == "/elsewhere" {
				check.Equal(t, r.Header.Get("Authorization"), "Bearer secret")
				writeJSON(w, m, `{"moved":true}`)
				return
			}
			http.Redirect(w, r, to, status)
		}
		c := s.dial(t, mcpclient.HTTPOptions{Token: func(context.Context) (string, error) { return "secret", nil }}, options)
		for _, status = range []int{301, 302, 303, 307, 308} {
			to = thief.URL + "/x?secret=1"
			_, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
			var e *mcpclient.StatusError
			check.That(t, errors.As(err, &e) && e.Status == status && e.Location == thief.URL+"/x", "%d: got %v", status, err)
			to = "/elsewhere"
			result, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
			check.That(t, (string(result) == `{"moved":true}`) == (status > 303) && (err == nil) == (status > 303), "%d: got %s, %v", status, result, err)
		}
		to = "/mcp"
		_, err := c.Request(t.Context(), "tools/call", json.RawMessage(call), mcpclient.Handlers{})
		check.That(t, isStatus(308)(err), "a circle: got %v", err)
	})
}

func TestHTTPAddresses(t *testing.T) {
	for _, address := range []string{"", "/mcp", "ftp://a/b", "http://", "https://user:hunter2@example.com/mcp", "http://a/#b", "http://a\n/"} {
		_, err := mcpclient.ConnectHTTP(t.Context(), address, mcpclient.HTTPOptions{}, options)
		check.That(t, err != nil && !strings.Contains(err.Error(), "hunter2"), "%q: got %v", address, err)
	}
}
