package mcpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// approval is a form as the server will ask it.
func approval() mcpbridge.Form {
	return mcpbridge.Form{
		Message: "write_to_file wants to change \"docs/a.md\".",
		Options: []mcpbridge.Option{{"approve_once", "Allow once"}, {"approve_for_intent", "Allow for this intent"}, {"deny", "Deny"}},
	}
}

// ask is a tool that asks and tells what came of it.
func ask(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
	if call.Elicit == nil {
		return mcpbridge.Result{Text: "nobody to ask"}
	}
	answer, err := call.Elicit(ctx, approval())
	return mcpbridge.Result{Text: outcome(answer, err)}
}

func outcome(answer mcpbridge.Answer, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", answer.Action, answer.Decision, answer.Reason))
}

// asker has "wait" ask.
func asker(t testing.TB) *handler {
	h := newHandler(t)
	h.tools["wait"] = ask
	return h
}

// duplex is a client that can be asked, over whatever transport.
type duplex struct {
	t        testing.TB
	send     func(message string)
	messages chan answer
	leave    func()
}

func (d duplex) next() answer {
	d.t.Helper()
	select {
	case a, ok := <-d.messages:
		check.Must(d.t, ok, "the connection has ended")
		return a
	case <-time.After(patience):
		d.t.Fatal("no message")
	}
	return answer{}
}

// question is the next message, which must be a form; it returns its id.
func (d duplex) question() string {
	d.t.Helper()
	a := d.next()
	var id string
	if a.Method != "elicitation/create" || json.Unmarshal(a.ID, &id) != nil || len(id) < 26 {
		d.t.Fatalf("got %s, want a question with an unguessable id", a.Raw)
	}
	return id
}

func (d duplex) reply(id, member string) {
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, member))
}

const yes = `"result":{"action":"accept","content":{"decision":"approve_once"}}`

// pump moves whole messages to a channel until the source has ended.
func pump(t testing.TB, lines <-chan string) chan answer {
	messages := make(chan answer, 1000)
	go func() {
		defer close(messages)
		for line := range lines {
			messages <- parseAnswer(t, line)
		}
	}()
	return messages
}

func duplexStdio(t testing.TB, h *handler) duplex {
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{MaxLine: 1 << 20}).initialize()
	return duplex{t, func(m string) { c.send(m) }, pump(t, c.all()), func() { c.in.Close() }}
}

func duplexSSE(t testing.TB, h *handler) duplex {
	return overSSE(t, startWeb(t, h, mcpbridge.HTTPOptions{SSE: true}), aliceToken)
}

func overSSE(t testing.TB, w web, token string) duplex {
	stream := openSSE(t, w, token)
	d := duplex{t, func(m string) {
		check.Equal(t, w.do(w.request(m, path("/message"), query(stream.query), as(token))).status, http.StatusAccepted, "%s", m)
	}, pump(t, stream.events), stream.leave}
	d.send(initialize)
	d.next()
	return d
}

func duplexHTTP(t testing.TB, h *handler) duplex {
	return overHTTP(t, startWeb(t, h, mcpbridge.HTTPOptions{}), aliceToken)
}

// overHTTP posts each message on its own and gathers what comes on all the responses; leave closes these.
func overHTTP(t testing.TB, w web, token string) duplex {
	id := w.initialize(as(token))
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	messages := make(chan answer, 1000)
	if response, err := http.DefaultClient.Do(w.request("", method(http.MethodGet), session(id), as(token)).WithContext(ctx)); err == nil {
		go func() { // of the session's own stream
			defer response.Body.Close()
			gather(t, response, messages)
		}()
	}
	send := func(m string) {
		response, err := http.DefaultClient.Do(w.request(m, session(id), as(token)).WithContext(ctx))
		if err != nil {
			return // it was left before it was answered
		}
		defer response.Body.Close()
		gather(t, response, messages)
	}
	return duplex{t, func(m string) {
		if strings.Contains(m, `"tools/call"`) {
			go send(m) // until it is answered
			return
		}
		send(m)
	}, messages, leave}
}

// gather passes on what comes on a response, in either form.
func gather(t testing.TB, response *http.Response, messages chan<- answer) {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		if body, _ := io.ReadAll(response.Body); len(body) > 0 {
			messages <- parseAnswer(t, string(body))
		}
		return
	}
	events := make(chan string)
	go func() { defer close(events); readEvents(response.Body, events) }()
	for event := range events {
		messages <- parseAnswer(t, event)
	}
}

// inEachWay runs a test on all that can carry a question.
func inEachWay(t *testing.T, test func(t *testing.T, connect func(testing.TB, *handler) duplex)) {
	for name, connect := range map[string]func(testing.TB, *handler) duplex{
		"stdio": duplexStdio, "streamable HTTP": duplexHTTP, "SSE": duplexSSE,
	} {
		t.Run(name, func(t *testing.T) { test(t, connect) })
	}
}

// A question is answered by what the person did, and by nothing that does not fit the form.
func TestElicit(t *testing.T) {
	const bad = "error: the client's answer does not fit the form"
	tests := []struct{ reply, want string }{
		{yes, `accept approve_once`},
		{`"result":{"action":"accept","content":{"reason":"é","decision":"deny"},"_meta":{}}`, `accept deny é`},
		{`"result":{"action":"accept","content":{"decision":"approve_once","reason":""}}`, `accept approve_once`},
		{`"result":{"action":"decline"}`, "decline"},
		{`"result":{"action":"decline","content":{"decision":"approve_once"}}`, "decline"},
		{`"result":{"action":"cancel"}`, "cancel"},
		{`"error":{"code":-32601,"message":"no\u001b[31m form"}`, bad + `: it sent an error: "no\x1b[31m form"`},
		{`"error":"x"`, bad},
		{`"result":{"action":"accept","content":{"decision":"approve_once"}},"error":{"code":1,"message":"x"}`, bad + ": it has a result and an error"},
		{`"result":{"action":"accept"}`, bad + ": it was accepted without content"},
		{`"result":{"action":"accept","content":{}}`, bad + `: "decision" is missing`},
		{`"result":{"action":"accept","content":[]}`, bad},
		{`"result":{"action":"accept","content":{"decision":"approve_once","by":"me"}}`, bad + `: the form has no field "by"`},
		{`"result":{"action":"accept","content":{"decision":"deny","decision":"approve_once"}}`, bad + `: "decision" is given twice`},
		{`"result":{"action":"accept","content":{"Decision":"approve_once"}}`, bad + `: the form has no field "Decision"`},
		{`"result":{"action":"accept","content":{"decision":"APPROVE_ONCE"}}`, bad},
		{`"result":{"action":"accept","content":{"decision":"approve"}}`, bad},
		{`"result":{"action":"accept","content":{"decision":true}}`, bad + `: "decision" is not a string`},
		{`"result":{"action":"accept","content":{"decision":null}}`, bad},
		{`"result":{"action":"accept","content":{"decision":["approve_once"]}}`, bad},
		{`"result":{"action":"accept","content":{"decision":"approve_once","reason":"` + strings.Repeat("é", 1001) + `"}}`, bad + `: "reason" is longer than 1000 characters`},
		{`"result":{"action":"ACCEPT","content":{"decision":"approve_once"}}`, bad},
		{`"result":{"Action":"accept","content":{"decision":"approve_once"}}`, bad},
		{`"result":{"action":"decline","action":"accept","content":{"decision":"approve_once"}}`, bad},
		{`"result":{"content":{"decision":"approve_once"}}`, bad},
		{`"result":"accept"`, bad},
		{`"result":{"action":"accept","content":{"decision":"approve_once","reason":"` + strings.Repeat("x", 500_000) + `"}}`, bad},
	}
	inEachWay(t, func(t *testing.T, connect func(testing.TB, *handler) duplex) {
		d := connect(t, asker(t))
		for i, test := range tests {
			d.send(callLine(i, "wait", "{}"))
			d.reply(d.question(), test.reply)
			got := d.next()
			if string(got.ID) != fmt.Sprint(i) || !strings.HasPrefix(got.text(t), test.want) {
				t.Errorf("%.200s: got %.300s, want %s", test.reply, got.Raw, test.want)
			}
		}
	})
}

// The schema of a form is what the revision in use allows.
func TestFormOfEachRevision(t *testing.T) {
	const decision = `"type":"string","title":"Decision","description":"What the call may do.",`
	for revision, options := range map[string]string{
		"2025-11-25": `"oneOf":[{"const":"approve_once","title":"Allow once"},{"const":"approve_for_intent","title":"Allow for this intent"},{"const":"deny","title":"Deny"}]`,
		"2025-06-18": `"enum":["approve_once","approve_for_intent","deny"],"enumNames":["Allow once","Allow for this intent","Deny"]`,
	} {
		t.Run(revision, func(t *testing.T) {
			c := startStdio(t, newServer(t, asker(t)), mcpbridge.StdioOptions{})
			c.send(strings.Replace(initialize, "2025-11-25", revision, 1), initialized)
			c.read()
			c.send(callLine(1, "wait", "{}"))
			want := `{"message":"write_to_file wants to change \"docs/a.md\".","requestedSchema":{"type":"object","properties":{"decision":{` +
				decision + options + `},"reason":{"type":"string","title":"Reason","description":"Yours, if you like; it reaches the agent.","maxLength":1000}},"required":["decision"]}}`
			check.Equal(t, string(c.read().Params), want)
		})
	}
}
