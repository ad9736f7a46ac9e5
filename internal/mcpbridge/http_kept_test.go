package mcpbridge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
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

// A call whose stream nobody resumes ends after five minutes, not before; an answer that nobody came for is kept as
// long.
func TestResumingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		running, say, ended := told(h)
		handler := unserved(t, h)
		w := web{t, "http://localhost"}
		opened, _ := recorded(handler, w.request(initialize))
		id := opened.header.Get("Mcp-Session-Id")
		begin := func() {
			_, leave := recorded(handler, w.request(slowCall, session(id)))
			receive(t, running, "false")
			leave()
			synctest.Wait()
		}
		find := func(event string) (*page, func()) { return recorded(handler, w.resume(id, event)) }

		begin()
		time.Sleep(4 * time.Minute)
		_, leave := find("1-0")
		time.Sleep(10 * time.Minute) // connected, it has all the time
		leave()
		synctest.Wait()
		time.Sleep(4 * time.Minute)
		check.Must(t, len(ended) == 0, "the call was cancelled in its time")
		time.Sleep(time.Minute + time.Second)
		receive(t, ended, "cancelled")
		got, _ := find("1-0")
		check.That(t, strings.Contains(got.String(), "gone"), "after its time: %s", got)

		begin()
		say <- "end"
		synctest.Wait()
		time.Sleep(4 * time.Minute)
		if got, _ := find("2-0"); !strings.Contains(got.String(), `"text":"done"`) {
			t.Errorf("the answer is not kept: %s", got)
		}
		time.Sleep(6 * time.Minute)
		if got, _ := find("2-0"); !strings.Contains(got.String(), "gone") {
			t.Errorf("the answer is kept too long: %s", got)
		}

		recorded(handler, w.request(slowCall, session(id)))
		receive(t, running, "false")
		say <- "end"
		time.Sleep(4 * time.Minute)
		if got, _ := find("3-0"); !strings.Contains(got.String(), `"text":"done"`) {
			t.Errorf("the answer that was sent is not kept: %s", got)
		}
		time.Sleep(time.Minute + time.Second)
		if got, _ := find("3-0"); !strings.Contains(got.String(), "gone") {
			t.Errorf("the answer that was sent is kept too long: %s", got)
		}
	})
}

// A call that says nothing is not silent for those who asked for progress, on any transport, nor is its stream for
// the others.
func TestSilentCallsShowThatTheyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		_, say, _ := told(h)
		c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
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
