package upstreams_test

import (
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// pair is a client of one era, and a server of one behind the program, over streams or HTTP on both sides.
type pair struct {
	*client
	w              *world
	modern, serves bool // the client's revision has no handshake; the server's
	http           bool
	session        string // of an intent
	user           *eraUser
	hangs          int            // calls that were made to hang
	called         map[string]int // how often the server was, with what asks
}

// eraUser answers what the client puts to it.
type eraUser struct {
	mu     sync.Mutex
	answer args
	asked  []string
}

func (u *eraUser) asks(params json.RawMessage) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, string(params))
	return u.answer
}

// will has the user give an answer from now on.
func (u *eraUser) will(answer args) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer, u.asked = answer, nil
}

// was is what the user was asked.
func (u *eraUser) was() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// newPair starts the program between the two.
func newPair(t *testing.T, overHTTP, clientModern, serverModern bool) *pair {
	t.Helper()
	w := newWorld(t, "")
	entry := fixtureOf("era", eraNames[serverModern])
	if overHTTP {
		s := httptest.NewServer(newEraServer(serverModern))
		t.Cleanup(s.Close)
		entry = "  - name: era\n    url: " + s.URL + "\n"
	}
	w.servers(entry + "    safe: [\"*\", \"!write_*\"]\n")
	p := &pair{w: w, modern: clientModern, serves: serverModern, http: overHTTP, user: &eraUser{}, called: map[string]int{}}
	p.client = &client{
		t: t, asked: p.user.asks, log: &lockedText{}, answer: map[string]chan message{}, noted: make(chan struct{}, 1), gone: make(chan struct{}),
		cmd: exec.Command(program, "serve", "--workspace", w.dir),
	}
	p.cmd.Env, p.cmd.Stderr = w.env(), p.log
	if overHTTP {
		p.overHTTP()
	} else {
		p.in = check.Value(p.cmd.StdinPipe())(t)
		out := check.Value(p.cmd.StdoutPipe())(t)
		check.OK(t, p.cmd.Start())
		go p.read(out)
	}
	t.Cleanup(p.end)
	if !clientModern {
		p.must("initialize", args{
			"protocolVersion": "2025-11-25", "clientInfo": args{"name": "raw", "version": "1"}, "capabilities": args{"elicitation": args{}},
		})
		p.send(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	p.whole("tools/list", args{}) // the first use, after which all lists are others
	if !clientModern {
		p.until("the lists of the first use", func() bool {
			told := p.changes()
			return told[1]*told[2] > 0 // that of tools was waited for
		})
	}
	selected := p.whole("tools/call", args{"name": "select_active_intent", "arguments": args{"intent_id": "INT-001"}})
	check.OK(t, json.Unmarshal(membersOf(membersOf(selected)["structuredContent"])["session"], &p.session))
	return p
}

// eraNames are the eras by whether they are without a handshake.
var eraNames = map[bool]string{false: "initialize", true: modernRevision}

// params are those of a request in the client's era.
func (p *pair) params(params, meta args) args {
	if p.modern {
		meta["io.modelcontextprotocol/protocolVersion"] = modernRevision
		meta["io.modelcontextprotocol/clientCapabilities"] = args{"elicitation": args{}}
		meta["io.modelcontextprotocol/clientInfo"] = args{"name": "raw", "version": "1"}
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	return params
}

// asks makes a request, with members of _meta, and answers what a result of 2026-07-28 asks. rounds is how often it did.
func (p *pair) asks(method string, params, meta args) (m message, rounds int) {
	p.t.Helper()
	for {
		m = p.request(method, p.params(params, meta))
		if string(membersOf(m.Result)["resultType"]) != `"input_required"` {
			return m, rounds
		}
		rounds++
		check.Must(p.t, rounds < 5, "it asks again and again: %s", m.Result)
		answers := args{}
		for key, asked := range membersOf(membersOf(m.Result)["inputRequests"]) {
			answers[key] = p.user.asks(membersOf(asked)["params"])
		}
		params["inputResponses"], params["requestState"] = answers, membersOf(m.Result)["requestState"]
	}
}

// whole is the result of a request that succeeds, in one round.
func (p *pair) whole(method string, params args) json.RawMessage {
	p.t.Helper()
	m, rounds := p.asks(method, params, args{})
	check.Must(p.t, m.Error == nil && rounds == 0, "%s %v: %+v in %d rounds\n%s", method, params, m.Error, rounds, p.log)
	return m.Result
}

// tool calls a tool of the server's, with members of _meta.
func (p *pair) tool(name string, arguments, meta args) (message, int) {
	p.t.Helper()
	if strings.HasPrefix(name, "write_") {
		arguments["session"] = p.session
	}
	return p.asks("tools/call", args{"name": "era_" + name, "arguments": arguments}, meta)
}

// says is the text that a tool answers with.
func (p *pair) says(name string, arguments, meta args) (text string, rounds int) {
	p.t.Helper()
	m, rounds := p.tool(name, arguments, meta)
	var result struct{ Content []struct{ Text string } }
	check.Must(p.t, m.Error == nil && json.Unmarshal(m.Result, &result) == nil && len(result.Content) > 0, "%s: %s %+v", name, m.Result, m.Error)
	return result.Content[0].Text, rounds
}

// heard are the notifications of a method so far that have a text in them.
func (p *pair) heard(method, text string) (params []json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.notes {
		if m.Method == method && strings.Contains(string(m.Params), text) {
			params = append(params, m.Params)
		}
	}
	return params
}
