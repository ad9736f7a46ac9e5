// Package order decides when a call may start, so that the calls of one session take effect in the
// order in which they were sent while everything else runs side by side.
//
// Promise. Two calls that share a key start in the order of their arrival, unless both are Shared. A call whose keys
// follow from the state of its connection (Find) learns them only when every earlier call that changes this state is
// done, and no later change can get in before it has learned them: it sees what it would have seen had all calls of the
// connection run one by one. A call waits for earlier calls only, so there is no deadlock. A call that is cancelled
// while it waits never starts and holds nobody up. Every operation costs at most the number of calls in flight.
//
// Non-promise. Calls of different connections have no order among them beyond mutual exclusion on a
// shared key. The queue bounds nothing: how many calls may be in flight is the transport's business.
// It does not protect data: two processes, or a call that has left, may touch the same state.
package order

import (
	"slices"
	"sync"
)

// A Ticket says what a call conflicts with.
type Ticket struct {
	// Connection is the transport connection whose calls have an order; "" is no connection, and is
	// never taken for one: then Find and Changes are ignored, and only Keys count.
	Connection string
	// Keys name what the call works on, as far as that is known at its arrival.
	Keys []string
	// Find gives further keys where these follow from what is selected on the connection. It is
	// called at most once, under the queue's lock: it must be quick, and must not use the queue.
	Find func() []string
	// Changes marks a call that changes what a later Find of the same connection finds.
	Changes bool
	// Shared marks a call that runs side by side with other shared calls on the same key: a read.
	Shared bool
}

// Queue keeps the calls in flight. The zero value is ready for use; it must not be copied.
type Queue struct {
	mu      sync.Mutex
	arrived []*Turn // in the order of their arrival
	entered []*Turn // those that stand on their keys, in the order in which they got there
}

// Arrive takes the call's place in the order, and never blocks. Calls of one connection must arrive
// in the order in which they were read from it. Each turn must end with Done, Leave or a failed Wait.
func (q *Queue) Arrive(t Ticket) *Turn {
	if t.Connection == "" {
		t.Find, t.Changes = nil, false
	}
	turn := &Turn{queue: q, ticket: t, ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.arrived = append(q.arrived, turn)
	q.advance()
	return turn
}

// advance lets those turns onto their keys that no earlier one of their connection holds back, and those go on that nobody
// ahead conflicts with. A turn that has yet to find its keys holds back everything behind it, because they could be the
// same; a change in flight holds back what has yet to find its keys.
func (q *Queue) advance() {
	type ahead struct{ searching, changing bool }
	connections := map[string]ahead{}
	for _, t := range q.arrived {
		before := connections[t.ticket.Connection]
		if !t.entered && !before.searching && (t.ticket.Find == nil || !before.changing) {
			t.entered, t.keys = true, t.ticket.Keys
			if t.ticket.Find != nil {
				t.keys = slices.Concat(t.keys, t.ticket.Find())
			}
			q.entered = append(q.entered, t)
		}
		connections[t.ticket.Connection] = ahead{before.searching || !t.entered, before.changing || t.ticket.Changes}
	}
	exclusive := map[string]bool{} // by the keys on which a turn stands
	for _, t := range q.entered {
		conflicts := func(key string) bool {
			alone, held := exclusive[key]
			return alone || held && !t.ticket.Shared
		}
		if !t.granted && !slices.ContainsFunc(t.keys, conflicts) {
			t.granted = true
			close(t.ready)
		}
		for _, key := range t.keys {
			exclusive[key] = exclusive[key] || !t.ticket.Shared
		}
	}
}
