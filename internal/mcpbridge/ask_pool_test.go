package mcpbridge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// Fifty and more calls wait for a person: others are served at once, all are answered, each by its own answer, and
// one too many is not asked.
func TestManyQuestionsWhileOthersAreServed(t *testing.T) {
	const most = 64
	inEachWay(t, func(t *testing.T, connect func(testing.TB, *handler) duplex) {
		d := connect(t, asker(t))
		ids := make(map[string]string) // of questions, by that of the call
		for i := range most {
			d.send(callLine(i, "wait", "{}"))
			ids[fmt.Sprint(i)] = d.question()
			// More would be too many on HTTP, if calls that wait counted.
			d.send(callLine(1000+i, "echo", fmt.Sprintf(`{"a":%d}`, i)))
			got := d.next().text(t)
			check.Must(t, got == fmt.Sprintf(`{"a":%d}`, i), "got %s", got)
		}
		d.send(callLine(most, "wait", "{}"))
		check.Equal(t, d.next().text(t), "error: too many questions to the client are open", "one too many")
		for call, id := range ids {
			d.reply(id, `"result":{"action":"accept","content":{"decision":"deny","reason":"`+call+`"}}`)
		}
		for range most {
			a := d.next()
			got, want := a.text(t), fmt.Sprintf(`accept deny %s`, a.ID)
			check.That(t, got == want, "call %s: %s", a.ID, got)
			delete(ids, string(a.ID))
		}
		check.Equal(t, len(ids), 0, "calls without an answer: %v", ids)
		// All places are there again.
		d.send(callLine(2000, "wait", "{}"))
		d.reply(d.question(), yes)
		got := d.next().text(t)
		check.That(t, strings.HasPrefix(got, "accept"), "got %s", got)
	})
}

// A call that asks makes room for one that waits for its turn.
func TestAskingGivesTheTurnAway(t *testing.T) {
	h := newHandler(t)
	running, goOn := make(chan string, 100), make(chan struct{})
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		running <- "begun"
		select {
		case <-goOn:
			return ask(ctx, call)
		case <-ctx.Done():
			return mcpbridge.Result{}
		}
	}
	d := duplexStdio(t, h)
	for i := range 64 {
		d.send(callLine(i, "wait", "{}"))
		receive(t, running, "begun")
	}
	d.send(callLine(100, "wait", "{}"))
	nothing(t, running)
	goOn <- struct{}{}
	id := d.question()
	receive(t, running, "begun")
	goOn <- struct{}{} // one more has left, so that the first can come back
	d.question()
	d.reply(id, yes)
	got := d.next().text(t)
	check.That(t, strings.HasPrefix(got, "accept"), "got %s", got)
	d.leave()
	h.waitIdle()
}

// The messages of calls that wait hold bounded memory, and none of that of others.
func TestQuestionsHoldBoundedMemory(t *testing.T) {
	d := duplexStdio(t, asker(t)) // four messages of 1 MiB
	large := `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`
	for i := range 4 {
		d.send(callLine(i, "wait", large))
		d.question()
	}
	d.send(callLine(4, "wait", large))
	check.Equal(t, d.next().text(t), "error: too many questions to the client are open")
	for i := range check.Smaller(8, 2) {
		d.send(callLine(10+i, "echo", large))
		got := d.next().text(t)
		check.Must(t, got == large, "got %.100s", got)
	}
}

// A call whose answer has come waits for its turn, before calls that have not begun; or only until it is cancelled.
func TestComingBackWaitsForATurn(t *testing.T) {
	h := asker(t)
	running, ended := make(chan string, 100), make(chan string, 100)
	release := make(chan struct{})
	h.tools["rich"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		running <- string(call.Arguments)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return mcpbridge.Result{Text: "done"}
	}
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		text := outcome(call.Elicit(ctx, approval()))
		ended <- string(call.Arguments)
		return mcpbridge.Result{Text: text}
	}
	d := duplexStdio(t, h)
	d.send(callLine(1, "wait", `{"n":1}`))
	first := d.question()
	d.send(callLine(2, "wait", `{"n":2}`))
	second := d.question()
	for i := range 64 {
		d.send(callLine(100+i, "rich", "{}"))
		receive(t, running, "{}")
	}
	d.send(callLine(200, "rich", `{"last":true}`))
	d.reply(first, yes)
	d.reply(second, yes)
	nothing(t, ended)
	nothing(t, running)
	d.send(cancelLine(2))
	receive(t, ended, `{"n":2}`)
	nothing(t, ended)
	release <- struct{}{}
	receive(t, ended, `{"n":1}`)
	close(release)
	receive(t, running, `{"last":true}`)
	for range 66 { // all but the one that was cancelled
		d.next()
	}
	h.waitIdle()
}

// page is a response that can be read while it is written.
type page struct {
	header http.Header
	mu     sync.Mutex
	text   strings.Builder
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(int)     {}
func (p *page) Flush()              {}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// A response on which a person is waited for is not silent, since clients and proxies give up on what is.
func TestOpenQuestionsKeepTheResponseOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := unserved(t, asker(t))
		post := func(body, id string) *page {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+aliceToken)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", id)
			p := &page{header: make(http.Header)}
			go handler.ServeHTTP(p, r)
			synctest.Wait()
			return p
		}
		id := post(initialize, "").header.Get("Mcp-Session-Id")
		call := post(callLine(1, "wait", "{}"), id)
		_, after, found := strings.Cut(call.String(), `"id":"`)
		question, _, _ := strings.Cut(after, `"`)
		check.Must(t, found && !strings.Contains(call.String(), ": open"), "got %s", call)
		time.Sleep(2 * time.Minute)
		got := strings.Count(call.String(), ": open\n\n")
		check.That(t, got >= 4, "%d comments in two minutes: %s", got, call)
		post(`{"jsonrpc":"2.0","id":"`+question+`",`+yes+`}`, id)
		check.That(t, strings.Contains(call.String(), "accept"), "got %s", call)
	})
}
