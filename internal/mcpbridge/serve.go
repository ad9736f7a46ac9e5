package mcpbridge

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// serve runs a request to its end and returns its answer.
func (s *Server) serve(ctx context.Context, r *request) []byte {
	result, failure := s.run(ctx, r)
	if failure == nil {
		return encodeResult(r.id, result)
	}
	if uri, _ := r.asked.text("uri"); uri != "" && r.method == "resources/read" && failure.Code == notFoundCode(r.caller) {
		failure.Data = encode(map[string]string{"uri": uri})
	}
	return encodeError(r.id, failure)
}

func (s *Server) run(ctx context.Context, r *request) (encoded json.RawMessage, failure *rpcError) {
	if r.call != nil {
		result, err := s.finish(ctx, r.call)
		if err == nil {
			encoded, err = s.toolResult(result, r.caller)
		}
		if err != nil {
			failure = errorf(codeInternal, "%v", err)
		}
		return encoded, failure
	}
	result, failure := s.guarded(ctx, r)
	if failure != nil {
		return nil, failure
	}
	if r.caller.Modern {
		s.identify(result, r.method)
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, errorf(codeInternal, "internal error: the result cannot be encoded: %v", err)
	}
	return encoded, nil
}

// guarded is result with panics turned into an answer.
func (s *Server) guarded(ctx context.Context, r *request) (result mcp.ResultMetadata, failure *rpcError) {
	defer func() {
		if value := recover(); value != nil {
			s.logPanic(value, r.method)
			failure = errorf(codeInternal, "%v", errPanicked)
		}
	}()
	return s.result(ctx, r)
}

// initialize runs the handshake of the initialize era. It is a barrier: the caller reads nothing further from the
// peer until it is done. A further one on the same connection is another client behind the same bridge.
func (s *Server) initialize(ctx context.Context, m message, from *peer, principal string) (answer []byte, ok bool) {
	declared, failure := readMeta(m.params)
	if failure == nil && declared.modern {
		failure = errorf(codeMethodNotFound, "initialize is not part of revision %s; send requests as they are", declared.version)
	}
	var r *request
	if failure == nil {
		r, failure = s.admit(m, declared, from, principal)
	}
	var result mcp.ResultMetadata
	if failure == nil {
		result, failure = s.guarded(ctx, r)
	}
	if failure != nil {
		return encodeError(m.id, failure), false
	}
	agreed := result.(*mcp.InitializeResult)
	canElicit, _ := declaresElicitation(m.params.get("capabilities"))
	from.initialize(readClientInfo(m.params.get("clientInfo")), canElicit && agreed.ProtocolVersion >= firstElicitation, agreed.ProtocolVersion)
	return encodeResult(m.id, encode(agreed)), true
}
