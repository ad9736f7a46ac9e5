package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

// What a form leaves out has a default, and the client is told the same as
// the answer is held to.
func TestFormDefaults(t *testing.T) {
	form := mcpbridge.Form{Message: "m", Fields: []mcpbridge.Field{{Name: "text"}, {Name: "choice", Options: []mcpbridge.Option{{Value: "v"}}}}}
	h := newHandler(t)
	h.tools["wait"] = func(ctx context.Context, call mcpbridge.Call) mcpbridge.Result {
		return mcpbridge.Result{Text: outcome(call.Elicit(ctx, form))}
	}
	d := duplexStdio(t, h)
	d.send(callLine(1, "wait", "{}"))
	const want = `"properties":{"text":{"type":"string","maxLength":1000},"choice":{"type":"string","oneOf":[{"const":"v","title":"v"}]}},"required":[]`
	if a := d.next(); !strings.Contains(a.Raw, want) {
		t.Errorf("got %s", a.Raw)
	}
	for length, want := range map[int]error{0: nil, 1000: nil, 1001: mcpbridge.ErrBadAnswer} {
		_, err := form.Read(json.RawMessage(fmt.Sprintf(`{"action":"accept","content":{"text":%q}}`, strings.Repeat("é", length))))
		if !errors.Is(err, want) {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

// What Read accepts is what any reader would see in it.
func FuzzFormRead(f *testing.F) {
	for _, seed := range []string{
		`{"action":"accept","content":{"decision":"approve_once"}}`, `{"action":"accept","content":{"decision":"deny","reason":"\u0061"}}`,
		`{"action":"decline"}`, `{"action":"accept","content":{"decision":"deny","decision":"approve_once"}}`, `{"action":"accept","Content":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := approval().Read(raw)
		if err != nil {
			return
		}
		var lax struct {
			Action  string
			Content map[string]any
		}
		if err := json.Unmarshal(raw, &lax); err != nil {
			t.Fatalf("accepted, but not JSON: %q", raw)
		}
		if lax.Action != string(got.Action) {
			t.Fatalf("two readings of %q", raw)
		}
		if got.Action != mcpbridge.Accept {
			return
		}
		if len(lax.Content) != len(got.Values) || got.Values["decision"] == "" {
			t.Fatalf("%q gives %v", raw, got.Values)
		}
		for name, value := range got.Values {
			if lax.Content[name] != value {
				t.Fatalf("two readings of %s in %q", name, raw)
			}
		}
	})
}
