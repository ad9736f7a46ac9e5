package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// What a form leaves out has a default, and the client is told the same as the answer is held to.
func TestFormDefaults(t *testing.T) {
	form := mcpbridge.Form{Message: "m", Fields: []mcpbridge.Field{{Name: "text"}, {Name: "choice", Options: []mcpbridge.Option{{Value: "v"}}}}}
	h := newHandler(t)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Text: outcome(call.Elicit(ctx, form))}
	}
	d := duplexStdio(t, h)
	d.send(callLine(1, "wait", "{}"))
	const want = `"properties":{"text":{"type":"string","maxLength":1000},"choice":{"type":"string","oneOf":[{"const":"v","title":"v"}]}},"required":[]`
	a := d.next()
	check.That(t, strings.Contains(a.Raw, want), "got %s", a.Raw)
	for length, want := range map[int]error{0: nil, 1000: nil, 1001: mcpbridge.ErrBadAnswer} {
		_, err := form.Read(json.RawMessage(fmt.Sprintf(`{"action":"accept","content":{"text":%q}}`, strings.Repeat("é", length))))
		check.That(t, errors.Is(err, want), "%d characters: %v", length, err)
	}
}

// What Read accepts is what any reader would see in it.
func FuzzFormRead(f *testing.F) {
	for _, seed := range []string{
		`{"action":"accept","content":{"decision":"approve_once"}}`, `{"action":"accept","content":{"decision":"deny","reason":"\u0061"}}`,
		`{"action":"decline"}`, `{"action":"accept","content":{"decision":"deny","decision":"approve_once"}}`, `{"action":"accept","Content":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := approval().Read(raw)
		if err != nil {
			return
		}
		var lax struct {
			Action  string
			Content map[string]any
		}
		if err := json.Unmarshal(raw, &lax); err != nil {
			t.Fatalf("accepted, but not JSON: %q", raw)
		}
		check.Must(t, lax.Action == string(got.Action), "two readings of %q", raw)
		if got.Action != mcpbridge.Accept {
			return
		}
		check.Must(t, len(lax.Content) == len(got.Values) && got.Values["decision"] != "", "%q gives %v", raw, got.Values)
		for name, value := range got.Values {
			check.Must(t, lax.Content[name] == value, "two readings of %s in %q", name, raw)
		}
	})
}

// modernCall is a tools/call of 2026-07-28 with further params.
func modernCall(id int, capabilities, more string) string {
	meta := strings.Replace(modernMeta, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{},%s%s}}`, id, meta, more)
}

const forms = `{"elicitation":{}}`

// askByResult is a tool that asks with its result, and tells what came back.
func askByResult(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
	if call.Elicit != nil {
		return mcpbridge.Result{Text: "a request could be sent"}
	}
	if call.Resumed == nil {
		return mcpbridge.Result{Text: "not sent", InputRequired: &mcpbridge.InputRequired{Form: approval(), State: "sealed <é>"}}
	}
	if call.Resumed.Answer == nil {
		return mcpbridge.Result{Text: call.Resumed.State + " without an answer"}
	}
	return mcpbridge.Result{Text: call.Resumed.State + ": " + outcome(approval().Read(call.Resumed.Answer))}
}

// eachModern runs a test over both transports of 2026-07-28.
func eachModern(t *testing.T, test func(t *testing.T, exchange func(message string) answer)) {
	h := newHandler(t)
	h.tools["wait"] = askByResult
	t.Run("stdio", func(t *testing.T) {
		c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{MaxLine: 1 << 20})
		test(t, func(m string) answer { c.send(m); return c.read() })
	})
	t.Run("HTTP", func(t *testing.T) {
		w := startWeb(t, h, mcpbridge.HTTPOptions{})
		test(t, func(m string) answer {
			return w.do(w.request(m, modern("tools/call", "wait"))).messages(t)[0]
		})
	})
}

func TestInputRequired(t *testing.T) {
	eachModern(t, func(t *testing.T, exchange func(string) answer) {
		a := exchange(modernCall(1, forms, ""))
		const want = `"inputRequests":{"operator":{"method":"elicitation/create","params":{"message":"write_to_file wants to change \"docs/a.md\".",` +
			`"requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","description":"What may happen.",` +
			`"oneOf":[{"const":"approve_once","title":"Allow once"},{"const":"approve_for_intent","title":"Allow for this intent"},{"const":"deny","title":"Deny"}]},` +
			`"reason":{"type":"string","title":"Reason","maxLength":20}},"required":["decision"]}}}}`
		if a.Result == nil || a.Result.ResultType != "input_required" || !strings.Contains(a.Raw, want) ||
			!strings.Contains(a.Raw, `"requestState":"sealed \u003cé\u003e"`) || strings.Contains(a.Raw, `"content"`) ||
			!strings.Contains(a.Raw, "io.modelcontextprotocol/serverInfo") {
			t.Fatalf("got %s", a.Raw)
		}
		for _, test := range []struct{ more, want string }{
			{`,"requestState":"sealed <é>","inputResponses":{"operator":{"action":"accept","content":{"decision":"approve_once"}}}`, `sealed <é>: accept {"decision":"approve_once"}`},
			{`,"requestState":"s","inputResponses":{"other":{"action":"accept"},"operator":{"action":"decline"}}`, "s: decline null"},
			{`,"requestState":"s","inputResponses":{"operator":{"action":"accept","content":{"decision":"approve_once","x":"y"}}}`, "s: error: the client's answer does not fit"},
			{`,"requestState":"s","inputResponses":{"operator":"yes"}`, "s: error: the client's answer does not fit"},
			{`,"requestState":"s","inputResponses":{"operator":null}`, "s without an answer"},
			{`,"requestState":"s"`, "s without an answer"},
			{`,"inputResponses":{"operator":{"action":"cancel"}}`, ": cancel null"},
		} {
			got := exchange(modernCall(2, forms, test.more)).text(t)
			check.That(t, strings.HasPrefix(got, test.want), "%s: got %s, want %s", test.more, got, test.want)
		}
	})
}

func TestInputResponsesThatAreNone(t *testing.T) {
	eachModern(t, func(t *testing.T, exchange func(string) answer) {
		for _, more := range []string{
			`,"requestState":1`, `,"requestState":{}`, `,"requestState":"` + strings.Repeat("x", mcpbridge.MaxState+1) + `"`,
			`,"inputResponses":[]`, `,"inputResponses":"operator"`, `,"inputResponses":{"Operator":{"action":"accept"}}`,
			`,"inputResponses":{"operator":{"action":"decline"},"operator":{"action":"accept"}}`,
			`,"InputResponses":{}`, `,"requeststate":"s"`, `,"requestState":"a","requestState":"b"`,
		} {
			exchange(modernCall(1, forms, more)).wantError(t, "1", -32602, "")
		}
	})
}

// Who cannot show a form is not sent one, whatever the handler returns.
func TestInputRequiredIsNotSentToWhoCannotAnswer(t *testing.T) {
	eachModern(t, func(t *testing.T, exchange func(string) answer) {
		for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`, `{"sampling":{},"roots":{}}`, `{"elicitation":null}`} {
			exchange(modernCall(1, capabilities, "")).wantError(t, "1", -32603, "cannot be asked")
		}
	})
	h := newHandler(t)
	h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{InputRequired: &mcpbridge.InputRequired{Form: approval(), State: "s"}}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	c.send(callLine(1, "wait", "{}"))
	c.read().wantError(t, "1", -32603, "cannot be asked")
	for name, asked := range map[string]mcpbridge.InputRequired{
		"no state": {Form: approval()}, "a long state": {Form: approval(), State: strings.Repeat("x", mcpbridge.MaxState+1)}, "no form": {State: "s"},
	} {
		h.tools["wait"] = func(context.Context, mcpbridge.Call) mcpbridge.Result { return mcpbridge.Result{InputRequired: &asked} }
		c.send(modernCall(2, forms, ""))
		a := c.read()
		check.That(t, a.Error != nil && a.Error.Code == -32603, "%s: %s", name, a.Raw)
	}
}

// The initialize era has no such answers: forged ones reach nobody.
func TestNoResumptionInTheInitializeEra(t *testing.T) {
	const forged = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"requestState":"forged",` +
		`"inputResponses":{"operator":{"action":"accept","content":{"decision":"approve_once"}}}}}`
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	c.send(forged)
	c.read()
	w := startWeb(t, h, mcpbridge.HTTPOptions{})
	check.Equal(t, w.do(w.request(forged, session(w.initialize()))).status, http.StatusOK, "status")
	calls := h.calls()
	check.That(t, len(calls) == 2 && calls[0].Resumed == nil && calls[1].Resumed == nil, "got %+v", calls)
}
