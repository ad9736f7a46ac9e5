package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Between two tries to listen for changes; the pause doubles.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

// subscribe listens for the changes of lists that a server of 2026-07-28 announces, until the connection ends. What changed while
// nobody listened is not known, so all lists count as changed then.
func (c *Client) subscribe(s *state) {
	filter := listen(s.Capabilities)
	if c.options.Changed == nil || filter == nil {
		return
	}
	wait := leastPause
	for {
		began := time.Now()
		a := c.do(c.ctx, c.newCall(s, "subscriptions/listen", prepared{members: string(filter)}, retry{}, Handlers{}))
		var refused *Error
		if errors.As(a.err, &refused) || errors.Is(a.err, ErrEnded) {
			return
		}
		if time.Since(began) > mostPause {
			wait = leastPause
		}
		if !sleep(c.ctx, wait) {
			return
		}
		wait = min(2*wait, mostPause)
		c.changedAll(s)
	}
}

// listens is called when the server begins to tell of changes. A list that it gave before may have changed since.
func (c *Client) listens() {
	if c.listed.Load() {
		c.changedAll(c.state.Load())
	}
}

// listen is the filter of what a server announces, nil for nothing.
func listen(capabilities json.RawMessage) []byte {
	b := []byte(`"notifications":{`)
	for _, list := range lists {
		if announces(capabilities, list) {
			b = append(join(b, `"`+list+`ListChanged":`), "true"...)
		}
	}
	if bytes.HasSuffix(b, []byte("{")) {
		return nil
	}
	return append(b, '}')
}

func announces(capabilities json.RawMessage, list string) bool {
	return string(member(member(capabilities, list), "listChanged")) == "true"
}

func (c *Client) changedAll(s *state) {
	for _, list := range lists {
		if announces(s.Capabilities, list) {
			c.changes.note(changed(list))
		}
	}
}

// unsubscribed ends a subscription that the server has ended.
func (c *Client) unsubscribed(raw json.RawMessage) bool {
	id, is := ours(raw)
	if listening := c.flight.get(id); !is || listening == nil || listening.method != "subscriptions/listen" {
		return false
	}
	if listening := c.flight.take(id); listening != nil {
		listening.answer <- answer{err: context.Canceled}
	}
	return true
}
