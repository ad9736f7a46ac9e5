package mcpbridge

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serve runs a request to its end and returns its answer.
func (s *Server) serve(ctx context.Context, r *request) []byte {
	state := &running{request: r}
	ctx = context.WithValue(ctx, runningKey{}, state)
	answer := s.handle(s.engine.WithContext(ctx, new(engineSession)), r)
	if r.call != nil {
		// mcp-go may have refused the request on its own.
		unstarted, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = s.finish(unstarted, r.call)
	}
	failure := state.failure
	if refused, ok := answer.(mcp.JSONRPCError); ok && failure == nil {
		failure = engineFailure(refused)
	}
	if failure != nil {
		if r.uri != "" && failure.Code == notFoundCode(r.caller) {
			failure.Data = encode(map[string]string{"uri": r.uri})
		}
		return encodeError(r.id, failure)
	}
	return encodeAnswer(r.id, answer)
}

func engineFailure(refused mcp.JSONRPCError) *rpcError {
	failure := errorf(refused.Error.Code, "%s", refused.Error.Message)
	if data, err := json.Marshal(refused.Error.Data); err == nil && refused.Error.Data != nil {
		failure.Data = data
	}
	return failure
}

// handle is mcp-go's HandleMessage with panics turned into an answer.
func (s *Server) handle(ctx context.Context, r *request) (answer mcp.JSONRPCMessage) {
	defer func() {
		if value := recover(); value != nil {
			s.logPanic(value, r.method)
			answer = internalError(errPanicked)
		}
	}()
	return s.engine.HandleMessage(ctx, r.forward)
}

func internalError(err error) mcp.JSONRPCError {
	return mcp.JSONRPCError{Error: mcp.NewJSONRPCErrorDetails(codeInternal, err.Error(), nil)}
}

// encodeAnswer writes mcp-go's answer with the id as it was sent: mcp-go
// decodes ids to float64, which changes large ones.
func encodeAnswer(id json.RawMessage, answer mcp.JSONRPCMessage) []byte {
	switch answer := answer.(type) {
	case mcp.JSONRPCResponse:
		if r, isTool := answer.Result.(*mcp.CallToolResult); isTool {
			if result, ok := toolResult(r); ok {
				return encodeResult(id, result)
			}
		}
		result, err := json.Marshal(answer.Result)
		if err != nil {
			return encodeError(id, errorf(codeInternal, "internal error: the result cannot be encoded: %v", err))
		}
		return encodeResult(id, result)
	case mcp.JSONRPCError:
		return encodeError(id, engineFailure(answer))
	}
	return encodeError(id, errorf(codeInternal, "internal error: no answer (%s)", fmt.Sprintf("%T", answer)))
}

// initialize runs the handshake of the initialize era. It is a barrier: the
// caller reads nothing further from the peer until it is done. A further one on
// the same connection is another client behind the same bridge.
func (s *Server) initialize(ctx context.Context, m message, from *peer, principal string) (answer []byte, ok bool) {
	declared, failure := readMeta(m.params)
	if failure == nil && declared.modern {
		failure = errorf(codeMethodNotFound, "initialize is not part of revision %s; send requests as they are", declared.version)
	}
	var r *request
	if failure == nil {
		r, failure = s.admit(m, declared, from, principal)
	}
	if failure != nil {
		return encodeError(m.id, failure), false
	}
	engineAnswer := s.handle(ctx, r)
	if response, isResponse := engineAnswer.(mcp.JSONRPCResponse); isResponse {
		if result, isResult := response.Result.(mcp.InitializeResult); isResult {
			canElicit, _ := declaresElicitation(m.params.get("capabilities"))
			canElicit = canElicit && result.ProtocolVersion >= firstElicitation
			from.initialize(readClientInfo(m.params.get("clientInfo")), canElicit, result.ProtocolVersion)
			ok = true
		}
	}
	return encodeAnswer(m.id, engineAnswer), ok
}

// engineSession is what mcp-go takes for a client's session. Each request has
// its own, so nothing that mcp-go keeps by session can be shared. What mcp-go
// would notify of by itself is not sent.
type engineSession struct{ _ byte }

var _ server.ClientSession = (*engineSession)(nil)

func (e *engineSession) Initialize()       {}
func (e *engineSession) Initialized() bool { return true }
func (e *engineSession) SessionID() string { return fmt.Sprintf("%p", e) }
func (e *engineSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return nil
}
