package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Call is a call of a tool, in the words of the client that has it. A text instead of an input is what tools without a
// schema take, as Codex' apply_patch. A slash in the name stands behind a namespace of Codex.
type Call struct {
	Name  string
	Input any
}

// Turn is one answer of the model: calls, or a text, which ends the run.
type Turn struct {
	Calls []Call
	Text  string
}

// Calling is a turn of calls.
func Calling(calls ...Call) Turn { return Turn{Calls: calls} }

// Model is a model on loopback. It answers each request that offers tools with the next turn of its script, and with a
// closing text behind the last; a request without tools, such as that for a title, gets a text and takes no turn.
type Model struct {
	server *httptest.Server

	mu        sync.Mutex
	turns     []Turn
	taken     int
	requests  []json.RawMessage
	strangers []string
}

// NewModel serves a script until the test ends.
func NewModel(t testing.TB, turns ...Turn) *Model {
	m := &Model{turns: turns}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// URL is where the model listens, without a path. It is a proxy as well, which lets nothing through.
func (m *Model) URL() string { return m.server.URL }

// Requests has the bodies of the requests that offered tools, in their order.
func (m *Model) Requests() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Told has every text of the last request, in which clients repeat the whole conversation.
func (m *Model) Told() string {
	requests := m.Requests()
	if len(requests) == 0 {
		return ""
	}
	var said any
	if err := json.Unmarshal(requests[len(requests)-1], &said); err != nil {
		return err.Error()
	}
	var b strings.Builder
	texts(said, &b)
	return b.String()
}

func texts(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		fmt.Fprintln(b, v)
	case []any:
		for _, e := range v {
			texts(e, b)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			texts(v[k], b)
		}
	}
}

// Strangers are the hosts beyond loopback that a client asked for.
func (m *Model) Strangers() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.strangers)
}

// ServeHTTP answers in the form that the path asks for.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		m.mu.Lock()
		m.strangers = append(m.strangers, r.Host)
		m.mu.Unlock()
		http.Error(w, "this run is alone", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	for _, wire := range []struct {
		end   string
		serve func(http.ResponseWriter, []byte)
	}{
		{"/v1/messages", m.messages},
		{"/responses", m.responses},
		{"/chat/completions", m.completions},
		{":streamGenerateContent", m.content},
	} {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, wire.end) {
			wire.serve(w, body)
			return
		}
	}
	http.NotFound(w, r)
}

// next is the turn for a request, and its number.
func (m *Model) next(body []byte) (Turn, int) {
	var request struct{ Tools []json.RawMessage }
	m.mu.Lock()
	defer m.mu.Unlock()
	// Newer models of Codex find their tools among the input.
	if json.Unmarshal(body, &request) != nil || len(request.Tools) == 0 && !bytes.Contains(body, []byte(`"additional_tools"`)) {
		return Turn{Text: "An aside"}, 0
	}
	m.requests = append(m.requests, body)
	if m.taken++; m.taken > len(m.turns) {
		return Turn{Text: "The script is at its end."}, m.taken
	}
	return m.turns[m.taken-1], m.taken
}

// object is of JSON.
type object = map[string]any

// stream writes server-sent events. Where a format names its events, the name is the type in the data.
func stream(w http.ResponseWriter, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			panic(err) // only a script with what JSON has not
		}
		if name, ok := e["type"]; ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", raw)
	}
}

// text is a call's input as the formats that carry it in a string have it.
func (c Call) text() string {
	if s, ok := c.Input.(string); ok {
		return s
	}
	raw, err := json.Marshal(c.Input)
	if err != nil {
		panic(err) // only a script with what JSON has not
	}
	return string(raw)
}
