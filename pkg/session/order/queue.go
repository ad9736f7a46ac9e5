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
	mu          sync.Mutex
	connections map[string][]*Turn // waiting to enter their keys, and changes in flight; by arrival
	keys        map[string][]*place
}

// place is a turn's position on one key.
type place struct {
	turn    *Turn
	granted bool
}

// Arrive takes the call's place in the order, and never blocks. Calls of one connection must arrive
// in the order in which they were read from it. Each turn must end with Done, Leave or a failed Wait.
func (q *Queue) Arrive(t Ticket) *Turn {
	turn := &Turn{queue: q, ticket: t, ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.keys == nil {
		q.keys, q.connections = map[string][]*place{}, map[string][]*Turn{}
	}
	if t.Connection == "" {
		turn.ticket.Find, turn.ticket.Changes = nil, false
		q.enter(turn)
		return turn
	}
	q.connections[t.Connection] = append(q.connections[t.Connection], turn)
	q.advance(t.Connection)
	return turn
}

// advance lets those turns of a connection onto their keys that no earlier one holds back: a turn
// that has yet to find its keys holds back everything behind it, because they could be the same; a
// change in flight holds back what has yet to find its keys.
func (q *Queue) advance(connection string) {
	waiting := q.connections[connection]
	kept := waiting[:0]
	changing, searching := false, false
	for _, turn := range waiting {
		if !turn.entered && !searching && (turn.ticket.Find == nil || !changing) {
			q.enter(turn)
		}
		searching = searching || !turn.entered
		changing = changing || turn.ticket.Changes
		if !turn.entered || turn.ticket.Changes {
			kept = append(kept, turn)
		}
	}
	clear(waiting[len(kept):])
	if len(kept) == 0 {
		delete(q.connections, connection)
		return
	}
	q.connections[connection] = kept
}

// enter puts a turn on its keys, all at once: the order of entering is the same on each key.
func (q *Queue) enter(turn *Turn) {
	turn.entered = true
	keys := turn.ticket.Keys
	if turn.ticket.Find != nil {
		keys = append(keys[:len(keys):len(keys)], turn.ticket.Find()...)
	}
	turn.keys = distinct(keys)
	for _, key := range turn.keys {
		p := &place{turn: turn, granted: free(q.keys[key], turn.ticket.Shared)}
		if !p.granted {
			turn.waits++
		}
		q.keys[key] = append(q.keys[key], p)
	}
	if turn.waits == 0 {
		close(turn.ready)
	}
}

// free reports whether a newcomer conflicts with nobody ahead of it.
func free(ahead []*place, shared bool) bool {
	for _, p := range ahead {
		if !shared || !p.turn.ticket.Shared {
			return false
		}
	}
	return true
}

func distinct(keys []string) []string {
	seen := make([]string, 0, len(keys))
	for _, key := range keys {
		if !slices.Contains(seen, key) {
			seen = append(seen, key)
		}
	}
	return seen
}

// remove takes a turn off its connection's list, and lets those go on that it held back.
func (q *Queue) remove(t *Turn) {
	connection := t.ticket.Connection
	waiting := q.connections[connection]
	if i := slices.Index(waiting, t); i >= 0 {
		q.connections[connection] = slices.Delete(waiting, i, i+1)
		q.advance(connection)
	}
}

// vacate takes a turn off a key, and grants the key to those that nobody ahead conflicts with now.
func (q *Queue) vacate(key string, t *Turn) {
	places := q.keys[key]
	kept := places[:0]
	exclusive := false
	for _, p := range places {
		if p.turn == t {
			continue
		}
		if !p.granted && !exclusive && (p.turn.ticket.Shared || len(kept) == 0) {
			q.grant(p)
		}
		exclusive = exclusive || !p.turn.ticket.Shared
		kept = append(kept, p)
	}
	clear(places[len(kept):])
	if len(kept) == 0 {
		delete(q.keys, key)
		return
	}
	q.keys[key] = kept
}

func (q *Queue) grant(p *place) {
	p.granted = true
	if p.turn.waits--; p.turn.waits == 0 {
		close(p.turn.ready)
	}
}
