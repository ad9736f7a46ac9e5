package upstreams_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// call does what a tool is called after.
func (x *exchange) call() (any, *rpcFailure) {
	name := x.text("name")
	for tool, result := range map[string]string{"say": eraSaid, "object": eraObject, "array": eraArray, "fail": eraFailed} {
		if name == tool {
			return x.whole(result, x.Method), nil
		}
	}
	switch name {
	case "error":
		return nil, &rpcFailure{Code: 7, Message: "it is broken"}
	case "huge":
		return x.says("%s", eraHuge()), nil
	case "steps":
		for i := range 5 {
			x.progress(fmt.Sprint("step ", i), i+1, 5)
		}
	case "log":
		for _, level := range []string{"debug", "info", "warning"} {
			x.log(level, "it is "+level)
		}
	case "ask", "write_ask":
		return x.ask(name), nil
	case "other":
		return x.other(membersOf(membersOf(x.Params)["arguments"])["kind"]), nil
	case "hang":
		x.progress("it hangs", 1, 0)
		x.cancels <- x.wait()
		return nil, nil
	case "cancelled":
		return x.says("%s", <-x.cancels), nil
	case "grow":
		x.grow()
	case "meta":
		return x.says("%s", membersOf(x.Params)["_meta"]), nil
	}
	return x.says("%s is done", name), nil
}

// eraHuge is larger than what an agent is given of a result.
func eraHuge() string { return strings.Repeat("all work and no play \\\" \u00e4\n", 20_000) }

func (x *exchange) says(format string, a ...any) json.RawMessage {
	return x.whole(`{"content":[{"type":"text","text":`+string(exactly(fmt.Sprintf(format, a...)))+`}]`, x.Method)
}

func (x *exchange) meta() map[string]json.RawMessage { return membersOf(membersOf(x.Params)["_meta"]) }

func (x *exchange) progress(message string, done, total int) {
	if token := x.meta()["progressToken"]; token != nil {
		x.say(notification("notifications/progress", args{"progressToken": token, "progress": done, "total": total, "message": message}))
	}
}

// levels are some of the protocol's, the least grave first.
var eraLevels = []string{"debug", "info", "notice", "warning"}

// log keeps to the level that the client has set; without one, none is sent, as most servers have it.
func (x *exchange) log(level, text string) {
	var from string
	if x.modern {
		_ = json.Unmarshal(x.meta()["io.modelcontextprotocol/logLevel"], &from)
	} else {
		x.mu.Lock()
		from = x.level
		x.mu.Unlock()
	}
	if from != "" && slices.Index(eraLevels, level) >= slices.Index(eraLevels, from) {
		x.say(notification("notifications/message", args{"level": level, "logger": "eras", "data": args{"text": text}}))
	}
}

var eraForm = args{"message": "Which?", "requestedSchema": args{"type": "object", "properties": args{"which": args{"type": "string"}}}}

// ask puts a form to the client's user, and says what came back, and which call of that thing it is.
func (x *exchange) ask(what string) json.RawMessage {
	x.mu.Lock()
	x.calls[what]++
	n := x.calls[what]
	x.mu.Unlock()
	var text string
	switch answer := membersOf(membersOf(membersOf(x.Params)["inputResponses"])["q"]); {
	case !x.modern:
		text = answered(membersOf(x.request("elicitation/create", eraForm).Result))
	case answer != nil && x.text("requestState") == "of the server":
		text = answered(answer)
	case membersOf(x.meta()["io.modelcontextprotocol/clientCapabilities"])["elicitation"] == nil: // nobody can be asked
	default:
		return x.requires("elicitation/create", eraForm)
	}
	text += fmt.Sprint("|", n)
	said := args{"type": "text", "text": text}
	switch x.Method {
	case "prompts/get":
		return x.whole(`{"messages":[{"role":"user","content":`+string(exactly(said))+`}]`, x.Method)
	case "resources/read":
		return x.whole(`{"contents":[{"uri":"era://ask","text":`+string(exactly(text))+`}]`, x.Method)
	}
	return x.whole(`{"content":[`+string(exactly(said))+`]`, x.Method)
}

func answered(with map[string]json.RawMessage) string {
	return strings.TrimSpace(strings.Trim(string(with["action"]), `"`) + " " + string(with["content"]))
}

func (x *exchange) requires(method string, params args) json.RawMessage {
	return exactly(args{"resultType": "input_required", "requestState": "of the server", "inputRequests": args{"q": args{"method": method, "params": params}}})
}

// other asks for what is not passed on.
func (x *exchange) other(kind json.RawMessage) any {
	method, params := "sampling/createMessage", args{"messages": []args{}, "maxTokens": 1}
	switch string(kind) {
	case `"roots"`:
		method, params = "roots/list", args{}
	case `"url"`:
		method, params = "elicitation/create", maps.Clone(eraForm)
		maps.Copy(params, args{"mode": "url", "url": "https://example.org/", "elicitationId": "1"})
	}
	if x.modern {
		return x.requires(method, params)
	}
	return x.says("it was told %+v", x.request(method, params).Error)
}
