package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
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
	if depth := nesting(raw); depth > maxDepth {
		return m, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	err = eachMember(raw, func(d *jsontext.Decoder, name string) error {
		if name == "result" && d.PeekKind() == jsontext.KindBeginObject {
			begin := at(d, raw)
			if err := readResult(d, raw, &m.answered); err != nil {
				return err
			}
			end := d.InputOffset()
			m.result = raw[begin:end:end]
			return nil
		}
		value, err := readValue(d, raw)
		switch name {
		case "id":
			if string(value) != "null" {
				m.id = value
			}
		case "method":
			m.method, _ = unquote(value)
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
	return members(d, func(d *jsontext.Decoder, name string) error {
		value, err := readValue(d, raw)
		if string(value) == "null" {
			return err
		}
		switch name {
		case "resultType":
			var is bool
			if a.kind, is = unquote(value); !is {
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

// eachMember calls read for each name of one object, behind which nothing may follow. It has to read the value.
func eachMember(raw []byte, read func(d *jsontext.Decoder, name string) error) error {
	d := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(raw)) // the decoder reads a buffer's bytes in place
	err := members(d, read)
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	d.Reset(bytes.NewBuffer(nil))
	return plain(err)
}

var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewBuffer(nil)) }}

func members(d *jsontext.Decoder, read func(d *jsontext.Decoder, name string) error) error {
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject {
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return errors.New("it is no object")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := read(d, name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// readValue returns the next value as a slice of raw: the decoder's own is valid only until its next call.
func readValue(d *jsontext.Decoder, raw []byte) (json.RawMessage, error) {
	value, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return json.RawMessage(raw[end-len(value) : end : end]), nil
}

// at is where the value begins that was peeked at.
func at(d *jsontext.Decoder, raw []byte) int {
	offset := int(d.InputOffset())
	return offset + bytes.IndexByte(raw[offset:], '{')
}

// split returns the elements of an array of at most so many.
func split(raw []byte, most int) (elements []json.RawMessage, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if d.PeekKind() != jsontext.KindBeginArray {
		return nil, errors.New("it is no array")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, plain(err)
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if len(elements) == most {
			return nil, fmt.Errorf("it has more than %d elements", most)
		}
		element, err := readValue(d, raw)
		if err != nil {
			return nil, plain(err)
		}
		elements = append(elements, oneLine(element))
	}
	return elements, nil
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

// plain shortens a decoder's error, which can quote a hostile name.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(shown(strings.TrimPrefix(err.Error(), "jsontext: ")))
}

func unquote(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

func appendQuoted(to []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(to, text) // invalid UTF-8 becomes U+FFFD
	return quoted
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

// nesting returns how deep arrays and objects are nested, without recursion. On what is not JSON it returns some number.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfText(raw, i+1)
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// endOfText is where the quote stands that ends a text.
func endOfText(raw []byte, from int) int {
	for i := from; ; {
		next := bytes.IndexByte(raw[i:], '"')
		if next < 0 {
			return len(raw)
		}
		i += next
		escapes := 0
		for j := i - 1; j >= from && raw[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}

// salvage is the id of what would be an answer, were it not for texts that are not UTF-8, names that stand twice, or its depth.
func salvage(raw []byte) (id json.RawMessage) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := members(d, func(d *jsontext.Decoder, name string) error {
		value, err := readValue(d, raw)
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
	err := eachMember(raw, func(d *jsontext.Decoder, name string) error {
		value, err := readValue(d, raw)
		switch name {
		case "code":
			e.Code, _ = strconv.ParseInt(string(value), 10, 64)
		case "message":
			e.Message, _ = unquote(value)
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
