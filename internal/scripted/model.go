// Package scripted plays the model for coding agents: it speaks what they speak, on loopback, and answers with the calls of a
// script, whatever it is told. With it they run without a login.
//
// It promises that a run's model is the script alone, and that what an agent told it is kept. What else an agent asks for is
// its own affair: of what it asks the proxy of its environment for, nothing is let through, and the host is named.
package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	server http.Server
	url    string

	mu        sync.Mutex
	turns     []Turn
	taken     int
	requests  []json.RawMessage
	strangers []string
}

// Serve serves a script until it is closed.
func Serve(turns ...Turn) (*Model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Model{turns: turns, url: "http://" + listener.Addr().String()}
	m.server.Handler = m
	go m.server.Serve(listener)
	return m, nil
}

// Close ends it at once.
func (m *Model) Close() error { return m.server.Close() }

// URL is where the model listens, without a path. It is a proxy as well, which lets nothing through.
func (m *Model) URL() string { return m.url }

// Requests has the bodies of the requests that offered tools, in their order.
func (m *Model) Requests() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Opening has the texts of the first request: what the agent was given to begin with, its tools among it.
func (m *Model) Opening() []string {
	return m.told(func(all []json.RawMessage) json.RawMessage { return all[0] })
}

// Told has the texts of the last request, in which clients repeat the whole conversation.
func (m *Model) Told() []string {
	return m.told(func(all []json.RawMessage) json.RawMessage { return all[len(all)-1] })
}

// Answers has what was not told at the beginning: the calls, and what became of them.
func (m *Model) Answers() []string {
	opening := m.Opening()
	return slices.DeleteFunc(m.Told(), func(told string) bool { return slices.Contains(opening, told) })
}

func (m *Model) told(which func([]json.RawMessage) json.RawMessage) []string {
	requests := m.Requests()
	if len(requests) == 0 {
		return nil
	}
	var said any
	if err := json.Unmarshal(which(requests), &said); err != nil {
		return []string{err.Error()}
	}
	return texts(said, nil)
}

func texts(v any, found []string) []string {
	switch v := v.(type) {
	case string:
		return append(found, v)
	case []any:
		for _, e := range v {
			found = texts(e, found)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			found = texts(v[k], found)
		}
	}
	return found
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
