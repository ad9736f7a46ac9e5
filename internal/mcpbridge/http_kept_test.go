package mcpbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// What is kept for a client is bounded: of a call that runs the last events, of calls that have ended the last.
func TestWhatIsKeptIsBounded(t *testing.T) {
	h := newHandler(t)
	running, say, _ := told(h)
	h.tools["echo"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Text: strings.Repeat("x", 5<<20)}
	}
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id := w.initialize()
	s := w.stream(w.request(slowCall, session(id)))
	receive(t, running, "false")
	first := s.event(t)
	s.leave()
	for range 100 {
		say <- strings.Repeat("x", 5000)
	}
	say <- "end"
	h.waitIdle()
	var bytes int
	got := w.stream(w.resume(id, first.id)).rest(t)
	for _, b := range got {
		bytes += len(b.data)
	}
	if bytes > 100_000 || len(got) < 5 || parseAnswer(t, got[len(got)-1].data).text(t) != "done" {
		t.Errorf("%d events of %d bytes", len(got), bytes)
	}
	for number := range 4 {
		s := w.stream(w.request(callLine(number, "echo", "{}"), session(id)))
		s.rest(t)
	}
	eventually(t, "what is older than 16 MiB is gone", func() bool { return w.do(w.resume(id, first.id)).status == 410 })
}

// recorded sends a client's request to a handler in this process, in a bubble of time.
func recorded(handler http.Handler, r *http.Request) (p *page, leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	p = &page{header: make(http.Header)}
	made := httptest.NewRequest(r.Method, r.URL.String(), r.Body)
	made.Header = r.Header
	go handler.ServeHTTP(p, made.WithContext(ctx))
	synctest.Wait()
	return p, cancel
}

// A call whose stream nobody resumes ends after five minutes, not before; an answer that nobody came for is kept as long.
func TestResumingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		running, say, ended := told(h)
		handler := unserved(t, h)
		w := web{t, "http://localhost"}
		opened, _ := recorded(handler, w.request(initialize))
		id := opened.header.Get("Mcp-Session-Id")
		find := func(event string) (*page, func()) { return recorded(handler, w.resume(id, event)) }

		_, leave := recorded(handler, w.request(slowCall, session(id)))
		receive(t, running, "false")
		leave()
		synctest.Wait()
		time.Sleep(4 * time.Minute)
		_, leave = find("1-0")
		time.Sleep(10 * time.Minute) // connected, it has all the time
		leave()
		synctest.Wait()
		time.Sleep(4 * time.Minute)
		check.Must(t, len(ended) == 0, "the call was cancelled in its time")
		time.Sleep(time.Minute + time.Second)
		receive(t, ended, "cancelled")
		got, _ := find("1-0")
		check.That(t, strings.Contains(got.String(), "gone"), "after its time: %s", got)

		for i, how := range []string{"is not sent", "was sent", "was sent to who resumed"} {
			event := fmt.Sprint(i+2, "-0")
			_, leave := recorded(handler, w.request(slowCall, session(id)))
			receive(t, running, "false")
			if how != "was sent" {
				leave()
				synctest.Wait()
			}
			if how == "was sent to who resumed" {
				find(event)
			}
			say <- "end"
			time.Sleep(4 * time.Minute)
			got, _ := find(event)
			check.That(t, strings.Contains(got.String(), `"text":"done"`), "an answer that %s is not kept: %s", how, got)
			time.Sleep(time.Minute + time.Second)
			got, _ = find(event)
			check.That(t, strings.Contains(got.String(), "gone"), "an answer that %s is kept too long: %s", how, got)
		}
	})
}

// A call that says nothing is not silent for those who asked for progress, on any transport, nor is its stream for
// the others. A call that never began says nothing.
func TestSilentCallsShowThatTheyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		_, say, _ := told(h)
		c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
		c.send(strings.Replace(slowCall, "wait", "arrive_panics", 1))
		check.Equal(t, c.read().Error.Code, -32603)
		c.send(slowCall)
		time.Sleep(26 * time.Second)
		check.Equal(t, c.read().progress(t), "still running after 25s")
		time.Sleep(25 * time.Second)
		check.Equal(t, c.read().progress(t), "still running after 50s")
		say <- "end"
		check.Equal(t, c.read().text(t), "done")
		check.NoError(t, c.end())
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		_, say, _ := told(h)
		handler := unserved(t, h)
		for _, accept := range []string{"application/json, text/event-stream", "*/*"} {
			p, _ := recorded(handler, web{t, "http://localhost"}.request(modernLine(1, "wait", "{}"), modern("tools/call", "wait"), header("Accept", accept)))
			time.Sleep(299 * time.Second)
			got := strings.Count(p.String(), ": open\n\n")
			check.That(t, got >= 11, "%d comments in five minutes: %s", got, p)
			say <- "end"
			synctest.Wait()
			check.That(t, strings.Contains(p.String(), "done"), "got %s", p)
		}
	})
}

func TestLegacySessions(t *testing.T) {
	h := newHandler(t)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id := w.initialize()
	call := callLine(1, "whoami", "{}")
	for _, test := range []struct {
		name  string
		edits []func(*http.Request)
		want  int
	}{
		{"own session", []func(*http.Request){session(id)}, 200},
		{"own session with its revision", []func(*http.Request){session(id), header("Mcp-Protocol-Version", "2025-11-25")}, 200},
		{"unknown revision", []func(*http.Request){session(id), header("Mcp-Protocol-Version", "2001-01-01")}, 400},
		{"no session", nil, 400},
		{"invented session", []func(*http.Request){session("mcp-session-" + id)}, 404},
		{"another principal's session", []func(*http.Request){session(id), as(bobToken)}, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, w.do(w.request(call, test.edits...)).status, test.want, "status")
		})
	}
	for _, verb := range []string{http.MethodGet, http.MethodDelete} {
		got := w.do(w.request("", method(verb), session(id), as(bobToken)))
		check.That(t, got.status == 404, "%s on another principal's session: %d", verb, got.status)
	}
	check.Equal(t, w.do(w.request(`{"jsonrpc":"2.0","id":1,"result":{}}`, session(id))).status, 202, "an answer to nothing")
	broken := strings.Replace(initialize, `"protocolVersion":"2025-11-25"`, `"protocolVersion":7`, 1)
	got := w.do(w.request(broken))
	check.That(t, got.status == 400 && got.header.Get("Mcp-Session-Id") == "", "a broken initialize: %+v", got)
	if got := w.do(w.request(initialized, session(id))); got.status != 202 || got.body != "" {
		t.Errorf("a notification: %+v", got)
	}
	check.Equal(t, w.do(w.request("", method(http.MethodDelete), session(id))).status, 204, "DELETE")
	check.Equal(t, w.do(w.request(call, session(id))).status, 404, "after DELETE")
	first, second := h.calls()[0].Caller, h.calls()[1].Caller
	check.That(t, first.Connection != "" && first.Connection != id && first == second, "callers %+v and %+v", first, second)
}

func TestSessionsAreBounded(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{MaxSessions: 3})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	use := func(id string, want int, edits ...func(*http.Request)) {
		t.Helper()
		check.Equal(t, w.do(w.request(list, append(edits, session(id))...)).status, want, "status")
	}
	bobs := w.initialize(as(bobToken))
	oldest, second := w.initialize(), w.initialize()
	use(oldest, 200)
	use(second, 200)
	var idle string
	for range 10 { // of who only opens them, each makes room for the next
		idle = w.initialize()
	}
	use(oldest, 200)
	use(second, 200)
	use(idle, 200)
	w.initialize()
	use(oldest, 404) // idle longest
	use(second, 200)
	use(idle, 200)
	use(bobs, 200, as(bobToken))
}

// A session that is in use never makes room for another: not while it has a call, also one whose stream was lost, nor
// a stream, nor a command behind it. Where all are in use, the next is told so.
func TestSessionsInUseStay(t *testing.T) {
	h := newHandler(t)
	running, ended := waiting(h)
	var busy atomic.Pointer[string]
	config := bridgeConfig(h)
	config.Busy = func(connection string) bool { who := busy.Load(); return who != nil && *who == connection }
	w := startWebWith(t, config, mcpbridge.HTTPOptions{MaxSessions: 4, SSE: true})
	calling, lost, streaming, behind := w.initialize(), w.initialize(), w.initialize(), w.initialize()

	w.do(w.request(callLine(1, "whoami", "{}"), session(behind)))
	arrived := h.calls()
	busy.Store(&arrived[0].Caller.Connection)
	w.start(w.request(callLine(1, "wait", `{"by":1}`), session(calling)))
	receive(t, running, `{"by":1}`)
	stream := w.stream(w.request(callLine(1, "wait", `{"by":2}`), session(lost)))
	receive(t, running, `{"by":2}`)
	stream.event(t)
	stream.leave()
	own := w.stream(w.request("", method(http.MethodGet), session(streaming), header("Accept", "text/event-stream")))
	defer own.leave()

	for range 3 {
		if got := w.do(w.request(initialize)); got.status != 503 || got.header.Get("Mcp-Session-Id") != "" || !strings.Contains(got.body, "DELETE") {
			t.Errorf("one too many: %+v", got)
		}
		one := w.stream(w.request("", path("/sse"), method(http.MethodGet)))
		if one.leave(); one.status != 503 {
			t.Errorf("one SSE stream too many: %d", one.status)
		}
	}
	if got := w.initialize(as(bobToken)); got == "" {
		t.Error("the other principal got none")
	}
	nothing(t, ended)
	for _, id := range []string{calling, lost, streaming, behind} {
		got := w.do(w.request(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, session(id)))
		check.That(t, got.status == 200, "a session in use answers %d", got.status)
	}
	busy.Store(nil)
	w.initialize()
	got := w.do(w.request(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, session(behind)))
	check.That(t, got.status == 404, "the session whose command has ended answers %d", got.status)
}

func TestProgressStreamsOnThePost(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{})
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":5}}}`
	id := w.initialize()
	got := w.do(w.request(call, session(id)))
	messages := got.messages(t)
	check.That(t, len(messages) == 4 && messages[0].Method == "notifications/progress" && messages[3].text(t) == "done", "got %+v", got)
	check.Equal(t, got.header.Get("X-Accel-Buffering"), "no", "a proxy may buffer the stream")
	plain := w.do(w.request(call, session(id), header("Accept", "application/json")))
	if messages := plain.messages(t); len(messages) != 1 || messages[0].text(t) != "done" {
		t.Errorf("a client that takes no stream got %+v", plain)
	}
}
