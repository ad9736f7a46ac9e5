package mcpclient

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"
)

// noticed takes a notification.
func (c *Client) noticed(m message, from *call) {
	taken := false
	switch m.method {
	case "notifications/progress":
		taken = c.progressed(m.params, from)
	case "notifications/message":
		taken = c.logged(m.params, from)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		taken = c.changes.note(m.method)
	case "notifications/cancelled":
		id := member(m.params, "requestId")
		taken = c.asks.withdraw(string(id)) || c.unsubscribed(id)
	case "notifications/subscriptions/acknowledged":
		c.listens()
		taken = true
	}
	if !taken {
		c.counts.drop(&c.counts.notices, "a notification of the server belongs to nobody", m.method)
	}
}

func (c *Client) progressed(params json.RawMessage, from *call) bool {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	id, is := ours(p.Token)
	if !is || from != nil && id != from.id {
		return false
	}
	belongs := c.flight.get(id)
	if belongs == nil || belongs.h.Progress == nil {
		return false
	}
	belongs.progressed(progress{message: shorten(p.Message, maxMessageText), done: p.Progress, total: p.Total})
	return true
}

func (c *Client) logged(params json.RawMessage, from *call) bool {
	var l struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &l) != nil || l.Data == nil {
		return false
	}
	belongs := from
	if from == nil {
		belongs = c.flight.only((*call).logs)
	}
	if belongs == nil || !belongs.logs() {
		return false
	}
	severity := slices.Index(levels[:], l.Level)
	if severity < 0 {
		return false
	}
	if severity < slices.Index(levels[:], level(belongs.h)) {
		return true // a server of the initialize era has one level for all
	}
	return belongs.logged(logLine{l.Level, label(l.Logger), l.Data})
}

// levels are those of RFC 5424, from the least.
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func level(h Handlers) string {
	if slices.Contains(levels[:], h.LogLevel) {
		return h.LogLevel
	}
	return "info"
}

// toldLevel is the level that a server of the initialize era was told to log from.
type toldLevel struct {
	turn chan struct{} // holds a token while it is read or told
	of   *state        // in which it was told
	from int           // in levels
}

// tellLevel has a server of the initialize era log from a level on: many log nothing before. Who wants less leaves out the rest. A
// server that does not answer soon is not asked again.
func (c *Client) tellLevel(ctx context.Context, h Handlers) {
	s, from := c.state.Load(), slices.Index(levels[:], level(h))
	if h.Log == nil || s.Modern || member(s.Capabilities, "logging") == nil {
		return
	}
	select {
	case c.told.turn <- struct{}{}:
		defer func() { <-c.told.turn }()
	case <-ctx.Done():
		return
	}
	if c.told.of == s && c.told.from <= from {
		return
	}
	soon, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	c.do(soon, c.newCall(s, "logging/setLevel", prepared{members: `"level":"` + levels[from] + `"`}, retry{}, Handlers{}))
	if ctx.Err() == nil {
		c.told.of, c.told.from = s, from
	}
}

// changesEvery is the least time between two reports of changed lists.
const changesEvery = 100 * time.Millisecond

// lists are those that can change; a bit each in changes.
var lists = [...]string{"tools", "prompts", "resources"}

// changes reports that lists have changed, each at most once in a while.
type changes struct {
	report func(list string)
	noted  atomic.Uint32
	woken  chan struct{}
}

func newChanges(ctx context.Context, report func(list string)) *changes {
	c := &changes{report: report, woken: make(chan struct{}, 1)}
	if report != nil {
		go c.run(ctx)
	}
	return c
}

func (c *changes) note(method string) bool {
	for i, list := range lists {
		if method == changed(list) {
			c.noted.Or(1 << i)
		}
	}
	select {
	case c.woken <- struct{}{}:
	default:
	}
	return c.report != nil
}

func changed(list string) string { return "notifications/" + list + "/list_changed" }

func (c *changes) run(ctx context.Context) {
	for pause(ctx, c.woken, changesEvery) {
		noted := c.noted.Swap(0)
		for i, list := range lists {
			if noted&(1<<i) != 0 {
				c.report(list)
			}
		}
	}
}

// pause waits until it is woken, and then for a while; false if ctx is done.
func pause(ctx context.Context, woken <-chan struct{}, d time.Duration) bool {
	select {
	case <-woken:
	case <-ctx.Done():
		return false
	}
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
