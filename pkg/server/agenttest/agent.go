// Package agenttest plays an agent in a governed workspace, for the tests of the server and of the program: it calls tools
// through whatever client a test has, and says what a test demands of their answers.
package agenttest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Args are the arguments of a tool.
type Args map[string]any

// Agent plays a model's part. Send makes a call, and gives its result as the protocol has it.
type Agent struct {
	T    *testing.T
	Send func(tool string, arguments Args) (json.RawMessage, error)
}

// Answer is the result of a call.
type Answer struct {
	t      *testing.T
	Text   string // of all its texts
	Image  []byte
	Error  bool
	Object map[string]any // its structured content
}

// Read reads a result, which may still be missing.
func Read(t *testing.T, result []byte) (Answer, error) {
	var r struct {
		IsError           bool           `json:"isError"`
		StructuredContent map[string]any `json:"structuredContent"`
		Content           []struct {
			Text string `json:"text"`
			Data []byte `json:"data"`
		} `json:"content"`
	}
	err := json.Unmarshal(result, &r)
	a := Answer{t: t, Error: r.IsError, Object: r.StructuredContent}
	for _, c := range r.Content {
		a.Text += c.Text
		if c.Data != nil {
			a.Image = c.Data
		}
	}
	return a, err
}

// Call demands an answer with text and structured content.
func (a Agent) Call(tool string, arguments Args) Answer {
	a.T.Helper()
	result, err := a.Send(tool, arguments)
	check.Must(a.T, err == nil, "%s %v: %v", tool, arguments, err)
	r, err := Read(a.T, result)
	check.Must(a.T, err == nil && r.Text != "" && r.Object != nil, "%s: an answer needs text and structured content: %v %s", tool, err, result)
	return r
}

// OK demands success.
func (a Agent) OK(tool string, arguments Args) Answer {
	a.T.Helper()
	r := a.Call(tool, arguments)
	check.Must(a.T, !r.Error, "%s %v was refused: %s", tool, arguments, r.Text)
	return r
}

// Refused demands a refusal, which says what to do, in text and structure.
func (a Agent) Refused(code, tool string, arguments Args) Answer {
	a.T.Helper()
	r := a.Call(tool, arguments)
	check.Must(a.T, r.Error && r.Object["error_type"] == code, "%s %v: want %s, got error=%v %s", tool, arguments, code, r.Error, r.Text)
	var text map[string]any
	err := json.Unmarshal([]byte(r.Text), &text)
	check.That(a.T, err == nil && text["error_type"] == code, "%s: the text is not the refusal's JSON: %s", tool, r.Text)
	for _, key := range []string{"error", "action_hint", "suggestion", "classification"} {
		s, _ := r.Object[key].(string)
		check.That(a.T, s != "", "%s: the refusal has no %s: %s", tool, key, r.Text)
	}
	return r
}

// Twice holds that a refusal is the same object in text and structure.
func (r Answer) Twice() {
	r.t.Helper()
	var text map[string]any
	err := json.Unmarshal([]byte(r.Text), &text)
	check.That(r.t, err == nil && reflect.DeepEqual(text, r.Object), "text and structured content differ:\n%s\n%v", r.Text, r.Object)
}

// Selects selects an intent and gives the handle.
func (a Agent) Selects(intent string) string {
	a.T.Helper()
	return a.OK("select_active_intent", Args{"intent_id": intent}).Str("session")
}

// Str is a text of the structured content.
func (r Answer) Str(key string) string {
	r.t.Helper()
	s, ok := r.Object[key].(string)
	check.Must(r.t, ok, "no text %q in %v", key, r.Object)
	return s
}

// Details are those of a refusal.
func (r Answer) Details() map[string]any {
	details, _ := r.Object["details"].(map[string]any)
	return details
}
