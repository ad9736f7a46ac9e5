package mcpbridge_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// start sends a request whose answer is not waited for; leave closes it.
func (w web) start(r *http.Request) (leave func(), done <-chan reply) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	got := make(chan reply, 1)
	go func() {
		response, err := http.DefaultClient.Do(r.WithContext(ctx))
		if err != nil {
			got <- reply{body: err.Error()}
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			body = append(body, err.Error()...)
		}
		got <- reply{response.StatusCode, response.Header, string(body)}
	}()
	return cancel, got
}

// waiting adds a tool body that tells when it runs and how it was ended.
func waiting(h *handler) (running chan string, ended chan string) {
	running, ended = make(chan string, 10), make(chan string, 10)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		running <- string(call.Arguments)
		<-ctx.Done()
		ended <- string(call.Arguments)
		return mcpbridge.Result{Text: "cancelled"}
	}
	return running, ended
}

func receive(t testing.TB, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		check.Equal(t, got, want)
	case <-time.After(patience):
		t.Fatalf("did not happen: %s", want)
	}
}

func nothing(t testing.TB, from <-chan string) {
	t.Helper()
	select {
	case got := <-from:
		t.Errorf("%s happened", got)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestClosingTheResponseCancels(t *testing.T) {
	h := newHandler(t)
	running, ended := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	t.Run("2026-07-28", func(t *testing.T) {
		leave, _ := w.start(w.request(modernLine(1, "wait", `{"era":2}`), modern("tools/call", "wait")))
		receive(t, running, `{"era":2}`)
		leave()
		receive(t, ended, `{"era":2}`)
	})
	t.Run("initialize era, nothing to resume from", func(t *testing.T) {
		leave, _ := w.start(w.request(callLine(1, "wait", `{"era":1}`), session(w.initialize()), header("Accept", "application/json")))
		receive(t, running, `{"era":1}`)
		leave()
		receive(t, ended, `{"era":1}`)
	})
}

// Whatever is sent, one client's cancellation does not reach another's call that has the same id.
func TestCancelIsolation(t *testing.T) {
	h := newHandler(t)
	running, ended := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	first, second := w.initialize(), w.initialize()

	w.start(w.request(modernLine(1, "wait", `{"who":"modern"}`), modern("tools/call", "wait")))
	receive(t, running, `{"who":"modern"}`)
	_, firstDone := w.start(w.request(callLine(1, "wait", `{"who":"first"}`), session(first)))
	receive(t, running, `{"who":"first"}`)
	w.start(w.request(callLine(1, "wait", `{"who":"second"}`), session(second)))
	receive(t, running, `{"who":"second"}`)

	for _, edit := range []func(*http.Request){
		modern("notifications/cancelled", ""),
		func(r *http.Request) { modern("notifications/cancelled", "")(r); session(first)(r) },
	} {
		check.Equal(t, w.do(w.request(cancelLine(1), edit)).status, 202, "notifications/cancelled of 2026-07-28")
	}
	check.Equal(t, w.do(w.request(cancelLine(1), session(first), as(bobToken))).status, 404, "bob cancels in alice's session")
	nothing(t, ended)

	check.Equal(t, w.do(w.request(cancelLine(1), session(first))).status, 202, "cancelling one's own call")
	receive(t, ended, `{"who":"first"}`)
	nothing(t, ended)
	select {
	case got := <-firstDone:
		check.That(t, !strings.Contains(got.body, "jsonrpc"), "the cancelled call was answered: %s", got.body)
	case <-time.After(patience):
		t.Error("the cancelled call's response stays open")
	}
	check.Equal(t, w.do(w.request("", method(http.MethodDelete), session(second))).status, 204, "DELETE")
	receive(t, ended, `{"who":"second"}`)
	nothing(t, ended)
}

// One client may not use up what all clients of a token share, however it sends its calls: another of the same token
// is served all the same.
func TestStuckCallsBlockNobodyElse(t *testing.T) {
	callFor := func(agent, tool string) string { return modernLine(1, tool, `{"session":"`+agent+`"}`) }
	for name, sender := range map[string]func(w web, agent string) func(tool string) *http.Request{
		"sessions": func(w web, _ string) func(string) *http.Request {
			id, number := w.initialize(), 0
			return func(tool string) *http.Request {
				number++
				return w.request(callLine(number, tool, "{}"), session(id))
			}
		},
		"agents of 2026-07-28": func(w web, agent string) func(string) *http.Request {
			return func(tool string) *http.Request {
				return w.request(callFor(agent, tool), modern("tools/call", tool))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t)
			running, _ := waiting(h)
			w := startWeb(t, h, mcpbridge.HTTPOptions{MaxInFlight: 3})
			greedy := func(who string) {
				send := sender(w, who)
				for range 3 {
					_, done := w.start(send("wait"))
					select {
					case <-running:
					case got := <-done:
						t.Fatalf("below the limit of %s: %+v", who, got)
					}
				}
				got := w.do(send("echo"))
				check.That(t, got.status == 503 && got.header.Get("Retry-After") != "", "over the limit of %s: %+v", who, got)
			}
			greedy("first")
			greedy("second")
			check.Equal(t, w.do(sender(w, "third")("echo")).status, 200, "another client of the same token")
			got := w.do(w.request(callFor("x", "echo"), modern("tools/call", "echo"), as(bobToken)))
			check.That(t, got.status == 200, "the other principal: %+v", got)
		})
	}
}

// However many clients of a token take all that they can, one that comes later finds a place.
func TestClientsLeavePlacesFree(t *testing.T) {
	h := newHandler(t)
	running, _ := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{MaxInFlight: 8})
	refused := func(r *http.Request) bool {
		_, done := w.start(r)
		select {
		case <-running:
			return false
		case got := <-done:
			return got.status == 503
		}
	}
	for range 6 {
		id, number := w.initialize(), 0
		for {
			number++
			if refused(w.request(callLine(number, "wait", "{}"), session(id))) {
				break
			}
		}
		check.Must(t, number != 1, "a client got nothing")
	}
}

// A hundred clients of one token, each of which does what one does at its start and runs a command, are all served at
// the same time.
func TestAHundredClientsOfOneToken(t *testing.T) {
	h := newHandler(t)
	running := make(chan string, 100)
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
		running <- "{}"
		<-release
		return mcpbridge.Result{Text: "done"}
	}
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	var answers []<-chan reply
	for range 100 {
		id := w.initialize()
		for _, body := range []string{initialized, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`} {
			got := w.do(w.request(body, session(id)))
			check.Must(t, got.status < 300, "%d: %s", got.status, got.body)
		}
		_, done := w.start(w.request(callLine(3, "wait", "{}"), session(id)))
		select {
		case <-running:
		case got := <-done:
			t.Fatalf("got %+v", got)
		}
		answers = append(answers, done)
	}
	letGo()
	for _, done := range answers {
		got := <-done
		messages := got.messages(t)
		check.Must(t, got.status == 200 && len(messages) == 1 && messages[0].text(t) == "done", "got %+v", got)
	}
}

func TestModernClientsShareNothing(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	for _, edit := range []func(*http.Request){session("x"), session(w.initialize()), as(bobToken)} {
		got := w.do(w.request(modernLine(1, "whoami", "{}"), modern("tools/call", "whoami"), edit))
		check.That(t, got.status == 200 && got.header.Get("Mcp-Session-Id") == "", "got %+v", got)
	}
	for _, call := range h.calls() {
		check.That(t, call.Caller.Connection == "" && call.Caller.Modern, "caller %+v", call.Caller)
	}
}

func TestDuplicateIDInOneSession(t *testing.T) {
	h := newHandler(t)
	running, _ := waiting(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id := w.initialize()
	w.start(w.request(callLine(1, "wait", `{}`), session(id)))
	receive(t, running, `{}`)
	w.do(w.request(callLine(1, "echo", `{}`), session(id))).messages(t)[0].wantError(t, "1", -32600, "in flight")
}

func TestLegacyStream(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{})
	id := w.initialize()
	stream := w.request("", method(http.MethodGet), session(id), header("Accept", "text/event-stream"))
	response := check.Value(http.DefaultClient.Do(stream))(t)
	defer response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET: %d %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	again := w.request("", method(http.MethodGet), session(id), header("Accept", "text/event-stream"))
	check.Equal(t, w.do(again).status, http.StatusConflict, "a second stream")
	got := w.do(w.request("", method(http.MethodGet), header("Accept", "text/event-stream")))
	check.That(t, got.status == 400, "a stream without a session: %d", got.status)
	w.do(w.request("", method(http.MethodDelete), session(id)))
	_, err := io.ReadAll(response.Body)
	check.That(t, err == nil, "the stream ended with %v", err)
}
