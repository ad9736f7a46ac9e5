package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

const (
	// maxAsks is how many questions of one server can be open at once, and how many can be in one result.
	maxAsks = 8
	// cancelAction is the answer to a question that nobody saw, or nobody answered.
	cancelAction = `{"action":"cancel"}`
	// postAgain is when an answer is tried again for which there was no room.
	postAgain = 50 * time.Millisecond
)

// asks are the questions of a server of the initialize era that are open.
type asks struct {
	mu   sync.Mutex
	open map[string]context.CancelFunc // by the server's id
}

// begin takes a place; false if all are taken or the id is in use.
func (a *asks) begin(id string, cancel context.CancelFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[string]context.CancelFunc{}
	}
	if _, used := a.open[id]; used || len(a.open) >= maxAsks {
		return false
	}
	a.open[id] = cancel
	return true
}

func (a *asks) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// withdraw ends a question that the server has cancelled.
func (a *asks) withdraw(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel := a.open[id]
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

// requested answers a request of the server's, which only the initialize era has.
func (c *Client) requested(m message, from *call) {
	switch {
	case c.state.Load().Modern || !sendable(m.id):
		c.counts.drop(&c.counts.requests, "the server made a request, which this revision of the protocol does not have", m.method)
	case m.method == "ping":
		if !c.link.post(response(m.id, "result", []byte("{}"))) {
			c.counts.drop(&c.counts.requests, "the server does not read our answers", m.method)
		}
	case m.method == "elicitation/create":
		c.elicit(m, from)
	default:
		c.refuse(m, refusal(m.id, codeMethodNotFound, "this client has no "+shown(m.method)))
	}
}

func (c *Client) refuse(m message, with []byte) {
	c.counts.drop(&c.counts.requests, "a request of the server was refused or cancelled", m.method)
	c.link.post(with)
}

// elicit puts a question to the user of the one call that it can belong to.
func (c *Client) elicit(m message, from *call) {
	if err := isForm(m.params); err != nil {
		c.refuse(m, refusal(m.id, CodeInvalidParams, err.Error()))
		return
	}
	belongs := from
	if from == nil {
		belongs = c.flight.only((*call).asks)
	}
	if belongs == nil || !belongs.asks() {
		c.refuse(m, response(m.id, "result", []byte(cancelAction)))
		return
	}
	ctx, cancel := context.WithCancel(belongs.asked)
	if !c.asks.begin(string(m.id), cancel) {
		cancel()
		c.refuse(m, refusal(m.id, -32000, "too many questions at once"))
		return
	}
	belongs.mu.Lock()
	belongs.questions++
	key := "elicitation-" + strconv.Itoa(belongs.questions)
	belongs.mu.Unlock()
	go func() {
		defer cancel()
		defer c.asks.end(string(m.id))
		result, err := belongs.h.Ask(ctx, key, m.params)
		if err == nil {
			err = isObject(result)
		}
		if err != nil && ctx.Err() == nil {
			belongs.end(err)
			<-ctx.Done() // the call is given up first: the server is not to go on without an answer
		}
		if err != nil {
			result = json.RawMessage(cancelAction)
		}
		answer := response(m.id, "result", oneLine(result))
		for !c.link.post(answer) && sleep(c.ctx, postAgain) {
		}
	}()
}

// isForm refuses the kinds of elicitation that are not declared.
func isForm(params json.RawMessage) error {
	if err := isObject(params); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	if mode := member(params, "mode"); mode != nil && string(mode) != `"form"` {
		return fmt.Errorf("elicitation in the mode %s is not declared", shown(string(mode)))
	}
	return nil
}

// readQuestions reads inputRequests; keys are sorted.
func readQuestions(raw json.RawMessage) (params map[string]json.RawMessage, keys []string, err error) {
	params = map[string]json.RawMessage{}
	err = rawjson.Each(raw, func(d *jsontext.Decoder, key string) error {
		value, err := rawjson.Value(d, raw)
		if err != nil {
			return err
		}
		if len(keys) == maxAsks {
			return fmt.Errorf("it has more than %d questions", maxAsks)
		}
		if err := isObject(value); err != nil {
			return err
		}
		if method, _ := rawjson.Text(member(value, "method")); method != "elicitation/create" {
			return fmt.Errorf("it asks for %q", method)
		}
		params[key], keys = member(value, "params"), append(keys, key)
		return isForm(params[key])
	})
	slices.Sort(keys)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	return params, keys, nil
}

// member is one member of an object, nil for none, or null.
func member(object json.RawMessage, name string) (found json.RawMessage) {
	_ = rawjson.Each(object, func(d *jsontext.Decoder, each string) error {
		value, err := rawjson.Value(d, object)
		if each == name && string(value) != "null" {
			found = value
		}
		return err
	})
	return found
}

func isObject(raw json.RawMessage) error {
	return rawjson.Each(raw, func(d *jsontext.Decoder, _ string) error { return d.SkipValue() })
}
