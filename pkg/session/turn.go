package session

import "github.com/intentgov/orchestra-mcp/pkg/session/order"

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
// A call with a handle is in order with the calls of that session. A call without one, on a
// connection, is in order with those of the sessions that it could mean, which is settled when the
// selections sent before it are done. A call with neither is in no order.
func (s *Store) Arrive(c Caller, call Call) *Turn {
	turn := &Turn{caller: c}
	ticket := order.Ticket{Shared: call.Reads && !call.Selects, Changes: call.Selects}
	if c.connected() {
		ticket.Connection = c.connectionID().orderName()
	}
	switch {
	case call.Handle != "":
		ticket.Keys = keysOfHandle(c, call)
	case c.connected() && call.Selects:
		ticket.Find = func() []string { return s.keysOfSelection(c, call.IntentID) }
	case c.connected():
		pinned := new(pin)
		turn.caller.pinned = pinned
		ticket.Find = func() []string { return s.keysOfCall(c, call, pinned) }
	}
	turn.Turn = s.queue.Arrive(ticket)
	return turn
}

// Caller is the caller for Resolve, Observers and Select once Wait has returned: it carries what a
// call without a handle meant at its place in the order, whatever is selected later.
func (t *Turn) Caller() Caller { return t.caller }

func keysOfHandle(c Caller, call Call) []string {
	var keys []string
	if key, ok := digestOf(call.Handle); ok {
		keys = append(keys, key.orderKey())
	}
	if call.Selects && c.connected() {
		keys = append(keys, c.connectionID().unownedKey()) // it inherits what the connection has seen
	}
	return keys
}

// keysOfSelection are the session that a selection continues, and what a first selection inherits.
func (s *Store) keysOfSelection(c Caller, intentID string) []string {
	selections := s.likelyLive(c)
	if len(selections) == 0 {
		return []string{c.connectionID().unownedKey()}
	}
	var keys []string
	for _, sel := range selections {
		if sess := s.cached(sel.key); sess == nil || sess.IntentID() == intentID {
			keys = append(keys, sel.key.orderKey())
		}
	}
	return keys
}

// keysOfCall are the sessions that a call without a handle could mean: one, if its intent decides it
// already; else all, since what is sent before it may yet end some of them. A read counts for all.
func (s *Store) keysOfCall(c Caller, call Call, pinned *pin) []string {
	selections := s.likelyLive(c)
	if call.IntentID != "" && !call.Reads {
		selections = s.decided(selections, call.IntentID)
	}
	pinned.selections = selections
	if len(selections) == 0 {
		return []string{c.connectionID().unownedKey()}
	}
	keys := make([]string, len(selections))
	for i, sel := range selections {
		keys[i] = sel.key.orderKey()
	}
	return keys
}

func (s *Store) decided(selections []selected, intentID string) []selected {
	var meant []selected
	for _, sel := range selections {
		if sess := s.cached(sel.key); sess == nil || sess.IntentID() == intentID {
			meant = append(meant, sel)
		}
	}
	if len(meant) == 1 {
		return meant
	}
	return selections
}

// likelyLive leaves out what is known to have ended. It looks at memory only: it runs under the
// queue's lock. What has ended without being noticed is found by Resolve.
func (s *Store) likelyLive(c Caller) []selected {
	var live []selected
	for _, sel := range s.selections(c) {
		if sess := s.cached(sel.key); sess == nil || !sess.ended() && !sess.expired() {
			live = append(live, sel)
		}
	}
	return live
}
