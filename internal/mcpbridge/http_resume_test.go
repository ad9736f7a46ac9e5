package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// eventStream is a response that is read event by event.
type eventStream struct {
	status int
	lines  *bufio.Reader
	leave  func()
}

// block is one event, or a comment, of a stream.
type block struct{ id, data, comment string }

// stream sends a request and returns as soon as its response begins.
func (w web) stream(r *http.Request) *eventStream {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	response := check.Value(http.DefaultClient.Do(r.WithContext(ctx)))(w.t)
	leave := func() { cancel(); response.Body.Close() }
	w.t.Cleanup(leave)
	return &eventStream{response.StatusCode, bufio.NewReaderSize(response.Body, 1<<20), leave}
}

func (s *eventStream) next() (b block, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return b, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			return b, nil
		case name == "id":
			b.id = value
		case name == "data":
			b.data = value
		case name == "":
			b.comment = value
		}
	}
}

// event is the next that is no comment.
func (s *eventStream) event(t testing.TB) block {
	t.Helper()
	for {
		b, err := s.next()
		check.Must(t, err == nil, "the stream ended: %v", err)
		if b.comment == "" {
			return b
		}
	}
}

// rest are all further events, to the end of the stream.
func (s *eventStream) rest(t testing.TB) (all []block) {
	t.Helper()
	for {
		b, err := s.next()
		if err == io.EOF {
			return all
		}
		check.OK(t, err)
		if b.comment == "" {
			all = append(all, b)
		}
	}
}

// resume asks for what came after an event.
func (w web) resume(id, last string, edits ...func(*http.Request)) *http.Request {
	return w.request("", append([]func(*http.Request){
		method(http.MethodGet), session(id), header("Accept", "text/event-stream"), header("Last-Event-ID", last),
	}, edits...)...)
}

// told adds a tool that runs until the test lets it end, and says what it is told to say.
func told(h *handler) (running chan string, say, ended chan string) {
	running, say, ended = make(chan string, 10), make(chan string), make(chan string, 10)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		running <- fmt.Sprint(call.Fragile)
		for {
			select {
			case text := <-say:
				if text == "end" {
					return mcpbridge.Result{Text: "done"}
				}
				call.Progress(text, 0, 0)
			case <-ctx.Done():
				ended <- "cancelled"
				return mcpbridge.Result{Text: "cancelled"}
			}
		}
	}
	return running, say, ended
}

// progress is the message of a progress notification.
func (a answer) progress(t testing.TB) string {
	t.Helper()
	var params struct{ Message string }
	err := json.Unmarshal(a.Params, &params)
	check.That(t, err == nil && a.Method == "notifications/progress", "no progress: %s", a.Raw)
	return params.Message
}

const slowCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":5}}}`

// Whoever takes event streams has one while the call still runs and says nothing, and no time passes before it opens: what
// keeps a silent one open would open it too, half a minute later.
func TestTheStreamOpensAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		running, say, _ := told(h)
		handler := unserved(t, h)
		w := web{t, "http://localhost"}
		open := func(version string) func(*http.Request) {
			p, _ := recorded(handler, w.request(strings.Replace(initialize, "2025-11-25", version, 1)))
			return session(p.header.Get("Mcp-Session-Id"))
		}
		silent := callLine(1, "wait", "{}")
		for name, test := range map[string]struct {
			request        *http.Request
			fragile, first string
		}{
			"2025-11-25":                  {w.request(silent, open("2025-11-25")), "false", "id: "},
			"2025-06-18":                  {w.request(silent, open("2025-06-18")), "true", ": open\n\n"},
			"2025-06-18 with progress":    {w.request(slowCall, open("2025-06-18")), "false", ": open\n\nid: "},
			"2026-07-28":                  {w.request(modernLine(1, "wait", "{}"), modern("tools/call", "wait")), "true", ": open\n\n"},
			"who takes what is simplest":  {w.request(silent, open("2025-11-25"), header("Accept", "*/*")), "true", ""},
			"who takes nothing but JSON:": {w.request(silent, open("2025-11-25"), header("Accept", "application/json")), "true", ""},
		} {
			p, _ := recorded(handler, test.request)
			receive(t, running, test.fragile)
			check.That(t, strings.HasPrefix(p.String(), test.first) && (p.String() == "") == (test.first == ""), "%s: first came %q", name, p)
			say <- "end"
			synctest.Wait()
			check.That(t, strings.Contains(p.String(), `"text":"done"`), "%s: then came %q", name, p)
			check.Equal(t, p.header.Get("Content-Type") == "application/json", test.first == "", "%s: JSON", name)
		}
	})
}

// A call whose connection is lost goes on, and its client gets what it missed, in order and once, however often it
// loses the connection.
func TestResume(t *testing.T) {
	h := newHandler(t)
	running, say, ended := told(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id := w.initialize()
	s := w.stream(w.request(slowCall, session(id)))
	receive(t, running, "false")
	first := s.event(t)
	say <- "one"
	one := s.event(t)
	s.leave()
	say <- "two"
	s = w.stream(w.resume(id, one.id))
	two := s.event(t)
	check.That(t, parseAnswer(t, two.data).progress(t) == "two" && two.id != one.id, "got %+v", two)
	s.leave()
	say <- "three"
	say <- "end"
	h.waitIdle()
	want := []string{"three", "done"}
	for _, from := range []string{two.id, one.id, first.id} { // the answer to a lost answer
		s = w.stream(w.resume(id, from))
		var got []string
		for _, b := range s.rest(t) {
			if a := parseAnswer(t, b.data); a.Method != "" {
				got = append(got, a.progress(t))
			} else {
				got = append(got, a.text(t))
			}
		}
		check.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "after %s: %v, want %v", from, got, want)
		want = append([]string{map[int]string{2: "two", 3: "one"}[len(want)]}, want...)
	}
	nothing(t, ended)
}

// Who asks for a stream again gets it from the connection that has it: the server may not know yet that this one is dead.
func TestResumeTakesOver(t *testing.T) {
	h := newHandler(t)
	running, say, _ := told(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id := w.initialize()
	before := w.stream(w.request(slowCall, session(id)))
	receive(t, running, "false")
	first := before.event(t)
	after := w.stream(w.resume(id, first.id))
	got := before.rest(t)
	check.That(t, len(got) == 0, "the old connection got %+v", got)
	say <- "end"
	if got := after.rest(t); len(got) != 1 || parseAnswer(t, got[0].data).text(t) != "done" {
		t.Errorf("the new connection got %+v", got)
	}
}

// Only the session that made a call can resume it, and only while it can be.
func TestResumeIsForItsOwn(t *testing.T) {
	h := newHandler(t)
	running, say, ended := told(h)
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	id, other, bobs := w.initialize(), w.initialize(), w.initialize(as(bobToken))
	s := w.stream(w.request(slowCall, session(id)))
	receive(t, running, "false")
	first := s.event(t)
	s.leave()
	for _, test := range []struct {
		name string
		r    *http.Request
		want int
	}{
		{"another principal with the session", w.resume(id, first.id, as(bobToken)), 404},
		{"another principal with its own", w.resume(bobs, first.id, as(bobToken)), 410},
		{"another session", w.resume(other, first.id), 410},
		{"no session", w.resume("", first.id), 400},
		{"no token", w.resume(id, first.id, header("Authorization", "")), 401},
		{"an event of nobody", w.resume(id, "zz-1"), 410},
		{"no event", w.resume(id, "-"), 410},
		{"2026-07-28", w.resume(id, first.id, header("Mcp-Protocol-Version", "2026-07-28")), 405},
	} {
		check.Equal(t, w.stream(test.r).status, test.want, "%s", test.name)
	}
	s = w.stream(w.resume(id, first.id))
	check.Equal(t, w.do(w.request(cancelLine(7), session(id))).status, 202, "cancelling")
	receive(t, ended, "cancelled")
	got := s.rest(t)
	check.That(t, len(got) == 0, "a cancelled call was answered: %+v", got)
	check.Equal(t, w.do(w.resume(id, first.id)).status, 410, "a cancelled call is resumed")
	w.start(w.request(slowCall, session(id)))
	receive(t, running, "false")
	w.do(w.request("", method(http.MethodDelete), session(id)))
	receive(t, ended, "cancelled")
	_ = say
}
