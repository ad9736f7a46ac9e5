package clienthook

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// object is a JSON object, taken apart once. Its members are read by the names that clients give them: where a member has
// several names, the first is the one that messages use. The first thing that is wrong in an event is kept in err, which all
// objects of the event share.
type object struct {
	what    string
	raw     []byte
	members map[string]jsontext.Value
	broken  bool // it did not end as an object
	err     *error
}

// openAny takes an object apart, or takes a text for one with the member "".
func (o *object) openAny(what string, raw []byte) *object {
	if value := jsontext.Value(raw); value.Kind() == jsontext.KindString && value.IsValid() {
		return &object{what: what, members: map[string]jsontext.Value{"": value}, err: o.err}
	}
	return o.open(what, raw)
}

// open takes an object apart. Of one that is broken it has what was read before.
func (o *object) open(what string, raw []byte) *object {
	inner := &object{what: what, raw: raw, err: o.err}
	if err := json.Unmarshal(raw, &inner.members); err != nil {
		inner.broken = true
		inner.fail("no JSON object in UTF-8: %w", err)
	}
	return inner
}

func (o *object) fail(format string, args ...any) {
	if *o.err == nil {
		*o.err = fmt.Errorf("%s: %w", o.what, fmt.Errorf(format, args...))
	}
}

// find gives the member of one of the names; null is none. Two names of one thing with two values are an error: the client
// might take the one and this package the other.
func (o *object) find(names ...string) (name string, value jsontext.Value) {
	for _, n := range names {
		v := o.members[n]
		switch {
		case v == nil || v.Kind() == jsontext.KindNull:
		case value == nil:
			name, value = n, v
		case !bytes.Equal(value, v):
			o.fail("%s and %s differ", name, n)
		}
	}
	return name, value
}

// text is "" where there is none.
func (o *object) text(names ...string) string {
	name, value := o.find(names...)
	if value == nil {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		o.fail("%s is no text", name)
	}
	return string(text)
}

// need is a text that must be there.
func (o *object) need(names ...string) string {
	if _, value := o.find(names...); value == nil {
		o.fail("%s is missing", names[0])
	}
	return o.text(names...)
}

// full is a text that must be there and not be empty.
func (o *object) full(names ...string) string {
	text := o.need(names...)
	if text == "" {
		o.fail("%s is empty", names[0])
	}
	return text
}

// number is whole and not negative, 0 where there is none. Some clients take texts of digits for numbers.
func (o *object) number(names ...string) int {
	name, value := o.find(names...)
	if value == nil {
		return 0
	}
	digits := string(value)
	if value.Kind() == jsontext.KindString {
		digits = o.text(name)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		o.fail("%s is no whole number from 0", name)
		return 0
	}
	return int(n)
}

// code is nil where there is none.
func (o *object) code(name string) *int {
	if _, value := o.find(name); value == nil {
		return nil
	}
	n := o.number(name)
	return &n
}

func (o *object) flag(names ...string) bool {
	name, value := o.find(names...)
	switch string(value) {
	case "", "false", `"false"`:
		return false
	case "true", `"true"`:
		return true
	}
	o.fail("%s is neither true nor false", name)
	return false
}

func (o *object) list(names ...string) (values []jsontext.Value) {
	name, value := o.find(names...)
	if value != nil && json.Unmarshal(value, &values) != nil {
		o.fail("%s is no list", name)
	}
	return values
}

func (o *object) texts(names ...string) (texts []string) {
	name, value := o.find(names...)
	if value != nil && json.Unmarshal(value, &texts) != nil {
		o.fail("%s is no list of texts", name)
	}
	return texts
}

func (o *object) objects(name string) (all []*object) {
	for _, value := range o.list(name) {
		all = append(all, o.open(name+" of "+o.what, value))
	}
	return all
}

// inner is an object without members where there is none.
func (o *object) inner(names ...string) *object {
	name, value := o.find(names...)
	if value == nil {
		value = jsontext.Value("{}")
	}
	return o.open(name+" of "+o.what, value)
}

// said is what a client says of a result, in whose form nothing is promised: what is wrong in it is no error of the event.
func (o *object) said(names ...string) *object {
	_, value := o.find(names...)
	ignored := &object{err: new(error)}
	if value.Kind() == jsontext.KindString { // some results are JSON in a text
		text, _ := jsontext.AppendUnquote(nil, value)
		if inner := ignored.open("", text); !inner.broken {
			return inner
		}
	}
	return ignored.openAny("", value)
}

// line is a command: a text, or a list of words.
func (o *object) line(names ...string) string {
	if name, value := o.find(names...); value.Kind() == jsontext.KindBeginArray {
		return words(o.texts(name)...)
	}
	return o.full(names...)
}

func words(all ...string) string {
	for i, word := range all {
		all[i] = shellword.Show(word)
	}
	return strings.Join(all, " ")
}
