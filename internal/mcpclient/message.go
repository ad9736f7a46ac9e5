package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

const (
	// maxDepth bounds the nesting of a message: who gets a result next may read it by recursion.
	maxDepth = 256
	// maxID bounds the id of a server's request, which is sent back.
	maxID = 1024
)

// message is what came as one JSON object. Its values are slices of what was read, without line breaks.
type message struct {
	id                      json.RawMessage // nil for none, or null
	method                  string
	params, result, failure json.RawMessage
	answered                // if there is a result
}

// answered is what the protocol itself looks for in a result.
type answered struct {
	kind             string          // resultType, "" for none
	questions, state json.RawMessage // inputRequests, requestState
}

// parse reads one message strictly: a reader behind us must not understand another one than we do.
func parse(raw []byte) (m message, err error) {
	if depth := rawjson.Nesting(raw); depth > maxDepth {
		return m, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	err = rawjson.Each(raw, func(d *jsontext.Decoder, name string) error {
		if name == "result" && d.PeekKind() == jsontext.KindBeginObject {
			begin := at(d, raw)
			if err := readResult(d, raw, &m.answered); err != nil {
				return err
			}
			end := d.InputOffset()
			m.result = raw[begin:end:end]
			return nil
		}
		value, err := rawjson.Value(d, raw)
		switch name {
		case "id":
			if string(value) != "null" {
				m.id = value
			}
		case "method":
			m.method, _ = rawjson.Text(value)
		case "params":
			m.params = value
		case "result": // no object
			m.result = value
		case "error":
			m.failure = value
		}
		return err
	})
	if err == nil && m.method == "" && m.result == nil && m.failure == nil {
		err = errors.New("it is neither a request nor an answer")
	}
	m.params, m.result, m.failure = oneLine(m.params), oneLine(m.result), oneLine(m.failure)
	m.questions, m.state = oneLine(m.questions), oneLine(m.state)
	return m, err
}

// readResult reads the members of an object of which the beginning was peeked.
func readResult(d *jsontext.Decoder, raw []byte, a *answered) error {
	return rawjson.Members(d, func(d *jsontext.Decoder, name string) error {
		value, err := rawjson.Value(d, raw)
		if string(value) == "null" {
			return err
		}
		switch name {
		case "resultType":
			var is bool
			if a.kind, is = rawjson.Text(value); !is {
				a.kind = string(value) // no type that anybody knows
			}
		case "inputRequests":
			a.questions = value
		case "requestState":
			a.state = value
		}
		return err
	})
}

// at is where the value begins that was peeked at.
func at(d *jsontext.Decoder, raw []byte) int {
	offset := int(d.InputOffset())
	return offset + bytes.IndexByte(raw[offset:], '{')
}

// oneLine takes the line breaks between the values of valid JSON out, also those that only some readers take for one. There are
// none in lines, and none within texts.
func oneLine(raw json.RawMessage) json.RawMessage {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	compact := bytes.Clone(raw)
	kept := compact[:0]
	for _, b := range compact {
		if b != '\n' && b != '\r' {
			kept = append(kept, b)
		}
	}
	return kept
}

// ours reads an id or a token as one of ours, which are plain integers.
func ours(raw json.RawMessage) (int64, bool) {
	if len(raw) == 0 || raw[0] < '1' || raw[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(string(raw), 10, 64)
	return id, err == nil
}

// sendable reports whether the id of a server's request can be sent back.
func sendable(id json.RawMessage) bool {
	return len(id) > 0 && len(id) <= maxID && strings.IndexByte(`"-0123456789`, id[0]) >= 0
}

// salvage is the id of what would be an answer, were it not for texts that are not UTF-8, names that stand twice, or its depth.
func salvage(raw []byte) (id json.RawMessage) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := rawjson.Members(d, func(d *jsontext.Decoder, name string) error {
		value, err := rawjson.Value(d, raw)
		if name == "method" {
			return errors.New("it is a request")
		}
		if name == "id" {
			id = value
		}
		return err
	})
	if err != nil {
		return nil
	}
	return id
}

// readError reads the error object of an answer.
func readError(raw json.RawMessage) *Error {
	e := &Error{}
	err := rawjson.Each(raw, func(d *jsontext.Decoder, name string) error {
		value, err := rawjson.Value(d, raw)
		switch name {
		case "code":
			e.Code, _ = strconv.ParseInt(string(value), 10, 64)
		case "message":
			e.Message, _ = rawjson.Text(value)
		case "data":
			if string(value) != "null" {
				e.Data = value
			}
		}
		return err
	})
	if err != nil {
		e.Message = "an error that is no object"
	}
	e.Message = shorten(e.Message, maxMessageText)
	return e
}
