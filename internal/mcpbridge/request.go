package mcpbridge

import (
	"encoding/json"
	"slices"
)

// request is a request that may be run: of a served method, of a known era, from a peer that may send it.
type request struct {
	id     json.RawMessage
	method string
	caller Caller
	token  json.RawMessage // progress token, nil if none
	asked  members         // the params as they came
	params json.RawMessage // what the method takes of them
	call   *pendingCall    // for tools/call
}

// maxParams bounds what a request says, in bytes. The arguments of tool calls are not among it, and nothing else is
// large.
const maxParams = 64 << 10

// servedParams returns the members of params that a method takes, beside _meta; it is not ok for a method that is not
// served. What a tool call says is read by itself.
func servedParams(method string) (names []string, ok bool) {
	switch method {
	case "initialize":
		return []string{"protocolVersion", "capabilities", "clientInfo"}, true
	case "ping", "server/discover":
		return nil, true
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return []string{"cursor"}, true
	case "tools/call":
		return []string{"name"}, true
	case "prompts/get":
		return []string{"name", "arguments"}, true
	case "resources/read":
		return []string{"uri"}, true
	case "completion/complete":
		return []string{"ref", "argument", "context"}, true
	}
	return nil, false
}

// worksUninitialized tells which methods an initialize-era peer may use before initialize. Discovery is among them
// because clients probe with it: they are told that it needs a revision.
func worksUninitialized(method string) bool {
	return method == "initialize" || method == "ping" || method == "server/discover"
}

// admit turns a message into a request, or says why not. Nothing has been run then. The peer is nil where there is
// none, for 2026-07-28 over HTTP.
func (s *Server) admit(m message, declared meta, from *peer, principal string) (*request, *rpcError) {
	names, served := servedParams(m.method)
	if !served {
		return nil, errorf(codeMethodNotFound, "method %.100q is not served here", m.method)
	}
	r := &request{id: m.id, method: m.method, token: declared.progressToken, asked: m.params, params: m.params.only(names)}
	if declared.modern {
		r.caller = Caller{Modern: true, Client: declared.client, CanElicit: declared.canElicit, ProtocolVersion: declared.version}
	} else {
		var initialized bool
		if r.caller, initialized = from.caller(); !initialized && !worksUninitialized(m.method) {
			return nil, errorf(codeInvalidRequest, "the connection is not initialized; send initialize first")
		}
	}
	r.caller.Principal = principal
	if err := m.params.checkNames(slices.Concat(names, []string{"_meta", "arguments", "inputResponses", "requestState"})); err != nil {
		return nil, errorf(codeInvalidParams, "bad params: %v", err)
	}
	if cursor := m.params.get("cursor"); cursor != nil && string(cursor) != `""` {
		return nil, errorf(codeInvalidParams, "unknown cursor: lists here have one page")
	}
	if len(r.params)+len(declared.raw.only(metaNames())) > maxParams {
		return nil, errorf(codeInvalidParams, "params of %s, without a tool's arguments, are longer than %d bytes", m.method, maxParams)
	}
	if m.method == "tools/call" {
		return r, s.readCall(r, m.params, declared.model)
	}
	return r, nil
}

// readCall takes the call out of the params of tools/call.
func (s *Server) readCall(r *request, params members, model string) *rpcError {
	name, ok := params.text("name")
	if !ok {
		return errorf(codeInvalidParams, `tools/call needs "name", a string`)
	}
	if _, known := s.tools[name]; !known {
		return errorf(codeInvalidParams, "unknown tool %.100q; tools/list names those that exist", name)
	}
	arguments := params.get("arguments")
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	if arguments[0] != '{' {
		return errorf(codeInvalidParams, `"arguments" of %s must be an object`, name)
	}
	resumed, failure := readResumption(params, r.caller)
	if failure != nil {
		return failure
	}
	r.call = &pendingCall{call: Call{Tool: name, Arguments: arguments, Caller: r.caller, Model: model, Resumed: resumed}}
	return nil
}
