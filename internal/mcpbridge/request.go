package mcpbridge

import (
	"context"
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
	call   *Call           // for tools/call, and its arguments taken apart
	// unasked: its sender answers no question ([Identity.Unasked]), so that none is put.
	unasked bool

	incoming Incoming

	// Of one for Beside: what answers it, and what Call has of a tool call.
	beside func(context.Context, BesideCall) (json.RawMessage, error)
	model  string
	trace  TraceContext
	// resumed is what it brings of answers to questions; nil for none.
	resumed *Resumption

	logLevel string   // that it asks for, or sets
	follows  []string // lists, of a subscription
}

// maxParams bounds what a request says, in bytes. The arguments of tool calls are not among it, and nothing else is large.
const maxParams = 64 << 10

// servedParams are the methods that are served, each with the members of params that it takes, beside _meta. What a tool
// call says is read by itself.
var servedParams = map[string][]string{
	"initialize":               {"protocolVersion", "capabilities", "clientInfo"},
	"ping":                     nil,
	"server/discover":          nil,
	"tools/list":               {"cursor"},
	"prompts/list":             {"cursor"},
	"resources/list":           {"cursor"},
	"resources/templates/list": {"cursor"},
	"tools/call":               {"name"},
	"prompts/get":              {"name", "arguments"},
	"resources/read":           {"uri"},
	"completion/complete":      {"ref", "argument", "context"},
}

// uninitialized are the methods that an initialize-era peer may use before initialize. Discovery is among them because
// clients probe with it: they are told that it needs a revision.
var uninitialized = []string{"initialize", "ping", "server/discover"}

// admit turns a message into a request, or says why not. Nothing has been run then.
func (s *Server) admit(m message, declared meta, from *peer, who Identity) (*request, *rpcError) {
	names, served := servedParams[m.method]
	if !served {
		names, served = s.servedBeside(m.method, declared.modern)
	}
	if !served {
		return nil, errorf(codeMethodNotFound, "method %.100q is not served here", m.method)
	}
	r := &request{id: m.id, method: m.method, token: declared.progressToken, asked: m.params, params: m.params.only(names), unasked: who.Unasked}
	if declared.modern {
		r.caller = Caller{Modern: true, Client: declared.client, CanElicit: declared.canElicit, ShowsApps: declared.showsApps, ProtocolVersion: declared.version}
	} else {
		var initialized bool
		if r.caller, initialized = from.caller(); !initialized && !slices.Contains(uninitialized, m.method) {
			return nil, errorf(codeInvalidRequest, "the connection is not initialized; send initialize first")
		}
	}
	r.caller.Principal, r.caller.Role = who.Principal, who.Role
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
		if failure := s.readLogLevel(r, declared); failure != nil {
			return r, failure
		}
		return r, s.readCall(r, m.params, declared)
	}
	return r, s.readBeside(r, declared)
}

// servedBeside are the methods that are served where lists can change, and something else than this server logs.
func (s *Server) servedBeside(method string, modern bool) (names []string, served bool) {
	switch {
	case s.config.Beside == nil:
	case method == listenMethod && modern:
		return []string{"notifications"}, true
	case method == "logging/setLevel" && !modern:
		return []string{"level"}, true
	}
	return nil, false
}

// readBeside takes what a request says that is for what others have.
func (s *Server) readBeside(r *request, declared meta) (failure *rpcError) {
	switch r.method {
	case listenMethod:
		r.follows, failure = readFilter(r.asked)
		return failure
	case "logging/setLevel":
		if r.logLevel, failure = readLogLevel(r.asked.get("level")); failure == nil && r.logLevel == "" {
			failure = errorf(codeInvalidParams, `logging/setLevel needs "level"`)
		}
		return failure
	}
	if r.beside = s.besides(r); r.beside == nil {
		return nil
	}
	if failure = s.readLogLevel(r, declared); failure != nil {
		return failure
	}
	r.model, r.trace = declared.model, declared.trace
	if r.resumed, failure = readResumption(r.asked, r.caller); failure == nil {
		failure = s.unseal(r)
	}
	return failure
}

// readLogLevel takes the level that a request of 2026-07-28 asks for. Without Beside there is nothing to log.
func (s *Server) readLogLevel(r *request, declared meta) (failure *rpcError) {
	if r.caller.Modern && s.config.Beside != nil {
		r.logLevel, failure = readLogLevel(logLevelOf(declared))
	}
	return failure
}

// readCall takes the call out of the params of tools/call.
func (s *Server) readCall(r *request, params members, declared meta) *rpcError {
	name, ok := params.text("name")
	if !ok {
		return errorf(codeInvalidParams, `tools/call needs "name", a string`)
	}
	if _, known := s.tools[name]; !known && (s.config.Beside == nil || !s.config.Beside.HasTool(name)) {
		return errorf(codeInvalidParams, "unknown tool %.100q; tools/list names those that exist", name)
	}
	arguments := params.get("arguments")
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	if arguments[0] != '{' {
		return errorf(codeInvalidParams, `"arguments" of %s must be an object`, name)
	}
	var failure *rpcError
	if r.resumed, failure = readResumption(params, r.caller); failure != nil {
		return failure
	}
	if s.tools[name].Asks && r.caller.Modern && !r.caller.CanElicit {
		failure := errorf(codeMissingCapability, "%s asks the client's user, and the client has not declared elicitation", name)
		failure.Data = encode(map[string]any{"requiredCapabilities": map[string]any{"elicitation": struct{}{}}})
		return failure
	}
	r.call = &Call{Tool: name, Arguments: arguments, Caller: r.caller, Model: declared.model, Trace: declared.trace, Resumed: r.resumed}
	if failure := s.unseal(r); failure != nil {
		return failure
	}
	r.incoming = s.config.Handler.Read(name, arguments)
	return nil
}
