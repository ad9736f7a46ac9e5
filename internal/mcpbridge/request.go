package mcpbridge

import (
	"bytes"
	"encoding/json"
	"slices"
)

// request is a request that may be run: of a served method, of a known era,
// from a peer that may send it.
type request struct {
	id      json.RawMessage
	method  string
	caller  Caller
	token   json.RawMessage // progress token, nil if none
	forward []byte          // the message as mcp-go gets it
	uri     string          // of resources/read
	call    *pendingCall    // for tools/call
}

// maxForwarded bounds what a request hands to mcp-go, in bytes. The arguments
// of tool calls are not among it, and nothing else is large.
const maxForwarded = 64 << 10

// servedParams returns the members of params that mcp-go gets to see for a
// method, beside _meta; it is not ok for a method that is not served. What is
// missing is missing on purpose:
//
//   - the task methods, since mcp-go's task tools bypass what its other tools
//     go through, and "task" in a tool call;
//   - "subscriptions/listen": mcp-go acknowledges whatever is asked for, and
//     nothing here would ever be sent;
//   - "arguments" of a tool call, and the "inputResponses" and "requestState"
//     of 2026-07-28, which travel past mcp-go to the tool handler: mcp-go would
//     judge arguments, and pass forged answers on in both eras.
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

// worksUninitialized tells which methods an initialize-era peer may use before
// initialize. Discovery is among them because clients probe with it: mcp-go
// then says that it needs a revision.
func worksUninitialized(method string) bool {
	return method == "initialize" || method == "ping" || method == "server/discover"
}

// admit turns a message into a request, or says why not. Nothing has been run
// then. The peer is nil where there is none, for 2026-07-28 over HTTP.
func (s *Server) admit(m message, declared meta, from *peer, principal string) (*request, *rpcError) {
	names, served := servedParams(m.method)
	if !served {
		return nil, errorf(codeMethodNotFound, "method %.100q is not served here", m.method)
	}
	r := &request{id: m.id, method: m.method, token: declared.progressToken}
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
	if r.forward = forward(m, names, declared.raw); len(r.forward) > maxForwarded {
		return nil, errorf(codeInvalidParams, "params of %s, without a tool's arguments, are longer than %d bytes", m.method, maxForwarded)
	}
	if m.method == "resources/read" {
		r.uri, _ = m.params.text("uri")
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
	if !s.knowsTool(name) {
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

// forward rebuilds the message from the named members of its params and the
// known ones of _meta. What mcp-go then reads is what was checked.
func forward(m message, names []string, declared members) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(m.id)
	b.WriteString(`,"method":`)
	b.Write(encode(m.method))
	b.WriteString(`,"params":{"_meta":`)
	writeObject(&b, declared, metaNames())
	for _, name := range names {
		if value := m.params.get(name); value != nil {
			b.WriteByte(',')
			writeMember(&b, name, value)
		}
	}
	b.WriteString("}}")
	return b.Bytes()
}

// forwardParams are the named params alone.
func forwardParams(m message, names []string) []byte {
	var b bytes.Buffer
	writeObject(&b, m.params, names)
	return b.Bytes()
}

func writeObject(b *bytes.Buffer, from members, names []string) {
	b.WriteByte('{')
	separator := ""
	for _, name := range names {
		if value := from.get(name); value != nil {
			b.WriteString(separator)
			writeMember(b, name, value)
			separator = ","
		}
	}
	b.WriteByte('}')
}

func writeMember(b *bytes.Buffer, name string, value json.RawMessage) {
	b.Write(encode(name))
	b.WriteByte(':')
	b.Write(value)
}
