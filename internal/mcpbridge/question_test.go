package mcpbridge_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// question is a form of a tool's own, with one field.
func question(field string) mcpbridge.Question {
	return mcpbridge.Question{
		Message: "Which " + field + "?",
		Schema:  json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"string","maxLength":8}},"required":["` + field + `"]}`),
	}
}

// asksTwice asks two questions, one after the other, and tells what came of them.
func asksTwice(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
	var said []string
	for _, field := range []string{"name", "colour"} {
		reply, err := call.Ask(ctx, field, question(field))
		switch {
		case errors.Is(err, mcpbridge.ErrUnanswered):
			return mcpbridge.Result{Text: "not sent", Unanswered: true}
		case err != nil:
			said = append(said, "error: "+err.Error())
		default:
			said = append(said, string(reply.Action)+string(reply.Content))
		}
	}
	return mcpbridge.Result{Text: strings.Join(said, ", ")}
}

// A tool's question goes over the connection, and only what fits its form counts. What the form has not is left out.
func TestAsk(t *testing.T) {
	const bad = "error: the client's answer does not fit the form"
	inEachWay(t, func(t *testing.T, connect func(testing.TB, *handler) duplex) {
		h := newHandler(t)
		h.tools["wait"] = asksTwice
		d := connect(t, h)
		for i, test := range []struct{ reply, want string }{
			{`"result":{"action":"accept","content":{"name":"Ann"}}`, `accept{"name":"Ann"}`},
			{`"result":{"action":"accept","content":{"name":"Ann","more":1}}`, `accept{"name":"Ann"}`},
			{`"result":{"action":"decline","content":{"name":"Ann"}}`, "decline"},
			{`"result":{"action":"cancel"}`, "cancel"},
			{`"result":{"action":"accept","content":{"name":"longer than eight"}}`, bad},
			{`"result":{"action":"accept","content":{"name":1}}`, bad},
			{`"result":{"action":"accept","content":{}}`, bad},
			{`"result":{"action":"accept"}`, bad},
			{`"result":{"action":"accept","content":{"name":"a","name":"b"}}`, bad},
			{`"result":{"action":"accept","content":{"name":"a","Name":"b"}}`, bad},
			{`"result":{"action":"accept","content":{"name":"a","x":"` + strings.Repeat("x", 20_000) + `"}}`, bad},
			{`"result":{"action":"yes"}`, bad},
			{`"error":{"code":-32601,"message":"no"}`, bad},
		} {
			d.send(callLine(i, "wait", "{}"))
			d.reply(d.question(), test.reply)
			d.reply(d.question(), `"result":{"action":"decline"}`)
			got := d.next()
			if !strings.HasPrefix(got.text(t), test.want) || !strings.HasSuffix(got.text(t), ", decline") {
				t.Errorf("%.200s: got %.300s, want %s", test.reply, got.Raw, test.want)
			}
		}
	})
}

// Who has not declared forms is not asked, whatever the era; a question that cannot be put is the tool's mistake.
func TestAskIsForWhoCanAnswer(t *testing.T) {
	h := newHandler(t)
	h.tools["wait"] = asksTwice
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.send(strings.Replace(initialize, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, 1), initialized)
	c.read()
	for _, line := range []string{callLine(1, "wait", "{}"), modernCall(2, `{"sampling":{}}`, "")} {
		c.send(line)
		check.Equal(t, c.read().text(t), strings.Repeat(", error: the client cannot ask its user", 2)[2:])
	}
	for name, q := range map[string]mcpbridge.Question{
		"no message": {Schema: question("a").Schema}, "not UTF-8": {Message: "\xff", Schema: question("a").Schema},
		"a long message": {Message: strings.Repeat("x", 4001), Schema: question("a").Schema},
		"no schema":      {Message: "m"}, "no object": {Message: "m", Schema: json.RawMessage(`{"type":"string"}`)},
		"a long schema":    {Message: "m", Schema: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 17000) + `"}`)},
		"a foreign schema": {Message: "m", Schema: json.RawMessage(`{"type":"object","$ref":"https://example.com/s"}`)},
	} {
		h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
			_, err := call.Ask(ctx, "key", q)
			return mcpbridge.Result{Text: fmt.Sprint(err != nil, errors.Is(err, mcpbridge.ErrUnanswered))}
		}
		c.send(modernCall(3, forms, ""))
		check.Equal(t, c.read().text(t), "true false", name)
	}
}

// state is the requestState of a call that was answered with a question under that key.
func state(t *testing.T, a answer, key string) string {
	t.Helper()
	var read struct {
		Result struct {
			ResultType    string
			InputRequests map[string]struct {
				Method string
				Params struct {
					Message         string
					RequestedSchema json.RawMessage
				}
			}
			RequestState string
		}
	}
	check.OK(t, json.Unmarshal([]byte(a.Raw), &read))
	r := read.Result
	asked := r.InputRequests[key]
	check.Must(t, r.ResultType == "input_required" && len(r.InputRequests) == 1 && asked.Method == "elicitation/create" &&
		asked.Params.Message == "Which "+key+"?" && string(asked.Params.RequestedSchema) == string(question(key).Schema) && r.RequestState != "",
		"no question %q in %s", key, a.Raw)
	return r.RequestState
}

func resumed(state, responses string) string {
	more := ""
	if state != "" {
		more = fmt.Sprintf(`,"requestState":%q`, state)
	}
	return more + `,"inputResponses":{` + responses + "}"
}

// In 2026-07-28 a tool asks with its result. What was answered comes back, sealed; what does not fit is asked for again.
func TestAskByResult(t *testing.T) {
	eachModernTool(t, asksTwice, func(t *testing.T, exchange func(string) answer) {
		const ann = `"name":{"action":"accept","content":{"name":"Ann"}}`
		first := state(t, exchange(modernCall(1, forms, "")), "name")
		for _, unfit := range []string{
			`"other":{"action":"accept","content":{"name":"Ann"}}`, `"name":12345`, `"name":{"action":"accept","content":{"name":1}}`,
			`"name":{"action":"accept"}`, `"name":null`, `"Name":{"action":"decline"},` + ann,
		} {
			state(t, exchange(modernCall(2, forms, resumed(first, unfit))), "name")
		}
		exchange(modernCall(2, forms, resumed(first, ann+","+ann))).wantError(t, "2", -32602, "twice")
		second := state(t, exchange(modernCall(3, forms, resumed(first, ann+`,"more":{"action":"accept","content":{}}`))), "colour")
		check.That(t, first != second, "the state is the same")
		got := exchange(modernCall(4, forms, resumed(second, `"colour":{"action":"cancel"}`)))
		check.Equal(t, got.text(t), `accept{"name":"Ann"}, cancel`)
		// The answers can come at once, and without a state: nothing of them is anybody's word but the client's.
		got = exchange(modernCall(5, forms, resumed("", ann+`,"colour":{"action":"decline"}`)))
		check.Equal(t, got.text(t), `accept{"name":"Ann"}, decline`)

		spoilt := func(s string) { // what was sealed is not taken from anybody else
			t.Helper()
			exchange(modernCall(6, forms, resumed(s, `"colour":{"action":"cancel"}`))).wantError(t, "6", -32602, "requestState")
		}
		spoilt(second + "x")
		spoilt(second[:len(second)-2])
		prefix, rest, _ := strings.Cut(second, ".")
		payload, mac, _ := strings.Cut(rest, ".")
		clear := check.Value(base64.RawURLEncoding.DecodeString(payload))(t)
		spoilt(prefix + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(clear), "Ann", "Bob", 1))) + "." + mac)
		spoilt(prefix + "." + payload)
		spoilt(prefix + ".")
		other := strings.Replace(modernCall(6, forms, resumed(second, "")), `"arguments":{}`, `"arguments":{"a":1}`, 1)
		exchange(other).wantError(t, "6", -32602, "of another call")
	})
}

// A state is of the principal who was asked; the same call in other words is the same call.
func TestAnswersAreOfOnePrincipal(t *testing.T) {
	h := newHandler(t)
	h.tools["wait"] = asksTwice
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	call := func(token, arguments, more string) answer {
		line := strings.Replace(modernCall(1, forms, more), `"arguments":{}`, `"arguments":`+arguments, 1)
		return w.do(w.request(line, modern("tools/call", "wait"), as(token))).messages(t)[0]
	}
	const decline = `"name":{"action":"decline"}`
	sealed := state(t, call(aliceToken, `{"a":1,"b":"x"}`, ""), "name")
	state(t, call(aliceToken, `{ "b":"\u0078", "a":1.0 }`, resumed(sealed, decline)), "colour")
	call(bobToken, `{"a":1,"b":"x"}`, resumed(sealed, decline)).wantError(t, "1", -32602, "of another call")
	another := startWeb(t, h, mcpbridge.HTTPOptions{})
	got := another.do(another.request(modernCall(1, forms, resumed(sealed, decline)), modern("tools/call", "wait"))).messages(t)[0]
	got.wantError(t, "1", -32602, "another server")
}

// A question that is not the tool's comes before it runs, each time: what is answered of the tool's own is carried through it.
func TestAnswersOutlastAnotherQuestion(t *testing.T) {
	var states []string // with which the call came
	operatorFirst := func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		came := ""
		if call.Resumed != nil {
			came = call.Resumed.State
		}
		if states = append(states, came); came != "of the operator" {
			return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: approval(), State: "of the operator"}}
		}
		return asksTwice(ctx, call)
	}
	eachModernTool(t, operatorFirst, func(t *testing.T, exchange func(string) answer) {
		const yes, ann = `"operator":{"action":"accept","content":{"decision":"approve_once"}}`, `"name":{"action":"accept","content":{"name":"Ann"}}`
		operator := func(a answer) string {
			var read struct{ Result struct{ RequestState string } }
			check.OK(t, json.Unmarshal([]byte(a.Raw), &read))
			check.Must(t, strings.Contains(a.Raw, `"operator"`) && read.Result.RequestState != "", "not the operator's: %s", a.Raw)
			return read.Result.RequestState
		}
		states = nil
		first := operator(exchange(modernCall(1, forms, "")))
		check.Equal(t, first, "of the operator", "nothing is to be carried")
		name := state(t, exchange(modernCall(2, forms, resumed(first, yes))), "name")
		second := operator(exchange(modernCall(3, forms, resumed(name, ann))))
		colour := state(t, exchange(modernCall(4, forms, resumed(second, yes))), "colour")
		third := operator(exchange(modernCall(5, forms, resumed(colour, `"colour":{"action":"cancel"}`))))
		got := exchange(modernCall(6, forms, resumed(third, yes)))
		check.Equal(t, got.text(t), `accept{"name":"Ann"}, cancel`)
		check.Equal(t, strings.Join(states, "|"), "|of the operator||of the operator||of the operator", "states")
		// What is too much to carry is asked for again.
		many := ann
		for n := range 17 {
			many += fmt.Sprintf(`,"more%d":0`, n)
		}
		for _, much := range []string{ann + `,"more":"` + strings.Repeat("x", 16<<10) + `"`, many} {
			check.Equal(t, operator(exchange(modernCall(7, forms, resumed(name, much)))), "of the operator")
		}
	})
}

// The questions of a call, and what it carries of their answers, are bounded.
func TestQuestionsOfACallAreBounded(t *testing.T) {
	many := func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		var err error
		for i := 0; err == nil || errors.Is(err, mcpbridge.ErrUnanswered); i++ {
			_, err = call.Ask(ctx, fmt.Sprint("key", i), question("name"))
		}
		check.Is(t, err, mcpbridge.ErrTooManyQuestions)
		return mcpbridge.Result{Unanswered: true}
	}
	eachModernTool(t, many, func(t *testing.T, exchange func(string) answer) {
		a := exchange(modernCall(1, forms, ""))
		check.Equal(t, strings.Count(a.Raw, "elicitation/create"), 16)
	})
	eachModernTool(t, func(context.Context, mcpbridge.Call) mcpbridge.Result { return mcpbridge.Result{Unanswered: true} },
		func(t *testing.T, exchange func(string) answer) {
			exchange(modernCall(1, forms, "")).wantError(t, "1", -32603, "has asked nothing")
		})
}

func eachModernTool(t *testing.T, f toolFunc, test func(t *testing.T, exchange func(message string) answer)) {
	t.Helper()
	h := newHandler(t)
	h.tools["wait"] = f
	t.Run("stdio", func(t *testing.T) {
		c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{MaxLine: 1 << 20})
		test(t, func(m string) answer { c.send(m); return c.read() })
	})
	t.Run("HTTP", func(t *testing.T) {
		w := startWeb(t, h, mcpbridge.HTTPOptions{})
		test(t, func(m string) answer { return w.do(w.request(m, modern("tools/call", "wait"))).messages(t)[0] })
	})
}

// A tool that is of no use without its questions says so before it runs, as 2026-07-28 has it.
func TestToolThatHasToAsk(t *testing.T) {
	h := newHandler(t)
	asks := tool("wait")
	asks.Asks = true
	h.tools["wait"] = asksTwice
	s := newServer(t, h, asks)
	c := startStdio(t, s, mcpbridge.StdioOptions{})
	c.send(modernCall(1, `{}`, ""))
	a := c.read()
	a.wantError(t, "1", -32021, "elicitation")
	check.Equal(t, string(a.Error.Data), `{"requiredCapabilities":{"elicitation":{}}}`)
	c.send(modernCall(2, forms, ""))
	state(t, c.read(), "name")
	check.Equal(t, len(h.calls()), 1, "calls")
}

// The kinds of content are as the protocol has them, in their order.
func TestKindsOfContent(t *testing.T) {
	h := newHandler(t)
	contents := []mcpbridge.Content{
		{MIMEType: "audio/wav", Data: "UklG"}, {URI: "a:b", MIMEType: "text/plain", Text: "t"}, {URI: "a:c", Data: "eA=="}, {URI: "a:d", Name: "d"},
	}
	const want = `{"type":"audio","data":"UklG","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"t"}},` +
		`{"type":"resource","resource":{"uri":"a:c","blob":"eA=="}},{"type":"resource_link","uri":"a:d","name":"d","description":"","mimeType":""}]`
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for text, begins := range map[string]string{"": "[", "x": `[{"type":"text","text":"x"},`} {
		h.tools["rich"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
			return mcpbridge.Result{Text: text, Content: contents}
		}
		c.send(callLine(1, "rich", "{}"))
		got := c.read().Raw
		check.That(t, strings.Contains(got, `"content":`+begins+want), "got %s", got)
	}
}
