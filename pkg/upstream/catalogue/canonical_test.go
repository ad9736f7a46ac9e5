package catalogue_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , null , "\u00e9\/" ] } `: `{"a":[true,null,"é/"],"b":1}`,
		`{"\ud83d\ude00":1,"z":2,"ﬁ":3}`:                     `{"z":2,"😀":1,"ﬁ":3}`, // by UTF-16, as RFC 8785 has it
		`{"n":[1.0,1,1e0,-0,12345678901234567890]}`:          `{"n":[1.0,1,1e0,-0,12345678901234567890]}`,
		`{"t":"\u0007\n\"\\\u001b"}`:                         `{"t":"\u0007\n\"\\\u001b"}`,
	} {
		got, err := catalogue.Canonical([]byte(text))
		check.That(t, err == nil && string(got) == want, "%s: %s, %v", text, got, err)
	}
	for _, text := range []string{``, ` `, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":1}`, `{"b":{"a":1,"a":1}}`, `1 2`, `{"a":01}`, `{'a':1}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, strings.Repeat("[", 65) + strings.Repeat("]", 65), "\ufeff{}"} {
		_, err := catalogue.Canonical([]byte(text))
		check.That(t, err != nil, "%q has a form", text)
	}
}

// FuzzCanonical: the form is one that stays, of the same value, and does not depend on how the value is written.
func FuzzCanonical(f *testing.F) {
	for _, definition := range poisoned() {
		f.Add([]byte(definition))
	}
	f.Add([]byte(`{"a":1,"b":[1e400,-0,"\ud83d\ude00"],"":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := catalogue.Canonical(text)
		if err != nil {
			check.That(t, !strings.ContainsAny(err.Error(), "\x1b\n") && len(err.Error()) < 300, "%q", err)
			return
		}
		again, err := catalogue.Canonical(form)
		check.That(t, err == nil && bytes.Equal(form, again), "%s, then %s (%v)", form, again, err)
		var spaced bytes.Buffer
		check.OK(t, json.Indent(&spaced, text, "\t", "  "))
		other, err := catalogue.Canonical(spaced.Bytes())
		check.That(t, err == nil && bytes.Equal(form, other), "%s, indented %s (%v)", form, other, err)
		decode := func(text []byte) (value any) {
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			check.OK(t, d.Decode(&value))
			return value
		}
		check.That(t, reflect.DeepEqual(decode(text), decode(form)), "%s is not %s", form, text)
	})
}
