package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// Each of these fails with mcp-go 1.2.1 used as it comes. The others of that kind have tests of their own:
//
//	calls run out of order                TestArriveOrderIsLineOrder
//	calls are served before initialize    TestInitializeIsABarrier
//	answers in flight are dropped at the end of input, and
//	a last line without newline is lost   TestEndOfInput
//	lines have no limit                   TestLongLineInBoundedMemory
//	a full queue runs calls on the reader TestCancelQueuedCall
//	one session id for all of modern HTTP TestModernClientsShareNothing
//	one client cancels another's call     TestCancelIsolation
//	invented session ids are accepted     TestLegacySessions
//	SSE answers any Origin                TestHTTPChecks

// mcp-go answers what its schema validation finds before any middleware.
func TestTrapSchemaViolationsReachTheHandler(t *testing.T) {
	h := newHandler(t)
	strict := tool("echo")
	strict.InputSchema = schema(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"}}}`)
	c := startStdio(t, newServer(t, h, strict), mcpbridge.StdioOptions{}).initialize()
	c.send(callLine(1, "echo", `{"unknown":1}`))
	check.Equal(t, c.read().text(t), `{"unknown":1}`)
}

// mcp-go's typed schemas cannot say anyOf.
func TestTrapSchemasAreSentAsGiven(t *testing.T) {
	given := tool("echo")
	given.InputSchema = schema(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"additionalProperties":false}`)
	given.OutputSchema = schema(`{"type":"object","anyOf":[{"required":["ok"]},{"required":["error"]}]}`)
	c := startStdio(t, newServer(t, newHandler(t), given), mcpbridge.StdioOptions{}).initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := c.read().Raw
	for _, want := range []json.RawMessage{given.InputSchema(), given.OutputSchema()} {
		check.That(t, strings.Contains(got, string(want)), "the list is %s, without %s", got, want)
	}
}

// encoding/json takes "Name" for "name", and the last of several.
func TestTrapMiscasedAndRepeatedNames(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"refuse"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"refuse"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"Arguments":{"path":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"arguments":{"path":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{},"_META":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"ProgressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"Params":{"name":"refuse"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"param\u017f\":{\"name\":\"echo\"}}",
	} {
		c.send(line)
		a := c.read()
		check.That(t, a.Error != nil, "%s was answered %s", line, a.Raw)
	}
	got := h.calls()
	check.That(t, len(got) == 0, "calls arrived: %v", got)
}

// encoding/json turns invalid UTF-8 into U+FFFD, so a file name that was never sent would be checked and written.
func TestTrapInvalidUTF8(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	for _, text := range []string{"\xff", "\xc3", "\xed\xa0\x80", `\ud800`} {
		c.send(callLine(1, "echo", `{"path":"`+text+`"}`))
		a := c.read()
		check.That(t, a.Error != nil, "%q was answered %s", text, a.Raw)
	}
	got := h.calls()
	check.That(t, len(got) == 0, "calls arrived: %v", got)
}

// mcp-go decodes arguments to a map: large numbers, their spelling and the order of names are lost.
func TestTrapArgumentsArriveAsSent(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	const sent = `{ "z":9007199254740993,"a":1.0, "e":1E2,"t":"\u003c<é" ,"o":{} }`
	c.send(callLine(1, "echo", sent), modernLine(2, "echo", sent))
	for range 2 {
		check.Equal(t, c.read().text(t), sent)
	}
}

// Calls with a "task" go past mcp-go's middleware.
func TestTrapTaskParameter(t *testing.T) {
	h := newHandler(t)
	c := startStdio(t, newServer(t, h), mcpbridge.StdioOptions{}).initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"task":{"ttl":1000}}}`)
	check.Equal(t, c.read().text(t), "{}")
	check.Equal(t, len(h.calls()), 1)
	for _, method := range []string{"tasks/get", "tasks/list", "tasks/result", "tasks/cancel"} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":{"taskId":"x"}}`, method))
		c.read().wantError(t, "2", -32601, "not served")
	}
}

// mcp-go hands inputResponses to handlers that never asked, in both eras.
func TestTrapForgedInputResponses(t *testing.T) {
	const forged = `"inputResponses":{"approve":{"action":"accept","content":{"decision":"approve_once"}}},"requestState":"forged-state"`
	for _, params := range []string{
		`"name":"echo","arguments":{"a":1},` + forged,
		`"name":"echo","arguments":{"a":1},` + forged + `,` + modernMeta,
	} {
		line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
		params, arguments, _, ok := mcpbridge.Admitted([]byte(line))
		check.That(t, ok && string(arguments) == `{"a":1}`, "the handler gets %s", arguments)
		if strings.Contains(string(params), "approve") || strings.Contains(string(params), "forged") {
			t.Errorf("the method gets %s", params)
		}
	}
}

// mcp-go's stdio session is one global of the process.
func TestTrapTwoStdioConnectionsAtOnce(t *testing.T) {
	h := newHandler(t)
	s := newServer(t, h)
	first, second := startStdio(t, s, mcpbridge.StdioOptions{}), startStdio(t, s, mcpbridge.StdioOptions{})
	first.initialize()
	second.send(callLine(1, "echo", "{}"))
	second.read().wantError(t, "1", -32600, "not initialized")
	second.initialize()
	first.send(callLine(1, "wait", "{}"))
	eventually(t, "the call has arrived", func() bool { return len(h.calls()) == 1 })
	second.send(cancelLine(1), callLine(2, "echo", `{"on":"second"}`))
	check.Equal(t, second.read().text(t), `{"on":"second"}`)
	first.send(callLine(2, "echo", `{"on":"first"}`))
	a := first.read()
	check.That(t, string(a.ID) == "2", "the first connection's call was cancelled by the second: %s", a.Raw)
}

// mcp-go decodes ids to float64.
func TestTrapLargeIDs(t *testing.T) {
	c := startStdio(t, newServer(t, newHandler(t)), mcpbridge.StdioOptions{})
	c.send(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)
	a := c.read()
	check.That(t, string(a.ID) == "9007199254740993", "got %s", a.Raw)
}

// A web page that rebinds its name to a loopback address, or that posts without preflight, gets nothing from the SSE
// transport.
func TestTrapSSEOrigin(t *testing.T) {
	w := startWeb(t, newHandler(t), mcpbridge.HTTPOptions{SSE: true})
	stream := openSSE(t, w, aliceToken)
	post := func(edits ...func(*http.Request)) int {
		edits = append([]func(*http.Request){path("/message"), query(stream.query)}, edits...)
		return w.do(w.request(initialize, edits...)).status
	}
	for name, test := range map[string]struct {
		edit func(*http.Request)
		want int
	}{
		"foreign origin":      {header("Origin", "https://evil.example"), 403},
		"foreign host":        {host("evil.example"), 403},
		"no token":            {header("Authorization", ""), 401},
		"another principal":   {as(bobToken), 404},
		"another session":     {query("sessionId=x"), 404},
		"simple content type": {header("Content-Type", "text/plain"), 415},
		"its own client":      {header("X", "y"), 202},
	} {
		check.Equal(t, post(test.edit), test.want, "%s", name)
	}
	a := stream.read(t)
	check.That(t, string(a.ID) == `"init"`, "got %s", a.Raw)
}

func FuzzStrictReader(f *testing.F) {
	for _, seed := range []string{
		initialize, callLine(1, "echo", `{"a":[1,2,{"b":"c"}]}`), modernLine(2, "echo", "{}"),
		`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, `[]`, `{"jsonrpc":"2.0","id":"\u0061","method":"ping","params":{"_meta":{}}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}", `{"jsonrpc":"2.0","id":-0,"method":"tools/list","params":{"cursor":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		params, arguments, method, ok := mcpbridge.Admitted(raw)
		if !ok {
			return
		}
		var taken struct{ Name, Arguments json.RawMessage }
		err := json.Unmarshal(params, &taken)
		check.Must(t, err == nil, "the method would get %q: %v", params, err)
		check.That(t, taken.Arguments == nil || method != "tools/call", "the method would read %+v of %q", taken, raw)
		var lax struct {
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(raw, &lax); err != nil {
			t.Fatalf("accepted, but not JSON: %q", raw)
		}
		check.Equal(t, lax.Method, method, "two readings of the method of %q", raw)
		if method == "tools/call" && (lax.Params.Name != "echo" || !json.Valid(arguments) ||
			(!bytes.Contains(raw, arguments) && string(arguments) != "{}")) {
			t.Errorf("two readings of the call in %q: %s", raw, arguments)
		}
	})
}

func query(raw string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = raw }
}

// sseStream is the client's end of /sse.
type sseStream struct {
	query  string // of the endpoint
	events chan string
	leave  context.CancelFunc
}

func openSSE(t testing.TB, w web, token string) sseStream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	request := w.request("", path("/sse"), method(http.MethodGet), as(token))
	response := check.Value(http.DefaultClient.Do(request.WithContext(ctx)))(t)
	s := sseStream{events: make(chan string, 100), leave: cancel}
	go func() {
		defer response.Body.Close()
		defer close(s.events)
		readEvents(response.Body, s.events)
	}()
	endpoint, ok := strings.CutPrefix(<-s.events, "/message?")
	check.Must(t, ok, "the endpoint is %q", endpoint)
	s.query = endpoint
	return s
}

func readEvents(from io.Reader, to chan<- string) {
	body := make([]byte, 0, 4096)
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		body = append(body, buffer[:n]...)
		for {
			event, rest, found := bytes.Cut(body, []byte("\n\n"))
			if !found {
				break
			}
			if _, data, ok := strings.Cut(string(event), "data: "); ok {
				to <- data
			}
			body = append([]byte(nil), rest...)
		}
		if err != nil {
			return
		}
	}
}

func (s sseStream) read(t testing.TB) answer {
	t.Helper()
	data, ok := <-s.events
	check.Must(t, ok, "the stream has ended")
	return parseAnswer(t, data)
}
