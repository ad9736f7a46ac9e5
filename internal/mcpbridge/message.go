package mcpbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDepth bounds the nesting of a message. Nothing that the protocol or our tools define comes near it; decoders
	// recurse on it.
	maxDepth = 256
	// maxMembers bounds the members of the envelope, of params and of _meta.
	maxMembers = 256
	// maxIDLength bounds a request id, which is kept and sent back.
	maxIDLength = 1024
)

type messageKind int

const (
	requestMessage messageKind = iota
	notificationMessage
	responseMessage
)

// message is a JSON-RPC message that passed the strict reader.
type message struct {
	kind   messageKind
	id     json.RawMessage // as sent; nil for a notification
	method string
	params members // nil if absent
	// result and failure are those of a response, one of them nil; a response with both is left to who asked.
	result, failure json.RawMessage
}

// member is one name and value of a JSON object; value is as sent.
type member struct {
	name  string
	value json.RawMessage
}

type members []member

// get returns the value of exactly that name, nil if absent or null.
func (m members) get(name string) json.RawMessage {
	for _, candidate := range m {
		if candidate.name == name && string(candidate.value) != "null" {
			return candidate.value
		}
	}
	return nil
}

// object writes the members as one JSON object.
func (m members) object() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, each := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encode(each.name))
		b.WriteByte(':')
		b.Write(each.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// only writes those of some names as one JSON object.
func (m members) only(names []string) json.RawMessage {
	var kept members
	for _, name := range names {
		if value := m.get(name); value != nil {
			kept = append(kept, member{name, value})
		}
	}
	return kept.object()
}

// text returns the value of that name if it is a string.
func (m members) text(name string) (string, bool) {
	return unquote(m.get(name))
}

// parseMessage reads one JSON-RPC message. It is stricter than encoding/json, which matches names in any case, lets
// the last of two equal names win and turns invalid UTF-8 into U+FFFD: with those, two readers of one message could
// differ. After an error the message still holds the id, if the id could be read.
func parseMessage(raw []byte) (message, *rpcError) {
	if depth := nesting(raw); depth > maxDepth {
		return message{}, errorf(codeInvalidRequest, "the message is nested more than %d levels deep", maxDepth)
	}
	if !utf8.Valid(raw) {
		return message{}, errorf(codeParse, "the message is not valid UTF-8")
	}
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return message{}, errorf(codeInvalidRequest, "batches are not supported; send one message at a time")
	}
	envelope, err := readMembers(raw)
	if err != nil {
		return message{}, errorf(codeParse, "the message is not one JSON object: %v", err)
	}
	return newMessage(envelope)
}

func newMessage(envelope members) (message, *rpcError) {
	var m message
	if err := envelope.checkNames(envelopeNames); err != nil {
		return m, errorf(codeInvalidRequest, "bad envelope: %v", err)
	}
	for _, each := range envelope {
		if each.name != "id" {
			continue
		}
		if _, err := idKey(each.value); err != nil {
			return m, errorf(codeInvalidRequest, "bad id: %v", err)
		}
		m.id = each.value
	}
	if version, _ := envelope.text("jsonrpc"); version != "2.0" {
		return m, errorf(codeInvalidRequest, `"jsonrpc" must be "2.0"`)
	}
	method := envelope.get("method")
	if method == nil {
		if m.id == nil || (envelope.get("result") == nil && envelope.get("error") == nil) {
			return m, errorf(codeInvalidRequest, "the message is neither a request, a notification nor a response")
		}
		m.kind = responseMessage
		m.result, m.failure = envelope.get("result"), envelope.get("error")
		return m, nil
	}
	if envelope.get("result") != nil || envelope.get("error") != nil {
		return m, errorf(codeInvalidRequest, "the message is a request and a response at once")
	}
	var isText bool
	if m.method, isText = unquote(method); !isText {
		return m, errorf(codeInvalidRequest, `"method" must be a string`)
	}
	if m.id == nil {
		m.kind = notificationMessage
	}
	params := envelope.get("params")
	if params == nil {
		return m, nil
	}
	if params[0] != '{' {
		return m, errorf(codeInvalidRequest, `"params" must be an object`)
	}
	var err error
	if m.params, err = readMembers(params); err != nil {
		return m, errorf(codeInvalidRequest, "bad params: %v", err)
	}
	return m, nil
}

var envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// idKey checks an id and returns what makes it equal to another: an integer and a string of the same digits differ,
// two spellings of a string do not.
func idKey(raw json.RawMessage) (string, error) {
	if len(raw) > maxIDLength {
		return "", fmt.Errorf("longer than %d bytes", maxIDLength)
	}
	if text, ok := unquote(raw); ok {
		return "s" + text, nil
	}
	if len(raw) == 0 || !strings.ContainsRune("-0123456789", rune(raw[0])) || bytes.ContainsAny(raw, ".eE") {
		return "", errors.New("it must be a string or an integer")
	}
	return "n" + string(raw), nil
}

// checkNames refuses names that a laxer reader would take for a known one.
func (m members) checkNames(known []string) error {
	for i, candidate := range m {
		for _, name := range known {
			if candidate.name != name && strings.EqualFold(candidate.name, name) {
				return fmt.Errorf("%.40q must be spelled %q", candidate.name, name)
			}
		}
		for _, earlier := range m[:i] {
			if earlier.name == candidate.name {
				return fmt.Errorf("%.40q appears twice", candidate.name)
			}
		}
	}
	return nil
}

// readMembers splits one JSON object, and nothing after it, into its members. The values are slices of raw.
func readMembers(raw []byte) (members, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() != jsontext.KindBeginObject {
		if _, err := decoder.ReadValue(); err != nil {
			return nil, syntaxError(err)
		}
		return nil, errors.New("it is another kind of value")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	var found members
	for decoder.PeekKind() != jsontext.KindEndObject {
		if len(found) == maxMembers {
			return nil, fmt.Errorf("an object has more than %d members", maxMembers)
		}
		next, err := readMember(decoder, raw)
		if err != nil {
			return nil, syntaxError(err)
		}
		found = append(found, next)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	if _, err := decoder.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return found, nil
}

func readMember(decoder *jsontext.Decoder, raw []byte) (member, error) {
	name, err := decoder.ReadToken()
	if err != nil {
		return member{}, err
	}
	text := name.String()
	value, err := decoder.ReadValue()
	if err != nil {
		return member{}, err
	}
	// The decoder's slice is valid only until its next call; ours is not.
	end := int(decoder.InputOffset())
	return member{name: text, value: raw[end-len(value) : end : end]}, nil
}

// checkValue tells whether raw is one JSON value.
func checkValue(raw []byte) error {
	if !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true)) {
		return errors.New("it is not JSON")
	}
	return nil
}

// syntaxError shortens the decoder's error: it can quote a hostile name.
func syntaxError(err error) error {
	text := strings.TrimPrefix(err.Error(), "jsontext: ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return errors.New(text)
}

// unquote returns the text of a JSON string.
func unquote(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// nesting returns how deep arrays and objects are nested in raw, in one pass and without recursion. On what is not
// JSON it returns some number.
func nesting(raw []byte) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString:
			if c == '\\' {
				i++
			}
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// JSON-RPC error codes that the bridge itself uses. Those from -32768 to -32000 are defined by JSON-RPC or by the
// protocol; new meanings have to stay outside that range.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	// These are of 2026-07-28.
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
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
	return endResult(append(beginResult(id, len(result)), result...))
}

// beginResult begins a response, with room for a result of that size.
func beginResult(id json.RawMessage, size int) []byte {
	const before, between, after = `{"jsonrpc":"2.0","id":`, `,"result":`, `}`
	const newline = 1 // stdio appends one
	out := slices.Grow((*written.Get().(*[]byte))[:0], len(before)+len(id)+len(between)+size+len(after)+newline)
	return append(append(append(out, before...), id...), between...)
}

// written keeps the memory of responses that nobody reads any more: a response is most of what a read allocates.
var written = sync.Pool{New: func() any { return new([]byte) }}

// endResult ends a response behind its result.
func endResult(out []byte) []byte { return append(out, '}') }

// encodeRequest makes a request of ours; without an id it is a notification.
func encodeRequest(id, method string, params any) []byte {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", id, method, params})
}

// encode marshals what is made of our own types and of values already checked, which cannot fail.
func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic("mcpbridge: " + err.Error())
	}
	return encoded
}
