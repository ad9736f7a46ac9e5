package mcpbridge

import (
	"encoding/json"
	"fmt"
)

// JSON-RPC error codes that the bridge itself uses. Those from -32768 to -32000 are defined by JSON-RPC or by the
// protocol; new meanings have to stay outside that range.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	// codeHeaderMismatch and codeUnsupportedVersion are of 2026-07-28.
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
	// codeResourceNotFound is of 2025-11-25 and earlier.
	codeResourceNotFound = -32002
	// codeBusy: the request was not begun because too much is in flight.
	codeBusy = -31000
)

// rpcError is the error object of a JSON-RPC response.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func errorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

var nullID = json.RawMessage("null")

// encodeError makes an error response. A nil id is sent as null: it could not be read.
func encodeError(id json.RawMessage, failure *rpcError) []byte {
	if id == nil {
		id = nullID
	}
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{"2.0", id, failure})
}

// encodeResult makes a response of an encoded result, which can be large: it is not encoded once more.
func encodeResult(id, result json.RawMessage) []byte {
	const before, between, after = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	const newline = 1 // stdio appends one
	out := make([]byte, 0, len(before)+len(id)+len(between)+len(result)+len(after)+newline)
	out = append(append(out, before...), id...)
	out = append(append(out, between...), result...)
	return append(out, after...)
}

// encodeNotification makes a notification.
func encodeNotification(method string, params any) []byte {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// encode marshals what is made of our own types and of values already checked, which cannot fail.
func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic("mcpbridge: " + err.Error())
	}
	return encoded
}
