package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// Nobody is asked who has not said that they can be.
func TestElicitIsOfferedToWhoCanAnswer(t *testing.T) {
	declares := func(capabilities, revision string) string {
		line := strings.Replace(initialize, `{"elicitation":{}}`, capabilities, 1)
		return strings.Replace(line, "2025-11-25", revision, 1)
	}
	for _, test := range []struct {
		capabilities, revision string
		want                   bool
	}{
		{`{"elicitation":{}}`, "2025-11-25", true},
		{`{"elicitation":{"form":{}}}`, "2025-11-25", true},
		{`{"elicitation":{"form":{},"url":{}}}`, "2025-11-25", true},
		{`{"elicitation":{}}`, "2025-06-18", true},
		{`{"elicitation":{}}`, "2025-03-26", false},
		{`{"elicitation":{}}`, "2024-11-05", false},
		{`{"elicitation":{"url":{}}}`, "2025-11-25", false},
		{`{"elicitation":null}`, "2025-11-25", false},
		{`{"Elicitation":{}}`, "2025-11-25", false},
		{`{"sampling":{},"roots":{"listChanged":true}}`, "2025-11-25", false},
		{`{}`, "2025-11-25", false},
	} {
		h := asker(t)
		c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
		c.send(declares(test.capabilities, test.revision), initialized)
		if a := c.read(); a.Error != nil {
			t.Fatalf("initialize: %s", a.Raw)
		}
		c.send(callLine(1, "wait", "{}"))
		a := c.read()
		call := h.calls()[0]
		if got := a.Method == "elicitation/create"; got != test.want || call.Caller.CanElicit != test.want || (call.Elicit != nil) != test.want {
			t.Errorf("%s of %s: got %s", test.capabilities, test.revision, a.Raw)
		}
		if test.revision == "2025-11-25" && !strings.Contains(test.capabilities, "Elicitation") { // what _meta says means the same
			c.send(strings.Replace(modernLine(2, "echo", "{}"), `clientCapabilities":{}`, `clientCapabilities":`+test.capabilities, 1))
			check.Equal(t, c.read().text(t), "{}")
			check.Equal(t, h.calls()[1].Caller.CanElicit, test.want, "%s in _meta", test.capabilities)
		}
	}
}

// A client that reads nothing but one JSON object has no place for a request.
func TestElicitNeedsAnEventStream(t *testing.T) {
	w := startWeb(t, asker(t), mcpbridge.HTTPOptions{})
	got := w.do(w.request(callLine(1, "wait", "{}"), session(w.initialize()), header("Accept", "application/json")))
	check.Equal(t, got.messages(t)[0].text(t), "nobody to ask")
}

// Answers that nobody waits for are dropped, whoever sends them: before the question, of an invented id, again, late,
// and as what is no message.
func TestAnswersToNoQuestion(t *testing.T) {
	inEachWay(t, func(t *testing.T, connect func(testing.TB, *handler) duplex) {
		h := asker(t)
		questions := make(chan string, 1)
		h.tools["echo"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
			ctx, giveUp := context.WithCancel(ctx)
			defer giveUp()
			go func() { <-questions; giveUp() }()
			return mcpbridge.Result{Text: outcome(call.Elicit(ctx, approval()))}
		}
		d := connect(t, h)
		d.reply("elicit-1", yes)
		d.send(callLine(1, "wait", "{}"))
		first := d.question()
		for _, id := range []string{"1", `"1"`, "0", `"elicit-"`, `"elicit-1"`, `"` + strings.ToLower(first) + `"`, `"` + first + ` "`, `""`} {
			d.send(`{"jsonrpc":"2.0","id":` + id + `,` + yes + `}`)
		}
		d.reply(first, `"result":{"action":"decline"}`)
		d.reply(first, yes)
		got := d.next().text(t)
		check.Must(t, got == "decline", "got %s", got)

		// The handler gives up; the form is taken back; the answer is too late.
		d.send(callLine(2, "echo", "{}"))
		late := d.question()
		questions <- late
		if a := d.next(); a.Method != "notifications/cancelled" || !strings.Contains(string(a.Params), `"requestId":"`+late+`"`) {
			t.Errorf("got %s, want the question taken back", a.Raw)
		}
		check.Equal(t, d.next().text(t), "error: context canceled")
		d.reply(late, yes)
		d.reply(first, yes)

		// The next question is not answered by any of these.
		d.send(callLine(3, "wait", "{}"))
		third := d.question()
		check.That(t, third != first && third != late, "an id was used twice: %s", third)
		d.reply(third, `"result":{"action":"cancel"}`)
		check.Equal(t, d.next().text(t), "cancel")
	})
}

// What is no message, or too long for one, neither answers nor ends a question.
func TestUnreadableAnswers(t *testing.T) {
	c := startStdio(t, newServer(t, asker(t)), mcpbridge.StdioOptions{MaxLine: 4096}).initialize()
	c.send(callLine(1, "wait", "{}"))
	var id string
	check.OK(t, json.Unmarshal(c.read().ID, &id))
	answer := func(member string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, member) }
	for _, line := range []string{
		answer(`"result":{"action":"accept","content":{"decision":"approve_once","reason":"` + strings.Repeat("x", 5000) + `"}}`),
		answer(`"result":{"action":"accept","content":{"decision":"approve_once","reason":"\ud800"}}`),
		answer(`"result":{"action":"accept","content":{"decision":"approve_once","reason":"` + "\xff" + `"}}`),
		answer(`"result":` + strings.Repeat("[", 300) + strings.Repeat("]", 300)),
		answer(`"result":{"action":"decline"},` + yes),
		answer(`"Result":{"action":"accept"}`),
		answer(`"result":null`),
		answer(`"method":"ping",` + yes),
		`[` + answer(yes) + `]`,
		answer(yes)[1:],
		strings.Replace(answer(yes), `"2.0"`, `"1.0"`, 1),
	} {
		c.send(line)
		a := c.read()
		check.That(t, a.Error != nil && a.Result == nil, "%.100s was answered %s", line, a.Raw)
	}
	c.send(answer(`"result":{"action":"decline"}`))
	check.Equal(t, c.read().text(t), "decline")
}

// Only the connection, session and principal that was asked can answer, also for who knows the question's id.
func TestAnswersOfOthers(t *testing.T) {
	h := asker(t)
	judge := func(t *testing.T, asked duplex, others ...func(message string)) {
		t.Helper()
		asked.send(callLine(1, "wait", "{}"))
		id := asked.question()
		for _, send := range others {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, yes))
		}
		asked.reply(id, `"result":{"action":"decline"}`)
		check.Equal(t, asked.next().text(t), "decline", "another one's answer counted")
	}
	w := startWeb(t, h, mcpbridge.HTTPOptions{SSE: true})
	post := func(want int, edits ...func(*http.Request)) func(string) {
		return func(m string) {
			check.Equal(t, w.do(w.request(m, edits...)).status, want, "%s", m)
		}
	}
	mine, bobs := w.initialize(), w.initialize(as(bobToken))
	stream, bobStream := openSSE(t, w, aliceToken), openSSE(t, w, bobToken)
	others := []func(string){
		post(202, session(mine)), post(202, session(bobs), as(bobToken)), post(404, session(mine), as(bobToken)),
		post(404, session("invented")), post(400), post(400, modern("", "")), post(400, modern("", ""), session(mine)),
		post(202, path("/message"), query(stream.query)), post(202, path("/message"), query(bobStream.query), as(bobToken)),
		post(404, path("/message"), query(stream.query), as(bobToken)),
	}
	t.Run("streamable HTTP", func(t *testing.T) { judge(t, overHTTP(t, w, aliceToken), others...) })
	t.Run("SSE", func(t *testing.T) { judge(t, overSSE(t, w, aliceToken), others...) })
	t.Run("stdio", func(t *testing.T) {
		s := newServer(t, h)
		other := startStdio(t, s, mcpbridge.StdioOptions{}).initialize()
		judge(t, duplexStdio(t, h), append(others, func(m string) { other.send(m) })...)
	})
}

// Whoever leaves, or cancels the call, ends the waiting.
func TestLeavingWhileAsked(t *testing.T) {
	const cancelled = "error: context canceled"
	begin := func(t *testing.T, connect func(testing.TB, *handler) duplex) (duplex, string, chan string) {
		t.Helper()
		h, ended := newHandler(t), make(chan string, 1)
		h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
			text := outcome(call.Elicit(ctx, approval()))
			ended <- text
			return mcpbridge.Result{Text: text}
		}
		d := connect(t, h)
		d.send(callLine(1, "wait", "{}"))
		return d, d.question(), ended
	}
	inEachWay(t, func(t *testing.T, connect func(testing.TB, *handler) duplex) {
		t.Run("cancelled", func(t *testing.T) {
			d, id, ended := begin(t, connect)
			d.send(cancelLine(1))
			receive(t, ended, cancelled)
			a := d.next()
			check.That(t, a.Method == "notifications/cancelled" && strings.Contains(string(a.Params), id), "got %s", a.Raw)
			d.reply(id, yes)
		})
	})
	t.Run("end of input", func(t *testing.T) {
		d, _, ended := begin(t, duplexStdio)
		d.leave()
		receive(t, ended, "error: the client can no longer answer")
	})
	t.Run("SSE stream closed", func(t *testing.T) {
		d, _, ended := begin(t, duplexSSE)
		d.leave()
		select {
		case <-ended: // by the session's end or the call's, whichever comes first
		case <-time.After(patience):
			t.Error("the call still waits")
		}
	})
	t.Run("session deleted", func(t *testing.T) {
		h, ended := newHandler(t), make(chan string, 1)
		h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
			_, err := call.Elicit(ctx, approval())
			ended <- fmt.Sprint(err != nil)
			return mcpbridge.Result{}
		}
		w := startWeb(t, h, mcpbridge.HTTPOptions{})
		id := w.initialize()
		_, done := w.start(w.request(callLine(1, "wait", "{}"), session(id)))
		eventually(t, "the call has arrived", func() bool { return len(h.calls()) == 1 })
		w.do(w.request("", method(http.MethodDelete), session(id)))
		receive(t, ended, "true")
		<-done
	})
}

// A handler that leaves a question behind, asks twice at once, or asks after its call, harms nobody.
func TestMisuseOfElicit(t *testing.T) {
	h := newHandler(t)
	left := make(chan string, 1)
	var kept mcpbridge.Call
	h.tools["wait"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		kept = call
		asked := make(chan struct{})
		go func() {
			close(asked)
			left <- outcome(call.Elicit(context.Background(), approval()))
		}()
		<-asked
		return mcpbridge.Result{Text: "ended"}
	}
	h.tools["echo"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		var wait sync.WaitGroup
		texts := make([]string, 3)
		for i := range texts {
			wait.Go(func() { texts[i] = outcome(call.Elicit(ctx, approval())) })
		}
		wait.Wait()
		return mcpbridge.Result{Text: strings.Join(texts, "; ")}
	}
	d := duplexStdio(t, h)
	d.send(callLine(1, "wait", "{}"))
	for a := d.next(); string(a.ID) != "1"; a = d.next() {
	}
	receive(t, left, "error: the client can no longer answer")
	_, err := kept.Elicit(context.Background(), approval())
	check.That(t, err != nil, "a call that is over was answered")
	d.send(callLine(2, "echo", "{}"))
	for range 3 {
		d.reply(d.question(), yes)
	}
	got := d.next().text(t)
	check.That(t, strings.Count(got, "approve_once") == 3, "got %s", got)
}
