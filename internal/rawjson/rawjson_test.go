package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

func read(t testing.TB, object string) rawjson.Object {
	t.Helper()
	return check.Value(rawjson.Read([]byte(object)))(t)
}

func TestObject(t *testing.T) {
	const object = ` { "a" : [1.0, 2] , "\u0062": "x\/y", "c":null } `
	check.Equal(t, string(read(t, object).Raw()), `{"a":[1.0, 2],"b":"x\/y","c":null}`)
	o := read(t, object)
	text, is := o.Text("b")
	check.That(t, is && text == "x/y", "%q", text)
	_, is = o.Text("a")
	check.That(t, !is && o.Get("d") == nil && string(o.Get("c")) == "null", "%s", o.Raw())
	check.Equal(t, string(o.Set("a", []byte("1")).Set("d", rawjson.AppendText(nil, "\"\xff")).Without("c", "x").Raw()), `{"a":1,"b":"x\/y","d":"\"`+"\ufffd"+`"}`)
	check.Equal(t, string(rawjson.Object(nil).Set("a", []byte("1")).Raw()), `{"a":1}`)
}

func TestStrict(t *testing.T) {
	for _, text := range []string{
		"", " ", "[]", "1", "{", `{"a"}`, `{"a":1,}`, `{"a":1,"\u0061":2}`, `{"b":{"a":1,"a":2}}`, `{"a":1}{}`, `{"a":1} x`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":01}`,
		`{"a":1,"` + strings.Repeat(`\u202e\u001b`, 1000) + `":`,
	} {
		o, err := rawjson.Read([]byte(text))
		check.That(t, err != nil && o == nil, "%q was read", text)
		if err != nil {
			check.That(t, err.Error() == printable.Text(err.Error()) && len(err.Error()) < 5000, "%q", err)
		}
	}
	_, err := rawjson.Elements([]byte(`[1, {"a":[2]}]`), 1)
	check.That(t, err != nil, "more elements than may be")
	all := check.Value(rawjson.Elements([]byte(`[1, {"a":[2]}]`), 2))(t)
	check.Equal(t, string(bytes.Join([][]byte{all[0], all[1]}, []byte(" "))), `1 {"a":[2]}`)
	for _, text := range []string{"", "{}", "[1", "[1,]", "[1 2]"} {
		_, err := rawjson.Elements([]byte(text), 9)
		check.That(t, err != nil, "%q was read", text)
	}
}

// FuzzRead: what is put together again is the same object, its values are slices of what was read, and it is nested as deep.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\"\\"}],"":{}}`, "{\r\n \"r\": {\n\"a\" : 1.0\r} }", `{"\ud83d\ude00":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		o, err := rawjson.Read(raw)
		check.Must(t, bytes.Equal(raw, before), "%q was changed", before)
		if err != nil {
			return
		}
		for _, m := range o {
			check.That(t, bytes.Contains(raw, m.Value) && cap(m.Value) == len(m.Value), "%s is not of %s", m.Value, raw)
		}
		var is, want any
		check.OK(t, json.Unmarshal(o.Raw(), &is))
		check.OK(t, json.Unmarshal(raw, &want))
		check.Equal(t, string(check.Value(json.Marshal(is))(t)), string(check.Value(json.Marshal(want))(t)))
		check.Equal(t, rawjson.Nesting(raw), rawjson.Nesting(o.Raw()))
	})
}
