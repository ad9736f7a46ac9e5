package upstreams_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// modernRevision is the one that has no handshake.
const modernRevision = "2026-07-28"

// eraServer is a server of one era, over streams or HTTP, that keeps to the protocol. Its tools do what the table of
// internal/mcpbridge/README.md has rows for.
type eraServer struct {
	modern bool

	mu      sync.Mutex
	last    int
	answers map[string]chan message  // to what it has asked (initialize)
	dead    map[string]chan struct{} // what was cancelled by a notification, by id
	follows map[chan string]bool     // who is told of lists that change
	grown   bool                     // there is more in the lists
	level   string                   // of logging/setLevel
	calls   map[string]int

	cancels chan string // how the server heard that nobody waits any more
}

func newEraServer(modern bool) *eraServer {
	return &eraServer{
		modern: modern, answers: map[string]chan message{}, dead: map[string]chan struct{}{}, follows: map[chan string]bool{},
		calls: map[string]int{}, cancels: make(chan string, 10),
	}
}

// exchange is one request of a client, or what it has to say besides.
type exchange struct {
	*eraServer
	message
	say  func(any)       // beside the answer
	left <-chan struct{} // closed when the client has closed the response (HTTP, 2026-07-28)
}

// What the server sends: members that nobody knows, and all kinds of content that there are.
const (
	eraTool = `{"name":"say","title":"Says","description":"Says all that there is.","inputSchema":{"type":"object","properties":{"kind":{"type":"string"}}},` +
		`"annotations":{"readOnlyHint":false},"icons":[{"src":"data:image/png;base64,AA=="}],"_meta":{"of.us/kept":[1.0]},"unknown":{"b":2,"a":1e3}}`
	eraObjects  = `{"name":"object","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}}`
	eraArrays   = `{"name":"array","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"type":"number"}}}`
	eraPrompt   = `{"name":"hello","description":"Greets.","arguments":[{"name":"who","required":true}],"unknown":[2]}`
	eraResource = `{"uri":"era://text","name":"text","mimeType":"text/plain","size":3,"unknown":true}`
	eraBlob     = `{"uri":"era://blob","name":"blob"}`
	eraTemplate = `{"uriTemplate":"era://of/{id}","name":"of","unknown":null}`

	eraContent = `"content":[{"type":"text","text":"Grüße\u0041 \"x\"","annotations":{"priority":0.10}},{"type":"image","data":"AA==","mimeType":"image/png"},` +
		`{"type":"audio","data":"AAA=","mimeType":"audio/wav"},{"type":"resource_link","uri":"era://text","name":"text"},` +
		`{"type":"resource","resource":{"uri":"era://text","text":"in it"}},{"type":"of_tomorrow","value":{"z":1,"a":2}}]`
	eraSaid      = `{` + eraContent + `,"unknown":{"b":2.50,"a":1},"_meta":{"of.us/kept":[1.0]}`
	eraObject    = `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1.0}`
	eraArray     = `{"content":[{"type":"text","text":"[1]"}],"structuredContent":[1.0]`
	eraFailed    = `{"content":[{"type":"text","text":"it went wrong"}],"isError":true`
	eraGreeting  = `{"description":"Greets.","messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}],"unknown":1.0`
	eraText      = `{"contents":[{"uri":"era://text","mimeType":"text/plain","text":"abc"}],"unknown":1.0`
	eraBytes     = `{"contents":[{"uri":"era://blob","blob":"AAEC"}]`
	eraOf        = `{"contents":[{"uri":"era://of/7","text":"seven"}]`
	eraCompleted = `{"completion":{"values":["Ada","Alan"],"total":2,"hasMore":false}`
)

// whole is a result as the server sends it: in 2026-07-28 with what that has beside.
func (s *eraServer) whole(begun string, method string) json.RawMessage {
	if s.modern {
		begun += `,"resultType":"complete"`
		if method == "resources/read" {
			begun += `,"ttlMs":1000,"cacheScope":"public"`
		}
	}
	return json.RawMessage(begun + "}")
}

// eraTools are all of its tools. What begins with write_ is no safe one.
func eraTools() []json.RawMessage {
	tools := []json.RawMessage{json.RawMessage(eraTool), json.RawMessage(eraObjects), json.RawMessage(eraArrays)}
	for _, name := range []string{"fail", "error", "steps", "log", "ask", "write_ask", "other", "hang", "cancelled", "huge", "grow", "meta"} {
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)))
	}
	return tools
}

// answer gives the result of a request, or the error.
func (x *exchange) answer() (result any, failure *rpcFailure) {
	switch x.Method {
	case "initialize", "server/discover":
		return x.greet()
	case "ping":
		return args{}, nil
	case "tools/list", "resources/list", "resources/templates/list":
		return x.list(), nil
	case "prompts/list": // on two pages
		if x.text("cursor") == "" {
			return x.cacheable(args{"prompts": []json.RawMessage{json.RawMessage(eraPrompt)}, "nextCursor": "2"}), nil
		}
		return x.cacheable(args{"prompts": append(x.more("prompt"), json.RawMessage(`{"name":"ask"}`))}), nil
	case "logging/setLevel":
		x.mu.Lock()
		defer x.mu.Unlock()
		x.level = x.text("level")
		return args{}, nil
	case "tools/call":
		return x.call()
	case "prompts/get":
		if x.text("name") == "ask" {
			return x.ask("prompt"), nil
		}
		if x.text("name") != "hello" || !strings.Contains(string(x.Params), `"Ada"`) {
			return nil, &rpcFailure{Code: -32602, Message: "who?"}
		}
		return x.whole(eraGreeting, x.Method), nil
	case "resources/read":
		return x.read()
	case "completion/complete":
		if !strings.Contains(string(x.Params), `"hello"`) && !strings.Contains(string(x.Params), `"era://of/{id}"`) {
			return nil, &rpcFailure{Code: -32602, Message: "of what?"}
		}
		return x.whole(eraCompleted, x.Method), nil
	case "subscriptions/listen":
		return x.listen()
	}
	return nil, &rpcFailure{Code: -32601, Message: "no such method"}
}

type rpcFailure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    args   `json:"data,omitempty"`
}

func (x *exchange) text(name string) (text string) {
	_ = json.Unmarshal(membersOf(x.Params)[name], &text)
	return text
}

// membersOf are those of an object; anything else has none.
func membersOf(object json.RawMessage) (members map[string]json.RawMessage) {
	_ = json.Unmarshal(object, &members)
	return members
}

func (x *exchange) greet() (any, *rpcFailure) {
	changes := args{"listChanged": true}
	has := args{"tools": changes, "prompts": changes, "resources": changes, "completions": args{}, "logging": args{}}
	info := args{"name": "eras", "version": "1"}
	switch {
	case x.modern != (x.Method == "server/discover"):
		return nil, &rpcFailure{Code: -32601, Message: "no such method"}
	case x.modern:
		return args{
			"resultType": "complete", "supportedVersions": []string{modernRevision}, "capabilities": has, "_meta": args{"io.modelcontextprotocol/serverInfo": info},
		}, nil
	}
	return args{"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": info}, nil
}

func (x *exchange) cacheable(list args) args {
	if x.modern {
		maps.Copy(list, args{"resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
	}
	return list
}

// more is what a list has more once it has grown.
func (x *exchange) more(kind string) []json.RawMessage {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.grown {
		return []json.RawMessage{}
	}
	return []json.RawMessage{json.RawMessage(map[string]string{
		"prompt": `{"name":"later"}`, "resource": `{"uri":"era://later","name":"later"}`,
	}[kind])}
}

func (x *exchange) list() args {
	switch x.Method {
	case "resources/list":
		return x.cacheable(args{"resources": append(x.more("resource"), json.RawMessage(eraResource), json.RawMessage(eraBlob))})
	case "resources/templates/list":
		return x.cacheable(args{"resourceTemplates": []json.RawMessage{json.RawMessage(eraTemplate)}})
	}
	tools := eraTools()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.grown { // one tool less, for a new one waits for the operator
		tools = slices.DeleteFunc(tools, func(tool json.RawMessage) bool { return strings.Contains(string(tool), `"grow"`) })
	}
	return x.cacheable(args{"tools": tools})
}

func (x *exchange) read() (any, *rpcFailure) {
	found, ok := map[string]string{"era://text": eraText, "era://blob": eraBytes, "era://of/7": eraOf}[x.text("uri")]
	switch {
	case ok:
		return x.whole(found, x.Method), nil
	case x.text("uri") == "era://ask":
		return x.ask("resource"), nil
	case x.text("uri") == "era://broken":
		return nil, &rpcFailure{Code: 7, Message: "it is broken"}
	case x.modern:
		return nil, &rpcFailure{-32602, "no such resource", args{"uri": x.text("uri")}}
	}
	return nil, &rpcFailure{-32002, "no such resource", args{"uri": x.text("uri")}}
}

func (x *exchange) listen() (any, *rpcFailure) {
	news := x.follow()
	defer x.unfollow(news)
	subscription := args{"io.modelcontextprotocol/subscriptionId": x.ID}
	x.say(notification("notifications/subscriptions/acknowledged", args{"_meta": subscription, "notifications": membersOf(x.Params)["notifications"]}))
	for {
		select {
		case list := <-news:
			x.say(notification("notifications/"+list+"/list_changed", args{"_meta": subscription}))
		case <-x.cancelled():
			return nil, nil
		case <-x.left:
			return nil, nil
		}
	}
}

func notification(method string, params any) args {
	return args{"jsonrpc": "2.0", "method": method, "params": params}
}

func (s *eraServer) follow() chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := make(chan string, 10)
	s.follows[news] = true
	return news
}

func (s *eraServer) unfollow(news chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.follows, news)
}

func (s *eraServer) grow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grown = true
	for news := range s.follows {
		for _, list := range []string{"tools", "prompts", "resources"} {
			news <- list
		}
	}
}

// cancelled is closed when a notification has cancelled the request.
func (x *exchange) cancelled() chan struct{} { return x.cancel(x.ID) }

func (s *eraServer) cancel(id json.RawMessage) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead[string(id)] == nil {
		s.dead[string(id)] = make(chan struct{})
	}
	return s.dead[string(id)]
}

// take takes what is no request; it reports whether that was so.
func (s *eraServer) take(m message) bool {
	switch {
	case m.Method == "notifications/cancelled":
		close(s.cancel(membersOf(m.Params)["requestId"]))
	case m.Method == "":
		s.mu.Lock()
		waits := s.answers[string(m.ID)]
		s.mu.Unlock()
		waits <- m
	default:
		return m.ID == nil
	}
	return true
}

// request asks the client, as a server of the initialize era does, and waits for what it says.
func (x *exchange) request(method string, params any) message {
	x.mu.Lock()
	x.last++
	id, waits := fmt.Sprint("ask-", x.last), make(chan message, 1)
	x.answers[fmt.Sprintf("%q", id)] = waits
	x.mu.Unlock()
	x.say(args{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return <-waits
}

// run answers a request.
func (x *exchange) run() {
	result, failure := x.answer()
	switch {
	case failure != nil:
		x.say(args{"jsonrpc": "2.0", "id": x.ID, "error": failure})
	case result != nil:
		x.say(args{"jsonrpc": "2.0", "id": x.ID, "result": result})
	}
}

// streams serves over the streams of this process until its input ends.
func (s *eraServer) streams(in io.Reader) {
	f := &fixture{out: os.Stdout}
	go func() {
		for list := range s.follow() {
			if !s.modern {
				f.raw(notification("notifications/"+list+"/list_changed", args{}))
			}
		}
	}()
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil && !s.take(m) {
			go (&exchange{s, m, f.raw, nil}).run()
		}
	}
}

func (f *fixture) raw(m any) {
	line := exactly(m)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.Write(append(line, '\n'))
}

// exactly is a message as JSON, of which what is JSON already stays as it is.
func exactly(m any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// wait waits until nobody wants the answer any more, and says how the server came to know.
func (x *exchange) wait() string {
	select {
	case <-x.cancelled():
		return "`notifications/cancelled`"
	case <-x.left:
		return "its response is closed"
	case <-time.After(patience):
		return "never"
	}
}
