package e2e_test

import (
	"encoding/json"
	"reflect"
	"testing"
)

// client is an MCP client that we did not write. Methods are named as in the
// TypeScript SDK.
type client interface {
	request(method string, params any) (json.RawMessage, error)
}

type args map[string]any

// agent plays a model's part through a client.
type agent struct {
	t *testing.T
	client
}

// on lets a subtest fail in its own name.
func (a agent) on(t *testing.T) agent { return agent{t, a.client} }

// answer is a tool's result.
type answer struct {
	t       *testing.T
	IsError bool           `json:"isError"`
	Fields  map[string]any `json:"structuredContent"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// get makes a request that has to succeed.
func (a agent) get(method string, params, result any) {
	a.t.Helper()
	raw, err := a.request(method, params)
	if err != nil {
		a.t.Fatalf("%s %v: %v", method, params, err)
	}
	if err := json.Unmarshal(raw, result); err != nil {
		a.t.Fatalf("%s: %v\n%s", method, err, raw)
	}
}

// call calls a tool. The client itself holds the answer to the tool's schema.
func (a agent) call(tool string, arguments args) answer {
	a.t.Helper()
	r := answer{t: a.t}
	a.get("callTool", args{"name": tool, "arguments": arguments}, &r)
	if len(r.Content) == 0 || r.Content[0].Text == "" || r.Fields == nil {
		a.t.Fatalf("%s: an answer needs text and structured content: %+v", tool, r)
	}
	return r
}

// ok demands success.
func (a agent) ok(tool string, arguments args) answer {
	a.t.Helper()
	r := a.call(tool, arguments)
	if r.IsError {
		a.t.Fatalf("%s %v was refused: %s", tool, arguments, r.text())
	}
	return r
}

// refused demands a refusal, which is the same object in text and structure.
func (a agent) refused(code, tool string, arguments args) answer {
	a.t.Helper()
	r := a.call(tool, arguments)
	if !r.IsError || r.Fields["error_type"] != code {
		a.t.Fatalf("%s %v: want %s, got isError=%v %s", tool, arguments, code, r.IsError, r.text())
	}
	var text map[string]any
	if err := json.Unmarshal([]byte(r.text()), &text); err != nil || !reflect.DeepEqual(text, r.Fields) {
		a.t.Errorf("%s: text and structured content differ:\n%s\n%v", tool, r.text(), r.Fields)
	}
	for _, key := range []string{"error", "action_hint", "suggestion", "classification"} {
		if s, _ := r.Fields[key].(string); s == "" {
			a.t.Errorf("%s: the refusal has no %s: %s", tool, key, r.text())
		}
	}
	return r
}

// selects selects an intent and returns the handle.
func (a agent) selects(intent string) string {
	a.t.Helper()
	return a.ok("select_active_intent", args{"intent_id": intent}).str("session")
}

func (r answer) text() string { return r.Content[0].Text }

func (r answer) str(key string) string {
	r.t.Helper()
	s, ok := r.Fields[key].(string)
	if !ok {
		r.t.Fatalf("no text %q in %v", key, r.Fields)
	}
	return s
}

func (r answer) details() map[string]any {
	details, _ := r.Fields["details"].(map[string]any)
	return details
}
