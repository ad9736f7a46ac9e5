package session

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/session/order"
)

// Call is what decides a call's place in the order.
type Call struct {
	Handle   string // the session argument
	IntentID string // the intent_id argument, where it names the selection that is meant or is selected
	Reads    bool   // changes neither files nor its session; runs side by side with other reads
	Selects  bool   // selects an intent
}

// Turn is a call's place among the calls of its session; see package order. Each ends with Done, with
// Leave, or with a Wait that fails.
type Turn struct {
	*order.Turn
	caller Caller
}

// Arrive takes a call's place in the order, and does not block: the transport calls it for each call
// in the order in which it reads them, and the goroutine that serves the call then does Wait.
//
// A call with a handle is in order with the calls of that session. A call without one, on a connection, is in order
// with those of the sessions that it could mean, which is decided when the selections sent before it are done. A call
// with neither is in no order. A tool whose answer depends on no session needs no turn.
func (s *Store) Arrive(c Caller, call Call) *Turn {
	turn := &Turn{caller: c}
	ticket := order.Ticket{Shared: call.Reads && !call.Selects, Changes: call.Selects}
	if c.connected() {
		ticket.Connection = c.connectionID().orderName()
	}
	switch {
	case call.Handle != "":
		ticket.Keys = s.keysOfHandle(c, call)
	case c.connected():
		pinned := new([]selected)
		turn.caller.pinned = pinned
		ticket.Find = func() []string { return s.pin(c, call, pinned) }
	}
	turn.Turn = s.queue.Arrive(ticket)
	return turn
}

// Caller is the caller for Resolve, Observers and Select once Wait has returned: it carries what a
// call without a handle meant at its place in the order, whatever is selected later.
func (t *Turn) Caller() Caller { return t.caller }

// keysOfHandle puts a first selection also in order with the reads that it inherits. Later ones
// inherit nothing, and must not wait for each other.
func (s *Store) keysOfHandle(c Caller, call Call) []string {
	var keys []string
	if key, ok := digestOf(call.Handle); ok {
		keys = append(keys, key.orderKey())
	}
	if call.Selects && c.connected() && len(s.likelyLive(c)) == 0 {
		keys = append(keys, c.connectionID().unownedKey())
	}
	return keys
}

// pin decides what a call without a handle means, and returns what it is in order with. While
// nothing is selected these are the calls that work on what the connection has seen; the selections
// that have ended stay in the pin, so that Resolve can name their intent.
func (s *Store) pin(c Caller, call Call, pinned *[]selected) []string {
	live := s.likelyLive(c)
	if len(live) == 0 {
		*pinned = s.selections(c)
		return []string{c.connectionID().unownedKey()}
	}
	*pinned = s.meant(live, call)
	keys := make([]string, len(*pinned))
	for i, sel := range *pinned {
		keys[i] = sel.key.orderKey()
	}
	return keys
}

// meant are the selections that a call without a handle could mean: those of its intent, if it selects
// or if just one has it; else all, since what is sent before it may yet end some. A read counts for all.
func (s *Store) meant(live []selected, call Call) []selected {
	if call.IntentID == "" || call.Reads && !call.Selects {
		return live
	}
	ofIntent := slices.DeleteFunc(slices.Clone(live), func(sel selected) bool {
		sess := s.cached(sel.key)
		return sess != nil && sess.IntentID() != call.IntentID
	})
	if call.Selects || len(ofIntent) == 1 {
		return ofIntent
	}
	return live
}

// likelyLive leaves out what is known to have ended. It looks at memory only: it runs under the
// queue's lock. What has ended without being noticed is found by Resolve.
func (s *Store) likelyLive(c Caller) []selected {
	return slices.DeleteFunc(slices.Clone(s.selections(c)), func(sel selected) bool {
		sess := s.cached(sel.key)
		return sess != nil && (sess.ended() || sess.expired())
	})
}
