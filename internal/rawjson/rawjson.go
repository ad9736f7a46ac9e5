// Package rawjson takes JSON of strangers apart without decoding it, and puts it together again.
//
// # Promise
//
// It reads strictly, so that no other reader finds another value: a name that stands twice, text that is no Unicode, and what
// follows an object are errors. Values are slices of what was read, names are matched exactly, and what is not changed stays as it
// was written. Errors are in one line, bounded, and safe to print.
//
// # Not promised
//
// Sizes are the caller's to bound, and depth below the 10,000 of the decoder, which Nesting tells.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// Each calls read for each name of one object, behind which nothing may follow. It has to read the value.
func Each(raw []byte, read func(d *jsontext.Decoder, name string) error) error {
	d := decoders.Get().(*jsontext.Decoder)
	defer decoders.Put(d)
	d.Reset(bytes.NewBuffer(raw)) // the decoder reads a buffer's bytes in place
	err := Members(d, read)
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	d.Reset(bytes.NewBuffer(nil))
	return plain(err)
}

var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewBuffer(nil)) }}

// Members is Each for an object within what a decoder reads.
func Members(d *jsontext.Decoder, read func(d *jsontext.Decoder, name string) error) error {
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject {
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return errors.New("it is no JSON object")
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

// Value returns the next value as a slice of raw, which the decoder reads: the decoder's own is valid only until its next call.
func Value(d *jsontext.Decoder, raw []byte) (json.RawMessage, error) {
	value, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return json.RawMessage(raw[end-len(value) : end : end]), nil
}

// Elements are those of an array of at most so many.
func Elements(raw []byte, most int) (elements []json.RawMessage, err error) {
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
		element, err := Value(d, raw)
		if err != nil {
			return nil, plain(err)
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// maxError is what an error has of what the decoder says, in characters.
const maxError = 500

// plain shortens a decoder's error, which can quote a hostile name.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(printable.Text(printable.Clip(strings.TrimPrefix(err.Error(), "jsontext: "), maxError)))
}

// Text is what a JSON text says.
func Text(raw []byte) (text string, is bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, raw)
	return string(unquoted), err == nil
}

// AppendText writes a text as JSON. What is no UTF-8 in it becomes U+FFFD.
func AppendText(to []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(to, text)
	return quoted
}

// Object is the members of one, in the order in which they were written.
type Object []Member

// Member is a name and a value.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Read takes an object apart.
func Read(raw []byte) (o Object, err error) {
	err = Each(raw, func(d *jsontext.Decoder, name string) error {
		value, err := Value(d, raw)
		o = append(o, Member{name, value})
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Get is the value of a member, nil for none.
func (o Object) Get(name string) json.RawMessage {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Text is that of a member.
func (o Object) Text(name string) (text string, is bool) { return Text(o.Get(name)) }

// Set gives a member another value, or adds it.
func (o Object) Set(name string, value json.RawMessage) Object {
	if i := slices.IndexFunc(o, func(m Member) bool { return m.Name == name }); i >= 0 {
		o[i].Value = value
		return o
	}
	return append(o, Member{name, value})
}

// Without takes members out.
func (o Object) Without(names ...string) Object {
	return slices.DeleteFunc(o, func(m Member) bool { return slices.Contains(names, m.Name) })
}

// Raw is the object as JSON.
func (o Object) Raw() json.RawMessage {
	size := 2
	for _, m := range o {
		size += len(m.Name) + len(m.Value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(AppendText(b, m.Name), ':'), m.Value...)
	}
	return append(b, '}')
}

// Canonical is the form in which values are compared: RFC 8785, but that numbers stay as they are written, as the double precision
// of that form would make different ones equal.
func Canonical(raw []byte) ([]byte, error) {
	v := jsontext.Value(slices.Clone(raw))
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	return v, err
}

// Nesting is how deep arrays and objects are nested, found without recursion. On what is not JSON it is some number.
func Nesting(raw []byte) int {
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
