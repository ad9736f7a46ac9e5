package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// maxBatch bounds a batch, which revision 2025-03-26 has.
const maxBatch = 1000

// receive takes what came, on the stream of a call over HTTP (from), or on one that all share. It reports whether that was a
// message.
func (c *Client) receive(raw []byte, from *call) bool {
	if raw[0] == '[' {
		return c.receiveBatch(raw, from)
	}
	m, err := parse(raw)
	if err != nil {
		c.quieten(len(raw))
		c.counts.drop(&c.counts.garbage, "the server sent what is no message: "+err.Error(), string(raw[:min(len(raw), 100)]))
		return c.spoiled(raw, from, err)
	}
	switch {
	case m.method == "" && c.answered(m, from):
	case m.method == "":
		c.quieten(len(raw))
		c.counts.drop(&c.counts.answers, "the server answered what was not asked, or not asked any more", string(m.id))
	case m.id != nil:
		c.quieten(len(raw))
		c.requested(m, from)
	default:
		c.quieten(len(raw))
		c.noticed(m, from)
	}
	return true
}

func (c *Client) receiveBatch(raw []byte, from *call) bool {
	if rawjson.Nesting(raw) > maxDepth {
		c.counts.drop(&c.counts.garbage, "the server sent a batch that is nested too deep", "")
		return false
	}
	batch, err := rawjson.Elements(raw, maxBatch)
	if err != nil {
		c.counts.drop(&c.counts.garbage, "the server sent a batch that cannot be read: "+err.Error(), "")
	}
	for _, each := range batch {
		if each = bytes.TrimSpace(each); each[0] == '{' {
			c.receive(each, from)
		}
	}
	return err == nil
}

// quieten slows a server down that sends much that nobody asked for: reading it costs us as much as sending it costs the server.
// Its own answers wait meanwhile, and nobody else's.
func (c *Client) quieten(size int) {
	_ = c.noise.WaitN(c.ctx, min(1+size/1024, noiseRate))
}

// answered gives an answer to the call that it is for.
func (c *Client) answered(m message, from *call) bool {
	id, is := ours(m.id)
	if from != nil && m.id == nil && m.failure != nil {
		id, is = from.id, true // the request could not be read, and there is only this one
	}
	if !is || from != nil && id != from.id || from == nil && !c.shared {
		return false
	}
	waiting := c.flight.take(id)
	if waiting == nil {
		return false
	}
	settle(waiting, m)
	return true
}

// spoiled ends the call for which an answer came that cannot be read, so that nobody waits for another one.
func (c *Client) spoiled(raw []byte, from *call, why error) bool {
	id, is := ours(salvage(raw))
	if !is || from != nil && id != from.id || from == nil && !c.shared {
		return false
	}
	waiting := c.flight.take(id)
	if waiting != nil {
		waiting.answer <- answer{err: fmt.Errorf("%w: %w", ErrAnswer, why)}
	}
	return waiting != nil
}

// initialized is the notification that ends the handshake.
func initialized() []byte { return []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) }

func cancelled(id int64) []byte {
	return append(strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id, 10), "}}"...)
}

// response answers a request of the server's.
func response(id json.RawMessage, kind string, value []byte) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(append(b, `,"`...), kind...), `":`...)
	return append(append(b, value...), '}')
}

func refusal(id json.RawMessage, code int, text string) []byte {
	b := strconv.AppendInt([]byte(`{"code":`), int64(code), 10)
	return response(id, "error", append(rawjson.AppendText(append(b, `,"message":`...), text), '}'))
}
