package order

import (
	"context"
	"errors"
	"slices"
)

// ErrReleased is what Wait returns for a turn that is already over: Done, left, or cancelled.
var ErrReleased = errors.New("order: the turn is over: a call has to arrive again to get another one")

// Turn is one call's place in the order. Wait is for one goroutine; Leave and Done may come from any.
type Turn struct {
	queue   *Queue
	ticket  Ticket
	keys    []string
	entered bool // stands on its keys
	granted bool // nobody ahead conflicts with it
	over    bool
	ready   chan struct{} // closed when it is granted or over
}

// Wait blocks until every earlier call that conflicts has ended or left. An error means that the call
// must not start: the context's own (its turn is given up then), or ErrReleased. A context that is
// over wins over a turn that has come: what was cancelled before it started never starts.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.ready:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		t.release()
		return err
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.over {
		return ErrReleased
	}
	return nil
}

// Ready reports whether the turn's Wait would return at once.
func (t *Turn) Ready() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// Leave takes a call out of the order that was put to the operator: later calls go on, and are judged
// on the state that they find. The call itself goes on too, in no order any more.
func (t *Turn) Leave() { t.release() }

// Done ends the turn. It may be called again, and after Leave or a failed Wait.
func (t *Turn) Done() { t.release() }

func (t *Turn) release() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	is := func(other *Turn) bool { return other == t }
	q.arrived, q.entered = slices.DeleteFunc(q.arrived, is), slices.DeleteFunc(q.entered, is)
	q.advance()
	if !t.granted {
		close(t.ready) // whoever still waits for it learns that it is over
	}
}
