package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// others is a Beside of tests. What answers a request is a function.
type others struct {
	tools, prompts, resources, templates []string
	answer                               func(ctx context.Context, method string, c mcpbridge.BesideCall) (json.RawMessage, error)
	failing                              error // of the lists
}

var _ mcpbridge.Beside = (*others)(nil)

func (o *others) list(of []string) (list []json.RawMessage, err error) {
	for _, definition := range of {
		list = append(list, json.RawMessage(definition))
	}
	return list, o.failing
}

func (o *others) Tools(context.Context) ([]json.RawMessage, error)     { return o.list(o.tools) }
func (o *others) Prompts(context.Context) ([]json.RawMessage, error)   { return o.list(o.prompts) }
func (o *others) Resources(context.Context) ([]json.RawMessage, error) { return o.list(o.resources) }
func (o *others) ResourceTemplates(context.Context) ([]json.RawMessage, error) {
	return o.list(o.templates)
}

func (o *others) HasTool(name string) bool { return strings.HasPrefix(name, "other_") }

func (o *others) GetPrompt(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	return o.answer(ctx, "prompts/get", c)
}

func (o *others) ReadResource(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	return o.answer(ctx, "resources/read", c)
}

func (o *others) Complete(ctx context.Context, c mcpbridge.BesideCall) (json.RawMessage, error) {
	return o.answer(ctx, "completion/complete", c)
}

// way is a client of one era over one transport.
type way struct {
	duplex
	modern bool
	over   string
}

// ask sends a request; params are its members without _meta, and meta more members of that.
func (w way) ask(id int, method, params string, meta ...string) {
	w.t.Helper()
	w.send(w.message(id, method, params, meta...))
}

func (w way) message(id int, method, params string, meta ...string) string {
	own := `"_meta":{` + strings.Join(meta, ",") + `}`
	if w.modern {
		own = strings.TrimSuffix(modernMeta, "}") + strings.Join(append([]string{""}, meta...), ",") + "}"
	}
	if params != "" {
		own += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, id, method, own, params)
}

// answered is the answer to a request that has no other messages.
func (w way) answered(id int, method, params string, meta ...string) answer {
	w.t.Helper()
	w.ask(id, method, params, meta...)
	a := w.next()
	check.Equal(w.t, string(a.ID), fmt.Sprint(id), "the answer to %s is %s", method, a.Raw)
	return a
}

// canAsk is the _meta of a client that shows forms; in the initialize era all of these have said so.
func (w way) canAsk(message string) string {
	return strings.Replace(message, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
}

// cancel gives a request up, as the client's transport and era have it.
func (w way) cancel(id int) {
	if w.modern && w.over == "HTTP" {
		w.leave()
		return
	}
	w.send(cancelLine(id))
}

// inAllWays runs a test for each era over each transport.
func inAllWays(t *testing.T, h *handler, o *others, test func(t *testing.T, s *mcpbridge.Server, w way)) {
	t.Helper()
	config := bridgeConfig(h)
	if o != nil {
		config.Beside = o
	}
	for _, over := range []string{"stdio", "SSE", "HTTP"} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, modern %v", over, modern), func(t *testing.T) {
				s := check.Value(mcpbridge.New(config))(t)
				test(t, s, way{connect(t, s, over, modern), modern, over})
			})
		}
	}
}

func connect(t testing.TB, s *mcpbridge.Server, over string, isModern bool) duplex {
	t.Helper()
	if over == "stdio" {
		c := startStdio(t, s, mcpbridge.StdioOptions{MaxLine: 1 << 20})
		if !isModern {
			c.initialize()
		}
		return duplex{t, func(m string) { c.send(m) }, pump(t, c.all()), func() { c.in.Close() }}
	}
	w := serveHandler(t, check.Value(s.HTTPHandler(mcpbridge.HTTPOptions{SSE: true, Authenticate: authenticate}))(t))
	switch {
	case over == "SSE":
		return overSSE(t, w, aliceToken)
	case isModern:
		return overModern(t, w)
	}
	return overHTTP(t, w, aliceToken)
}

func serveHandler(t testing.TB, handler *mcpbridge.HTTPHandler) web {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Close(); server.Close() })
	return web{t, server.URL}
}

// all are the lines to the end.
func (c *stdio) all() <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for {
			line, err := c.lines.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	return lines
}

// overModern posts each message on its own with the headers of 2026-07-28, and gathers what comes on all the responses.
func overModern(t testing.TB, w web) duplex {
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	messages := make(chan answer, 1000)
	return duplex{t, func(m string) {
		var said struct {
			Method string
			Params struct{ Name, URI string }
		}
		check.OK(t, json.Unmarshal([]byte(m), &said))
		r := w.request(m, modern(said.Method, said.Params.Name+said.Params.URI)).WithContext(ctx)
		go func() {
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				return // it was left
			}
			defer response.Body.Close()
			gather(t, response, messages)
		}()
	}, messages, leave}
}

// definitions of other servers have members that we do not know.
const (
	otherTool   = `{"name":"other_read","title":"Read","icons":[{"src":"data:,"}],"description":"It's <b>","inputSchema":{"type":"object","$comment":"1.0"},"annotations":{"readOnlyHint":true,"x":1.50},"execution":{"taskSupport":"optional"},"unknown":{"b":1,"a":[]}}`
	otherPrompt = `{"name":"other_prompt","arguments":[{"name":"x","unknown":true}],"z":0}`
	otherFile   = `{"uri":"other+file:///x","name":"x","size":12,"annotations":{"audience":["user"]}}`
	otherFamily = `{"uriTemplate":"other+file:///{path}","name":"files","unknown":null}`
)

func newOthers() *others {
	return &others{
		tools: []string{otherTool}, prompts: []string{otherPrompt}, resources: []string{otherFile}, templates: []string{otherFamily},
		answer: func(_ context.Context, method string, c mcpbridge.BesideCall) (json.RawMessage, error) {
			return json.RawMessage(fmt.Sprintf(`{"unknown":{"of":%q,"params":%s}}`, method, c.Params)), nil
		},
	}
}

// What other servers define is listed behind our own, as it is, whoever asks.
func TestBesideLists(t *testing.T) {
	inAllWays(t, newHandler(t), newOthers(), func(t *testing.T, _ *mcpbridge.Server, w way) {
		for i, c := range []struct{ method, ours, theirs string }{
			{"tools/list", `"name":"rich"`, otherTool},
			{"prompts/list", `"name":"protocol"`, otherPrompt},
			{"resources/list", `"uri":"orchestra://intents"`, otherFile},
			{"resources/templates/list", `"uriTemplate":"orchestra://intent/{id}"`, otherFamily},
		} {
			a := w.answered(i, c.method, "")
			ours, theirs := strings.Index(a.Raw, c.ours), strings.Index(a.Raw, c.theirs)
			check.That(t, ours >= 0 && theirs > ours, "%s is %s", c.method, a.Raw)
			check.Equal(t, strings.Contains(a.Raw, `"ttlMs":5000`) && strings.Contains(a.Raw, `"cacheScope":"private"`), w.modern, "%s", a.Raw)
		}
		if w.modern {
			a := w.answered(10, "server/discover", "")
			check.That(t, strings.Contains(a.Raw, `"logging":{}`) && strings.Count(a.Raw, `{"listChanged":true}`) == 3, "%s", a.Raw)
		}
	})
}

// One bad definition is left out, and takes no other with it.
func TestBesideDefinitionsThatAreLeftOut(t *testing.T) {
	o := newOthers()
	const last = `{"name":"other_last","inputSchema":{"type":"object"}}`
	bad := []string{
		`{"name":"echo","inputSchema":{"type":"object"},"mark":1}`,
		`{"name":"other_read","inputSchema":{"type":"object"},"mark":1}`,
		`{"name":"","inputSchema":{"type":"object"},"mark":1}`,
		`{"name":7,"inputSchema":{"type":"object"},"mark":1}`,
		`{"name":"a","Name":"echo","inputSchema":{"type":"object"},"mark":1}`,
		`{"name":"a","name":"b","inputSchema":{"type":"object"},"mark":1}`,
		`{"name":"a","mark":1}`,
		`{"name":"a","inputSchema":{"type":"string"},"mark":1}`,
		`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"x-mcp-header":"P"}}},"mark":1}`,
		`{"name":"a","inputSchema":{"type":"object","properties":{"p":{"\u0078-mcp-header":"P"}}},"mark":1}`,
		`{"name":"a","inputSchema":{"type":"object"},"mark":1`,
		"{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"mark\":\"\xff\"}",
		`["mark"]`, `null`, ``, `{"name":"a","inputSchema":{"type":"object"},"mark":1} {}`,
		`{"name":"a","mark":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,"inputSchema":{"type":"object"}}`,
	}
	o.tools = slices.Concat(o.tools, bad, []string{last})
	o.failing = errors.New("one server is late")
	o.resources = append(o.resources, `{"uri":"orchestra://intent/INT-001","name":"mark"}`, `{"uri":"orchestra://intents","name":"mark"}`)
	inAllWays(t, newHandler(t), o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		a := w.answered(1, "tools/list", "")
		check.That(t, strings.Contains(a.Raw, otherTool+","+last+"]"), "%s", a.Raw)
		check.That(t, !strings.Contains(a.Raw, "mark"), "%s", a.Raw)
		a = w.answered(2, "resources/list", "")
		check.That(t, !strings.Contains(a.Raw, "mark"), "%s", a.Raw)
	})
}

// Clients of earlier revisions drop all tools over an output schema that is not of objects.
func TestBesideOutputSchemasOfAnotherEra(t *testing.T) {
	o := newOthers()
	o.tools = []string{
		`{"name":"other_list","outputSchema":{"type":"array"},"inputSchema":{"type":"object"}}`,
		"{\"name\":\"other_object\",\n \"outputSchema\":{\"type\":\"object\"},\r\n \"inputSchema\":{\"type\":\"object\"}}",
	}
	inAllWays(t, newHandler(t), o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		a := w.answered(1, "tools/list", "")
		check.Equal(t, strings.Contains(a.Raw, `"outputSchema":{"type":"array"}`), w.modern, "%s", a.Raw)
		check.That(t, strings.Contains(a.Raw, `{"name":"other_object","outputSchema":{"type":"object"},"inputSchema":{"type":"object"}}`), "%s", a.Raw)
	})
}

// A client that shows apps shows none of other servers.
func TestBesideAppsAreNotShown(t *testing.T) {
	o := newOthers()
	o.tools = []string{`{"name":"other_app","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://other/evil"},"kept":1}}`}
	config := bridgeConfig(newHandler(t))
	config.Beside = o
	c := startStdio(t, check.Value(mcpbridge.New(config))(t), mcpbridge.StdioOptions{})
	list := way{modern: true}.message(1, "tools/list", "")
	c.send(list)
	check.That(t, strings.Contains(c.read().Raw, o.tools[0]), "it is listed as it is")
	c.send(strings.Replace(list, `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, 1))
	a := c.read()
	check.That(t, !strings.Contains(a.Raw, "evil") && strings.Contains(a.Raw, `"_meta":{"kept":1,"ui":{"visibility":["model"]}}`), "%s", a.Raw)
}

// Lists are bounded, whatever other servers have.
func TestBesideListsAreBounded(t *testing.T) {
	o := newOthers()
	for i := range 5000 {
		o.prompts = append(o.prompts, fmt.Sprintf(`{"name":"p%d"}`, i))
	}
	for i := range 20 {
		o.resources = append(o.resources, fmt.Sprintf(`{"uri":"r:%d","name":"n","description":%q}`, i, strings.Repeat("x", 1<<20)))
	}
	config := bridgeConfig(newHandler(t))
	config.Beside = o
	c := startStdio(t, check.Value(mcpbridge.New(config))(t), mcpbridge.StdioOptions{}).initialize()
	c.send(way{}.message(1, "prompts/list", ""), way{}.message(2, "resources/list", ""))
	for range 2 {
		a := c.read()
		if string(a.ID) == "1" {
			check.Equal(t, strings.Count(a.Raw, `"name":"p`), 4096)
			continue
		}
		check.That(t, len(a.Raw) < 9<<20, "%d bytes", len(a.Raw))
	}
}

// A tool of others is called as ours are, and its result goes out as it came.
func TestBesideTools(t *testing.T) {
	const raw = `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"hologram","x":1.0}],"structuredContent":{"b":1,"a":2},"isError":true,"unknown":[1.50]`
	h := newHandler(t)
	h.tools["other_read"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Raw: json.RawMessage(raw + `,"got":` + string(call.Arguments) + `}`)}
	}
	inAllWays(t, h, newOthers(), func(t *testing.T, _ *mcpbridge.Server, w way) {
		a := w.answered(1, "tools/call", `"name":"other_read","arguments":{"b":1,"a":2.0}`)
		check.That(t, strings.Contains(a.Raw, raw[1:]+`,"got":{"b":1,"a":2.0}`), "%s", a.Raw)
		check.Equal(t, strings.Contains(a.Raw, `"resultType":"complete"`) && strings.Contains(a.Raw, `serverInfo":{"name":"bridge-test"`), w.modern, "%s", a.Raw)
		w.answered(2, "tools/call", `"name":"nobody_read"`).wantError(t, "2", -32602, "unknown tool")
	})
}

// What is ours is answered by us, what is not by others, and what nobody has as if there were no others.
func TestBesideRequests(t *testing.T) {
	o := newOthers()
	o.answer = func(_ context.Context, method string, c mcpbridge.BesideCall) (json.RawMessage, error) {
		switch params := string(c.Params); {
		case strings.Contains(params, "nowhere"):
			return nil, fmt.Errorf("it: %w", mcpbridge.ErrNotFound)
		case strings.Contains(params, "panics"):
			panic("beside")
		case strings.Contains(params, "broken"):
			return nil, errors.New("the server is \xff gone" + strings.Repeat("!", 5000))
		case strings.Contains(params, "refused"):
			return nil, fmt.Errorf("it: %w", &mcpbridge.Failure{Code: -32602, Message: "needs x"})
		case strings.Contains(params, "absent"):
			return nil, &mcpbridge.Failure{Code: -32002, Message: "no such thing"}
		case strings.Contains(params, "misleading"):
			return nil, &mcpbridge.Failure{Code: -32022, Message: "speak another revision"}
		}
		return json.RawMessage(fmt.Sprintf(`{"by":"others","of":%q,"params":%s}`, method, c.Params)), nil
	}
	inAllWays(t, newHandler(t), o, func(t *testing.T, _ *mcpbridge.Server, w way) {
		for i, c := range []struct{ method, params, want string }{
			{"prompts/get", `"name":"protocol","arguments":{"intent":"I"}`, "Work on I"},
			{"prompts/get", `"name":"other_prompt","arguments":{"x":"1"},"unknown":1`, `"of":"prompts/get","params":{"name":"other_prompt","arguments":{"x":"1"}}`},
			{"prompts/get", `"name":"nowhere"`, `"code":-32602,"message":"prompt 'nowhere' not found`},
			{"prompts/get", `"name":"refused"`, `"code":-32602,"message":"needs x"`},
			{"prompts/get", `"name":"misleading"`, `"code":-32603,"message":"speak another revision"`},
			{"prompts/get", `"name":"panics"`, `"code":-32603`},
			{"prompts/get", `"name":"broken"`, "the server is � gone!"},
			{"resources/read", `"uri":"orchestra://intents"`, `"text":"[]"`},
			{"resources/read", `"uri":"other+file:///x"`, `"of":"resources/read","params":{"uri":"other+file:///x"}`},
			{"resources/read", `"uri":"orchestra://intent/INT-999"`, "INT-999: not found"},
			{"resources/read", `"uri":"nowhere:"`, `"data":{"uri":"nowhere:"}`},
			{"resources/read", `"uri":"absent:"`, fmt.Sprintf(`"code":%d`, map[bool]int{true: -32602, false: -32002}[w.modern])},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"protocol"},"argument":{"name":"intent","value":"INT-11"}`, `"total":10`},
			{"completion/complete", `"ref":{"type":"ref/resource","uri":"orchestra://intent/{id}"},"argument":{"name":"id","value":"INT-11"}`, `"total":10`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"other_prompt"},"argument":{"name":"x","value":""},"context":{"arguments":{"a":"b"}}`,
				`"of":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"other_prompt"},"argument":{"name":"x","value":""},"context":{"arguments":{"a":"b"}}}`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"nowhere"},"argument":{"name":"x","value":"INT-11"}`, `"total":10`},
		} {
			a := w.answered(i, c.method, c.params)
			check.That(t, strings.Contains(a.Raw, c.want) && len(a.Raw) < 8000, "%s %s is %s", c.method, c.params, a.Raw)
			if strings.Contains(a.Raw, `"by":"others"`) {
				check.Equal(t, strings.Contains(a.Raw, `"resultType":"complete"`), w.modern, "%s", a.Raw)
				check.Equal(t, strings.Contains(a.Raw, `"ttlMs":0,"cacheScope":"private"`), w.modern && c.method == "resources/read", "%s", a.Raw)
			}
		}
	})
}
