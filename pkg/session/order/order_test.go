package order_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session/order"
)

func write(keys ...string) order.Ticket    { return order.Ticket{Connection: "c", Keys: keys} }
func found(keys ...string) func() []string { return func() []string { return keys } }

func wantReady(t *testing.T, want bool, turns ...*order.Turn) {
	t.Helper()
	for i, turn := range turns {
		check.Must(t, turn.Ready() == want, "turn %d: ready is %t", i, !want)
	}
}

func TestAFindWaitsForEarlierChangesOfItsConnectionOnly(t *testing.T) {
	var q order.Queue
	keys := []string(nil)
	find := func() []string { return keys }
	change := q.Arrive(order.Ticket{Connection: "c", Changes: true})
	first := q.Arrive(order.Ticket{Connection: "c", Find: find})
	second := q.Arrive(order.Ticket{Connection: "c", Find: find})
	elsewhere := q.Arrive(order.Ticket{Connection: "d", Find: found("x")})
	wantReady(t, true, change, elsewhere)
	wantReady(t, false, first, second)
	keys = []string{"new"}
	change.Done()
	wantReady(t, true, first)
	wantReady(t, false, second) // it found the same key
	first.Done()
	wantReady(t, true, second)
}

func TestWithoutConnectionOnlyKeysCount(t *testing.T) {
	var q order.Queue
	q.Arrive(order.Ticket{Changes: true, Find: func() []string { panic("asked") }})
	wantReady(t, true, q.Arrive(order.Ticket{Find: func() []string { panic("asked") }}))
	q.Arrive(order.Ticket{Keys: []string{"a"}})
	wantReady(t, false, q.Arrive(order.Ticket{Keys: []string{"a"}}))
}

func TestLeaveLetsLaterTurnsGoOn(t *testing.T) {
	var q order.Queue
	asked, later := q.Arrive(write("a")), q.Arrive(write("a"))
	check.OK(t, asked.Wait(context.Background()))
	asked.Leave()
	check.OK(t, later.Wait(context.Background()))
	asked.Done()
	asked.Leave()
	wantReady(t, false, q.Arrive(write("a"))) // Done after Leave frees nothing twice
}

func TestACancelledCallNeverStarts(t *testing.T) {
	var q order.Queue
	ctx, cancel := context.WithCancel(context.Background())
	first, second, third := q.Arrive(write("a")), q.Arrive(write("a")), q.Arrive(write("a"))
	cancel()
	if err := second.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled while waiting: %v", err)
	}
	first.Done()
	wantReady(t, true, third)
	if err := third.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled although its turn had come: %v", err)
	}
	check.Must(t, q.Empty(), "a cancelled call holds a place")
	if err := second.Wait(context.Background()); !errors.Is(err, order.ErrReleased) {
		t.Fatalf("waiting again: %v", err)
	}
}

func TestAWaitLearnsThatItsTurnWasEnded(t *testing.T) {
	var q order.Queue
	q.Arrive(write("a"))
	waiting := q.Arrive(write("a"))
	result := make(chan error)
	go func() { result <- waiting.Wait(context.Background()) }()
	waiting.Done()
	err := <-result
	check.Must(t, errors.Is(err, order.ErrReleased), "%v", err)
}

// model is the order by its definition, without any cleverness.
type model struct{ turns []*modelTurn }

type modelTurn struct {
	ticket  order.Ticket
	keys    []string
	entered int // 0: not yet
	gone    bool
}

func (m *model) enter() {
	last := 0
	for _, turn := range m.turns {
		last = max(last, turn.entered)
	}
	for i, turn := range m.turns {
		if turn.entered == 0 && !turn.gone && !m.heldBack(i) {
			last++
			turn.entered = last
		}
	}
}

func (m *model) heldBack(i int) bool {
	turn := m.turns[i]
	for _, earlier := range m.turns[:i] {
		if turn.ticket.Connection == "" || earlier.ticket.Connection != turn.ticket.Connection || earlier.gone {
			continue
		}
		if earlier.ticket.Find != nil && earlier.entered == 0 || turn.ticket.Find != nil && earlier.ticket.Changes {
			return true
		}
	}
	return false
}

func (m *model) ready(turn *modelTurn) bool {
	if turn.entered == 0 {
		return false
	}
	for _, other := range m.turns {
		if other.gone || other.entered == 0 || other.entered >= turn.entered || other.ticket.Shared && turn.ticket.Shared {
			continue
		}
		if slices.ContainsFunc(other.keys, func(key string) bool { return slices.Contains(turn.keys, key) }) {
			return false
		}
	}
	return true
}

func TestTheQueueAgreesWithItsDefinition(t *testing.T) {
	rounds := check.Rounds(300, 20_000)
	for seed := range rounds {
		agree(t, uint64(seed))
	}
}

func agree(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	var q order.Queue
	var m model
	turns := map[*modelTurn]*order.Turn{}
	for step := range 80 {
		if live := m.live(); r.IntN(5) < 3 || len(live) == 0 {
			ticket, keys := randomTicket(r)
			turn := &modelTurn{ticket: ticket, keys: keys}
			m.turns = append(m.turns, turn)
			turns[turn] = q.Arrive(ticket)
		} else {
			gone := live[r.IntN(len(live))]
			gone.gone = true
			[]func(){turns[gone].Done, turns[gone].Leave, func() { cancelled(t, turns[gone]) }}[r.IntN(3)]()
		}
		m.enter()
		for i, turn := range m.turns {
			if !turn.gone && turns[turn].Ready() != m.ready(turn) {
				t.Fatalf("seed %d step %d turn %d (%+v): ready is %t", seed, step, i, turn.ticket, turns[turn].Ready())
			}
		}
	}
	for _, turn := range turns {
		turn.Done()
	}
	check.Must(t, q.Empty(), "seed %d: something is left behind", seed)
}

func (m *model) live() []*modelTurn {
	return slices.DeleteFunc(slices.Clone(m.turns), func(turn *modelTurn) bool { return turn.gone })
}

func cancelled(t *testing.T, turn *order.Turn) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := turn.Wait(ctx)
	check.That(t, err != nil, "a cancelled call started")
}

func randomTicket(r *rand.Rand) (order.Ticket, []string) {
	ticket := order.Ticket{
		Connection: []string{"", "c", "c", "d"}[r.IntN(4)],
		Changes:    r.IntN(5) == 0,
		Shared:     r.IntN(2) == 0,
	}
	keys := []string{"k0", "k1", "k2", "k3"}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	known, all := keys[:r.IntN(3)], keys[:r.IntN(3)]
	if ticket.Connection != "" && r.IntN(2) == 0 {
		ticket.Find = found(all...)
		ticket.Keys = known
		return ticket, slices.Concat(known, all)
	}
	ticket.Keys = known
	return ticket, known
}

func TestManyGoroutinesKeepTheOrderOfEachKey(t *testing.T) {
	var q order.Queue
	const calls = 2_000
	keys := []string{"a", "b", "c"}
	next := make([]atomic.Int64, len(keys))
	started := make([]int64, len(keys))
	var wg sync.WaitGroup
	for i := range calls {
		k := i % len(keys)
		sent := started[k]
		started[k]++
		turn := q.Arrive(order.Ticket{Connection: "c", Find: found(keys[k]), Changes: i%100 == 0})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		wg.Go(func() {
			defer cancel()
			defer turn.Done()
			if err := turn.Wait(ctx); err != nil {
				t.Errorf("call %d: %v", i, err)
			} else if got := next[k].Add(1) - 1; got != sent {
				t.Errorf("key %s: call %d was number %d to start", keys[k], sent, got)
			}
		})
	}
	wg.Wait()
	check.That(t, q.Empty(), "something is left behind")
}

func BenchmarkArriveWaitDone(b *testing.B) {
	for _, inFlight := range []int{0, 100} {
		b.Run(fmt.Sprintf("%d in flight", inFlight), func(b *testing.B) {
			var q order.Queue
			for range inFlight {
				q.Arrive(order.Ticket{Connection: "c", Keys: []string{"a"}, Shared: true})
			}
			ticket := order.Ticket{Connection: "c", Find: found("a"), Shared: true}
			b.ReportAllocs()
			for b.Loop() {
				turn := q.Arrive(ticket)
				check.OK(b, turn.Wait(b.Context()))
				turn.Done()
			}
		})
	}
}
