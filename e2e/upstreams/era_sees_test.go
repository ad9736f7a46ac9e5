package upstreams_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func (p *pair) seesProgress() string {
	_, _ = p.says("steps", args{}, args{"progressToken": "five"})
	heard := p.heard("notifications/progress", `"five"`)
	for i, params := range heard {
		want := fmt.Sprintf(`{"progressToken":"five","progress":%d,"total":5,"message":"step %d"}`, i+1, i)
		check.That(p.t, string(params) == want, "progress: %s, want %s", params, want)
	}
	check.Equal(p.t, len(heard), 5)
	before := len(p.heard("notifications/progress", ""))
	_, _ = p.says("steps", args{}, args{})
	check.Equal(p.t, len(p.heard("notifications/progress", "")), before, "without a token")
	return "all, in order, to who asks"
}

// logs is how many messages come of a call that logs one of each level.
func (p *pair) logs(level string) int {
	before := len(p.heard("notifications/message", `"logger":"eras"`))
	_, _ = p.says("log", args{}, p.level(level))
	return len(p.heard("notifications/message", `"logger":"eras"`)) - before
}

// level has what is called next logged from a level on.
func (p *pair) level(level string) (meta args) {
	switch {
	case level == "":
	case p.modern:
		return args{"io.modelcontextprotocol/logLevel": level}
	default:
		p.must("logging/setLevel", args{"level": level})
	}
	return args{}
}

// seesLog: a level holds from when it is set, be it a lesser one or a graver one.
func (p *pair) seesLog() string {
	check.Equal(p.t, fmt.Sprint(p.logs(""), p.logs("warning"), p.logs("debug"), p.logs("info")), "0 1 3 2")
	if p.modern {
		return "from the level of the request on"
	}
	return "from the level of `logging/setLevel` on"
}

// beside runs what is done while another call of the server is in flight that could log, and ask.
func (p *pair) beside(what func()) {
	meta := p.level("debug")
	p.hangs++
	meta["progressToken"] = fmt.Sprint("hang-", p.hangs)
	id, _ := p.begin("tools/call", p.params(args{"name": "era_hang", "arguments": args{}}, meta))
	p.note(func(m message) bool {
		return m.Method == "notifications/progress" && strings.Contains(string(m.Params), fmt.Sprintf(`"%v"`, meta["progressToken"])) && strings.Contains(string(m.Params), `"it hangs"`)
	})
	what()
	p.send(args{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": args{"requestId": json.RawMessage(id)}})
}

func (p *pair) seesLogBeside() (said string) {
	p.beside(func() { said = map[int]string{0: "none", 3: "yes"}[p.logs("debug")] })
	_, _ = p.says("cancelled", args{}, args{})
	return said
}

func (p *pair) seesFormBeside() (said string) {
	p.beside(func() { said = p.seesForm("tools/call", args{"name": "era_ask"}) })
	_, _ = p.says("cancelled", args{}, args{})
	return said
}

// seesForm: accepted and declined.
func (p *pair) seesForm(method string, params args) string {
	var how []string
	for _, one := range []struct{ answer, want string }{
		{`{"action":"accept","content":{"which":"this"}}`, `accept {"which":"this"}`}, {`{"action":"decline"}`, `decline`},
	} {
		var answer args
		check.OK(p.t, json.Unmarshal([]byte(one.answer), &answer))
		p.user.will(answer)
		before := len(p.w.records(`"kind":"mutation"`))
		params := maps.Clone(params)
		if params["name"] == "era_write_ask" {
			params["arguments"] = args{"session": p.session}
		}
		m, rounds := p.asks(method, params, args{})
		got := regexp.MustCompile(`"text":("[^|]*\|(\d+)")`).FindSubmatch(m.Result)
		check.Must(p.t, got != nil, "%s: %s %+v", method, m.Result, m.Error)
		text, _, _ := strings.Cut(unquoted(p.t, got[1]), "|")
		said := "not asked: the server " + map[bool]string{false: "gets `" + text + "`", true: "hears that nobody can be"}[text == ""]
		if asked := p.user.was(); len(asked) > 0 {
			check.That(p.t, text == one.want && len(asked) == 1 && strings.Contains(asked[0], "The server era asks: Which?"), "asked %s, the server got %s", asked, text)
			said = "a request"
			if rounds > 0 {
				said = "`input_required`"
			}
		}
		key, total := fmt.Sprint(method, params["name"]), check.Value(strconv.Atoi(string(got[2])))(p.t)
		said += fmt.Sprintf("; the server is called %d×", total-p.called[key])
		p.called[key] = total
		if records := len(p.w.records(`"kind":"mutation"`)) - before; records > 0 {
			said += fmt.Sprintf(", recorded %d×", records)
		}
		how = append(how, said)
	}
	check.That(p.t, how[0] == how[1], "accepted: %s, declined: %s", how[0], how[1])
	return how[0]
}

func unquoted(t *testing.T, raw []byte) (text string) {
	t.Helper()
	check.OK(t, json.Unmarshal(raw, &text))
	return text
}

func (p *pair) seesOthers() string {
	p.user.will(args{"action": "accept"})
	for _, kind := range []string{"url", "sampling", "roots"} {
		m, rounds := p.tool("other", args{"kind": kind}, args{})
		check.That(p.t, m.Error == nil && rounds == 0 && len(p.user.was()) == 0, "%s: %s %+v, asked %s", kind, m.Result, m.Error, p.user.was())
		refused := strings.Contains(string(m.Result), `{Code:-3260`) || strings.Contains(string(m.Result), `"isError":true`)
		check.That(p.t, refused, "%s: %s", kind, m.Result)
	}
	if p.serves {
		return "no: the call fails"
	}
	return "no: the server gets an error"
}

func (p *pair) seesTrace() string {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	text, _ := p.says("meta", args{}, args{"traceparent": parent, "tracestate": "a=b", "of.us/private": 1})
	check.That(p.t, strings.Contains(text, parent) && strings.Contains(text, `"a=b"`) && !strings.Contains(text, "private"), "_meta: %s", text)
	return "yes, and nothing else of `_meta`"
}

func (p *pair) seesCancellation() string {
	p.beside(func() {})
	text, _ := p.says("cancelled", args{}, args{})
	return text
}

// changes is how often the client was told of each list.
func (p *pair) changes() (n [3]int) {
	for i, list := range []string{"tools", "prompts", "resources"} {
		n[i] = len(p.heard("notifications/"+list+"/list_changed", ""))
	}
	return n
}

func (p *pair) seesChanges() string {
	how := "we are told; so is the client, unasked"
	if p.modern {
		how = "we are told; so is the client that listens"
		p.begin("subscriptions/listen", p.params(args{"notifications": args{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}}, args{}))
		p.note(func(m message) bool { return m.Method == "notifications/subscriptions/acknowledged" })
	}
	if p.serves {
		how = strings.Replace(how, "we are told", "we listen", 1)
	}
	before := p.changes()
	_, _ = p.says("grow", args{}, args{})
	p.until("the client is told of all lists, which are others now", func() bool { // it may be told of the first use yet
		now := p.changes()
		return now[0] > before[0] && now[1] > before[1] && now[2] > before[2] &&
			p.entry("tools/list", "tools", "name", "era_grow") == nil && p.entry("prompts/list", "prompts", "name", "era_later") != nil &&
			p.entry("resources/list", "resources", "uri", "era+era://later") != nil
	})
	return how
}

func (p *pair) seesSubscriptions() string {
	if p.modern { // what is agreed has no resources in it
		id, _ := p.begin("subscriptions/listen", p.params(args{"notifications": args{"resourceSubscriptions": []string{"era+era://text"}}}, args{}))
		agreed := p.note(func(m message) bool {
			return m.Method == "notifications/subscriptions/acknowledged" && strings.Contains(string(m.Params), `subscriptionId":`+id)
		})
		check.Equal(p.t, string(membersOf(agreed.Params)["notifications"]), "{}")
		return "no: not agreed to"
	}
	m, _ := p.asks("resources/subscribe", args{"uri": "era+era://text"}, args{})
	check.Must(p.t, m.Error != nil, "resources/subscribe: %s", m.Result)
	return fmt.Sprintf("no: %d", m.Error.Code)
}
