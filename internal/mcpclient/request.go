package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// maxRounds is how often a server of 2026-07-28 can ask for input before it answers.
const maxRounds = 16

// Request sends a request and returns the result object as it came. params is an object without _meta, or nil. What the server
// asks meanwhile is put to h.Ask. The error is an [*Error] if the server answered with one, context.Cause(ctx) if ctx is done, an
// [*AuthError], a [*StatusError], or one of the package's.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, h Handlers) (json.RawMessage, error) {
	p, err := prepare(params, h.Meta)
	if err != nil {
		return nil, err
	}
	c.tellLevel(ctx, h)
	again := retry{}
	for range maxRounds {
		a := c.do(ctx, c.newCall(c.state.Load(), method, p, again, h))
		if a.err != nil {
			return nil, a.err
		}
		if a.kind != "input_required" {
			return a.result, nil
		}
		if again, err = askAll(ctx, method, a.answered, h); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: it asked %d times", ErrQuestion, maxRounds)
}

// prepared are the params of a request, without the braces.
type prepared struct {
	members, meta, name string
	arguments           json.RawMessage
}

// retry is what a request that is made again has beside its params.
type retry struct{ responses, state json.RawMessage }

// prepare checks that params are one object, on one line: what an agent sent must not end the line and begin another message.
func prepare(params, meta json.RawMessage) (p prepared, err error) {
	own := func(name string) bool { return name == "_meta" || name == "inputResponses" || name == "requestState" }
	read := func(name string, value json.RawMessage) {
		switch name {
		case "name", "uri":
			p.name, _ = rawjson.Text(value)
		case "arguments":
			p.arguments = value
		}
	}
	if p.members, err = inner(params, own, read); err != nil {
		return p, fmt.Errorf("%w: params: %w", ErrParams, err)
	}
	own = func(name string) bool {
		return name == "progressToken" || strings.HasPrefix(name, "io.modelcontextprotocol/")
	}
	if p.meta, err = inner(meta, own, func(string, json.RawMessage) {}); err != nil {
		return p, fmt.Errorf("%w: _meta: %w", ErrParams, err)
	}
	return p, nil
}

// inner is what stands between the braces of an object, none of whose names may be one of our own.
func inner(raw json.RawMessage, own func(string) bool, read func(string, json.RawMessage)) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	err := rawjson.Each(raw, func(d *jsontext.Decoder, name string) error {
		if own(name) {
			return fmt.Errorf("it has %q", name)
		}
		value, err := rawjson.Value(d, raw)
		if err == nil {
			read(name, value)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(oneLine(raw)))
	return strings.TrimSpace(text[1 : len(text)-1]), nil
}

// newCall makes a request in the form of an era.
func (c *Client) newCall(s *state, method string, p prepared, again retry, h Handlers) *call {
	id := c.lastID.Add(1)
	made := &call{id: id, method: method, name: p.name, arguments: p.arguments, h: h, modern: s.Modern, answer: make(chan answer, 1), woken: make(chan struct{}, 1)}
	b := make([]byte, 0, 128+len(method)+len(p.members)+len(p.meta)+len(s.metaAsks)+len(again.responses)+len(again.state))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":`...)
	b = rawjson.AppendText(b, method)
	b = append(b, `,"params":{`...)
	b = join(b, p.members)
	if again.responses != nil {
		b = append(join(b, `"inputResponses":`), again.responses...)
	}
	if again.state != nil {
		b = append(join(b, `"requestState":`), again.state...)
	}
	b = appendMeta(b, id, p.meta, s, h)
	made.line = append(b, '}', '}', '\n')
	return made
}

func appendMeta(b []byte, id int64, more string, s *state, h Handlers) []byte {
	if !s.Modern && h.Progress == nil && more == "" {
		return b
	}
	b = join(b, `"_meta":{`)
	if h.Ask != nil {
		b = append(b, s.metaAsks...)
	} else {
		b = append(b, s.meta...)
	}
	if h.Progress != nil {
		b = strconv.AppendInt(join(b, `"progressToken":`), id, 10)
	}
	if s.Modern && h.Log != nil {
		b = rawjson.AppendText(join(b, `"io.modelcontextprotocol/logLevel":`), level(h))
	}
	return append(join(b, more), '}')
}

// join appends members behind others.
func join(b []byte, more string) []byte {
	if last := b[len(b)-1]; more != "" && last != '{' {
		b = append(b, ',')
	}
	return append(b, more...)
}

// do sends a call and waits for its answer, whatever comes meanwhile.
func (c *Client) do(ctx context.Context, made *call) answer {
	if made.asks() {
		var cancel context.CancelFunc
		made.asked, cancel = context.WithCancel(ctx)
		defer cancel()
		made.ended = make(chan error, 1)
	}
	c.flight.add(made)
	if err := c.link.send(ctx, made); err != nil {
		c.flight.take(made.id)
		return answer{err: err}
	}
	for {
		select {
		case a := <-made.answer:
			made.deliver()
			return a
		case <-made.woken:
			made.deliver()
		case err := <-made.ended:
			return c.giveUp(made, err)
		case <-ctx.Done():
			return c.giveUp(made, context.Cause(ctx))
		case <-c.done:
			return c.giveUp(made, c.err)
		}
	}
}

// giveUp ends a call without its answer, unless that has just come.
func (c *Client) giveUp(made *call, err error) answer {
	if c.flight.take(made.id) == nil {
		select {
		case a := <-made.answer:
			made.deliver()
			return a
		case <-c.done: // it was taken, and then the connection failed
			return answer{err: c.err}
		}
	}
	if c.Err() == nil {
		c.link.giveUp(made)
	}
	return answer{err: err}
}

// settle checks the answer to a call and gives it to who waits for it.
func settle(made *call, m message) {
	a := answer{message: m}
	switch {
	case m.failure != nil && m.result == nil:
		a.err = readError(m.failure)
	case m.failure != nil:
		a.err = fmt.Errorf("%w: it has a result and an error", ErrAnswer)
	case len(m.result) == 0 || m.result[0] != '{':
		a.err = fmt.Errorf("%w: the result is no object", ErrAnswer)
	case m.kind != "" && m.kind != "complete" && (m.kind != "input_required" || !made.modern):
		a.err = fmt.Errorf("%w: the result is of the type %q", ErrAnswer, shown(m.kind))
	}
	made.answer <- a
}

// askAll puts the questions of a result to the user, in the order of their keys: maps have none.
func askAll(ctx context.Context, method string, a answered, h Handlers) (retry, error) {
	if !slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, method) {
		return retry{}, fmt.Errorf("%w: %s asks for input", ErrAnswer, method)
	}
	if a.state != nil && a.state[0] != '"' || a.state == nil && a.questions == nil {
		return retry{}, fmt.Errorf("%w: it has neither questions nor a state that is a text", ErrAnswer)
	}
	again := retry{state: a.state}
	if a.questions == nil {
		return again, nil
	}
	questions, keys, err := readQuestions(a.questions)
	if err != nil {
		return retry{}, err
	}
	if len(keys) > 0 && h.Ask == nil {
		return retry{}, fmt.Errorf("%w: there is nobody who could answer", ErrQuestion)
	}
	b := []byte{'{'}
	for _, key := range keys {
		result, err := h.Ask(ctx, key, questions[key])
		if err == nil {
			err = isObject(result)
		}
		if err != nil {
			return retry{}, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(rawjson.AppendText(b, key), ':'), oneLine(result)...)
	}
	again.responses = append(b, '}')
	return again, nil
}
