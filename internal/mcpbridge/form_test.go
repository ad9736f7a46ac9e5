package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

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
		reason, has := lax.Content["reason"]
		check.Must(t, lax.Content["decision"] == got.Decision && got.Decision != "" && (!has || reason == got.Reason), "two readings of %q", raw)
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
			`"requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","description":"What the call may do.",` +
			`"oneOf":[{"const":"approve_once","title":"Allow once"},{"const":"approve_for_intent","title":"Allow for this intent"},{"const":"deny","title":"Deny"}]},` +
			`"reason":{"type":"string","title":"Reason","description":"Yours, if you like; it reaches the agent.","maxLength":1000}},"required":["decision"]}}}}`
		if a.Result == nil || a.Result.ResultType != "input_required" || !strings.Contains(a.Raw, want) ||
			!strings.Contains(a.Raw, `"requestState":"sealed \u003cé\u003e"`) || strings.Contains(a.Raw, `"content"`) ||
			!strings.Contains(a.Raw, "io.modelcontextprotocol/serverInfo") {
			t.Fatalf("got %s", a.Raw)
		}
		for _, test := range []struct{ more, want string }{
			{`,"requestState":"sealed <é>","inputResponses":{"operator":{"action":"accept","content":{"decision":"approve_once"}}}`, `sealed <é>: accept approve_once`},
			{`,"requestState":"s","inputResponses":{"other":{"action":"accept"},"operator":{"action":"decline"}}`, "s: decline"},
			{`,"requestState":"s","inputResponses":{"operator":{"action":"accept","content":{"decision":"approve_once","x":"y"}}}`, "s: error: the client's answer does not fit"},
			{`,"requestState":"s","inputResponses":{"operator":"yes"}`, "s: error: the client's answer does not fit"},
			{`,"requestState":"s","inputResponses":{"operator":null}`, "s without an answer"},
			{`,"requestState":"s"`, "s without an answer"},
			{`,"inputResponses":{"operator":{"action":"cancel"}}`, ": cancel"},
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
		"no state": {Form: approval()}, "a long state": {Form: approval(), State: strings.Repeat("x", mcpbridge.MaxState+1)},
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

// A tool that cannot be offered is said at the start.
func TestToolsAreChecked(t *testing.T) {
	for want, spoil := range map[string]func(*mcpbridge.Tool){
		"needs a name": func(t *mcpbridge.Tool) { t.Name = "" },
		"input schema": func(t *mcpbridge.Tool) { t.InputSchema = nil },
	} {
		bad := tool("a")
		spoil(&bad)
		_, err := mcpbridge.New(mcpbridge.Config{Tools: []mcpbridge.Tool{bad}})
		check.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want an error saying %q", err, want)
	}
}

// A schema that clients drop a tool, or the whole list, for is said where the tools are listed.
func TestBadSchemasAreNotListed(t *testing.T) {
	for want, spoil := range map[string]func(*mcpbridge.Tool){
		`output schema: its root must have`: func(t *mcpbridge.Tool) { t.OutputSchema = schema(`{"anyOf":[]}`) },
		"input schema: not a JSON object":   func(t *mcpbridge.Tool) { t.InputSchema = schema(`[]`) },
		"x-mcp-header": func(t *mcpbridge.Tool) {
			t.InputSchema = schema(`{"type":"object","properties":{"p":{"type":"string","x-mcp-header":"P"}}}`)
		},
	} {
		bad := tool("a")
		spoil(&bad)
		c := startStdio(t, newServer(t, newHandler(t), bad), mcpbridge.StdioOptions{}).initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		c.read().wantError(t, "1", -32603, want)
	}
}

// A result that cannot be sent is an error, not a broken message.
func TestBadStructuredResult(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for _, structured := range []string{"", "[1]", "{", "null"} {
		h.tools["rich"] = bad(structured)
		c.send(callLine(1, "rich", "{}"))
		c.read().wantError(t, "1", -32603, "not a JSON object")
	}
}

func bad(structured string) toolFunc {
	return func(context.Context, mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Text: "x", Structured: json.RawMessage(structured)}
	}
}

// What methods read and quote is small, whatever is sent.
func TestParamsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{}).initialize()
	for i, params := range []string{
		`"method":"resources/read","params":{"uri":"orchestra://` + long + `"}`,
		`"method":"prompts/get","params":{"name":"protocol","arguments":{"intent":"` + long + `"}}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"protocol"},"argument":{"name":"intent","value":"` + long + `"}}`,
		`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"` + long + `"}}`,
	} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, params))
		c.read().wantError(t, fmt.Sprint(i), -32602, "longer than")
	}
	c.send(callLine(9, "echo", `{"a":"`+long+`"}`))
	got := c.read().text(t)
	check.That(t, len(got) >= len(long), "the arguments of a tool came as %d bytes", len(got))
}

// A structured result with line breaks between its tokens is still one message.
func TestResultOfSeveralLinesIsOneMessage(t *testing.T) {
	h := newHandler(t)
	want := mcpbridge.Result{Text: "a\nb <&> \u2028", Structured: json.RawMessage("{\n  \"a\": \"x\\ny\"\r\n}"), IsError: true}
	h.tools["echo"] = func(context.Context, mcpbridge.Call) mcpbridge.Result { return want }
	var out bytes.Buffer
	in := strings.NewReader(initialize + "\n" + callLine(7, "echo", "{}") + "\n")
	check.OK(t, newServer(t, h).ServeStdio(t.Context(), in, &out, mcpbridge.StdioOptions{}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	check.Must(t, len(lines) == 2, "want two answers, got %q", lines)
	var answer struct {
		Result struct {
			Content           []struct{ Type, Text string }
			StructuredContent struct{ A string }
			IsError           bool
		}
	}
	check.OK(t, json.Unmarshal([]byte(lines[1]), &answer))
	r := answer.Result
	if len(r.Content) != 1 || r.Content[0].Text != want.Text || r.Content[0].Type != "text" || r.StructuredContent.A != "x\ny" || !r.IsError {
		t.Errorf("%s", lines[1])
	}
}

// A call of a client that cannot say what it can does not arrive.
func TestCapabilitiesAreRead(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{})
	c.send(strings.Replace(modernLine(1, "echo", "{}"), `clientCapabilities":{}`, `clientCapabilities":{"sampling":7}`, 1))
	c.read().wantError(t, "1", -32602, "clientCapabilities")
	calls := h.calls()
	check.That(t, len(calls) == 0, "%d calls arrived", len(calls))
}

func TestNoProgressAfterTheAnswer(t *testing.T) {
	h := newHandler(t)
	late := make(chan mcpbridge.Call, 1)
	h.tools["progress"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		late <- call
		return mcpbridge.Result{Text: "done"}
	}
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`)
	check.Equal(t, c.read().text(t), "done")
	(<-late).Progress("late", 1, 1)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	a := c.read()
	check.That(t, string(a.ID) == "2", "got %s", a.Raw)
}

// TestDocumentedLimits holds the limits in README.md to the constants.
func TestDocumentedLimits(t *testing.T) {
	page := check.Value(os.ReadFile("README.md"))(t)
	for _, part := range mcpbridge.LimitsAsDocumented() {
		check.That(t, strings.Contains(string(page), part), "README.md does not say %q", part)
	}
}
