package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// wire is a connection that serves each call in a goroutine of its own, as the server does.
type wire struct {
	t      *testing.T
	store  *session.Store
	caller session.Caller
	wg     sync.WaitGroup
	mu     sync.Mutex
	log    []string
}

func newWire(t *testing.T, s *session.Store, c session.Caller) *wire {
	return &wire{t: t, store: s, caller: c}
}

func (w *wire) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// send puts a call on the wire; do runs when its turn has come.
func (w *wire) send(call session.Call, do func(session.Caller)) *session.Turn {
	turn := w.store.Arrive(w.caller, call)
	w.wg.Go(func() {
		defer turn.Done()
		if err := turn.Wait(context.Background()); err != nil {
			w.t.Errorf("%+v: %v", call, err)
			return
		}
		do(turn.Caller())
	})
	return turn
}

func (w *wire) selects(handle, intentID string, takes time.Duration) {
	w.send(session.Call{Handle: handle, IntentID: intentID, Selects: true}, func(c session.Caller) {
		time.Sleep(takes)
		_, _, err := w.store.Select(context.Background(), c, handle, intentID, "")
		check.That(w.t, err == nil, "select %s: %v", intentID, err)
		w.note("selected %s", intentID)
	})
}

func (w *wire) writes(name, handle, intentID string, takes time.Duration) {
	w.send(session.Call{Handle: handle, IntentID: intentID}, func(c session.Caller) {
		sess, err := w.store.Resolve(c, handle, intentID)
		time.Sleep(takes)
		if err != nil {
			w.note("%s: %v", name, err)
			return
		}
		w.note("%s under %s", name, sess.IntentID())
	})
}

func (w *wire) wantLog(want ...string) {
	w.t.Helper()
	w.wg.Wait()
	if got := strings.Join(w.log, "; "); got != strings.Join(want, "; ") {
		w.t.Fatalf("got  %s\nwant %s", got, strings.Join(want, "; "))
	}
}

const slow = 20 * time.Millisecond

func TestAWriteSentRightBehindSelectSeesTheSelection(t *testing.T) {
	w := newWire(t, newBench(t).open(), chat)
	w.selects("", "INT-1", slow)
	w.writes("first", "", "", slow)
	w.writes("second", "", "", 0)
	w.selects("", "INT-1", 0)
	w.wantLog("selected INT-1", "first under INT-1", "second under INT-1", "selected INT-1")
}

func TestAWriteSentBeforeASelectionDoesNotSeeIt(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, chat, "", "INT-1")
	w := newWire(t, s, chat)
	w.writes("busy", h1, "", slow)
	w.writes("plain", "", "", 0) // waits for busy, while INT-2 is selected beside it
	w.selects("", "INT-2", 0)
	w.wantLog("selected INT-2", "busy under INT-1", "plain under INT-1")
}

func TestASelectionContinuesWhatWasLiveWhenItWasSent(t *testing.T) {
	s := newBench(t).open()
	first, h1 := mustSelect(t, s, chat, "", "INT-1")
	_, h2 := mustSelect(t, s, chat, "", "INT-2")
	w := newWire(t, s, chat)
	w.writes("busy", h1, "", slow)
	w.send(session.Call{IntentID: "INT-1", Selects: true}, func(c session.Caller) {
		sess, handle := mustSelect(t, s, c, "", "INT-1")
		check.That(t, sess == first && handle == h1, "continued another session")
		w.note("selected INT-1")
	})
	w.selects(h2, "INT-1", 0)
	w.wantLog("selected INT-1", "busy under INT-1", "selected INT-1")
}

func TestAReadWaitsForEarlierChangesOfItsSessionAndReadsRunInParallel(t *testing.T) {
	s := newBench(t).open()
	_, handle := mustSelect(t, s, chat, "", "INT-1")
	w := newWire(t, s, chat)
	w.writes("write", handle, "", slow)
	together := make(chan struct{})
	for range 2 {
		w.send(session.Call{Reads: true}, func(session.Caller) {
			select {
			case together <- struct{}{}:
			case <-together:
			case <-time.After(time.Minute):
				t.Error("two reads do not run side by side")
			}
		})
	}
	w.writes("after the reads", "", "", 0)
	w.wantLog("write under INT-1", "after the reads under INT-1")
}

func TestTwoChatsOverOneProcessDoNotWaitForEachOther(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, chat, "", "INT-1")
	_, h2 := mustSelect(t, s, chat, "", "INT-2")
	w := newWire(t, s, chat)
	command := make(chan struct{})
	w.send(session.Call{Handle: h1}, func(session.Caller) { <-command })
	w.selects(h1, "INT-3", 0) // waits for the command of its session
	done := make(chan struct{})
	for range 2 {
		w.send(session.Call{Handle: h2}, func(session.Caller) { done <- struct{}{} })
	}
	w.send(session.Call{Handle: h2, IntentID: "INT-4", Selects: true}, func(session.Caller) { done <- struct{}{} })
	for range 3 {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("a chat waits for the other's command")
		}
	}
	close(command)
	w.wantLog("selected INT-3")
}

func TestAFirstSelectionDoesNotWaitForTheCommandOfAnotherChat(t *testing.T) {
	s := newBench(t).open()
	mustSelect(t, s, chat, "", "INT-1")
	w := newWire(t, s, chat)
	command := make(chan struct{})
	w.send(session.Call{}, func(session.Caller) { <-command })
	turn := s.Arrive(chat, session.Call{IntentID: "INT-2", Selects: true})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := turn.Wait(ctx)
	check.Must(t, err == nil, "the selection waits for another session's command")
	turn.Done()
	close(command)
	w.wantLog()
}

func TestASelectionWaitsForTheReadsThatItInherits(t *testing.T) {
	for name, handle := range map[string]bool{"without session": false, "with session": true} {
		t.Run(name, func(t *testing.T) {
			s := newBench(t).open()
			given := ""
			if handle {
				_, given = mustSelect(t, s, other, "", "INT-1")
			}
			w := newWire(t, s, chat)
			w.send(session.Call{Reads: true}, func(c session.Caller) {
				observer := s.Observers(c, "")
				time.Sleep(slow)
				saw(observer, "a.go", hash(1), 3, 1, 3)
			})
			w.selects(given, "INT-1", 0)
			w.wantLog("selected INT-1")
			wantSeen(t, mustResolve(t, s, chat, "", ""), "a.go", "1 whole=true [[1 3]]/3")
		})
	}
}

func TestACallPutToTheOperatorLeavesTheOrder(t *testing.T) {
	s := newBench(t).open()
	mustSelect(t, s, chat, "", "INT-1")
	w := newWire(t, s, chat)
	answer, asked := make(chan struct{}), make(chan *session.Turn, 1)
	asked <- w.send(session.Call{}, func(c session.Caller) {
		(<-asked).Leave()
		<-answer
		sess, err := s.Resolve(c, "", "")
		check.That(t, err == nil && sess.IntentID() == "INT-1", "after the answer: %v", err)
		w.note("answered")
	})
	w.send(session.Call{}, func(session.Caller) {
		w.note("later")
		close(answer)
	})
	w.wantLog("later", "answered")
}

func TestAModernCallWithoutAHandleIsInNoOrder(t *testing.T) {
	s := newBench(t).open()
	for range 3 {
		check.OK(t, s.Arrive(modern, session.Call{}).Wait(context.Background()))
		check.OK(t, s.Arrive(modern, session.Call{IntentID: "INT-1", Selects: true}).Wait(context.Background()))
	}
}

func TestAPipelinedCallLearnsThatItsSelectionHasEnded(t *testing.T) {
	b := newBench(t)
	s := b.open()
	mustSelect(t, s, chat, "", "INT-1")
	s.EndIntent("INT-1")
	w := newWire(t, s, chat)
	w.send(session.Call{}, func(c session.Caller) { wantEnded(t, s, c, "", "") })
	w.wantLog()
}
