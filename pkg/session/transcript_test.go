package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// step is one call of a random transcript.
type step struct {
	kind     string // select, write, read
	known    int    // index of the handle given; -1 for none
	intentID string
}

func randomSteps(r *rand.Rand, n int) []step {
	steps := make([]step, n)
	for i := range steps {
		st := step{kind: []string{"select", "write", "write", "read"}[r.IntN(4)], known: r.IntN(6) - 3}
		st.known = max(st.known, -1)
		switch {
		case st.kind == "select" && st.known >= 0:
			st.intentID = fmt.Sprintf("HANDLE-%d", r.IntN(3))
		case st.kind == "select" || st.kind == "write" && r.IntN(3) > 0:
			st.intentID = fmt.Sprintf("PLAIN-%d", r.IntN(3))
		case st.kind == "write" && r.IntN(2) > 0:
			st.intentID = fmt.Sprintf("HANDLE-%d", r.IntN(3))
		}
		steps[i] = st
	}
	return steps
}

// play runs a transcript, and says of each call which session it met, as an index of where that
// session came from, and what each read was seen by. Without pause it serves one call after the other.
func play(t *testing.T, s *session.Store, steps []step, pause func()) []string {
	oneByOne := pause == nil
	if oneByOne {
		pause = func() {}
	}
	w := newWire(t, s, chat)
	handles := make([]string, 3)
	names := map[string]string{}
	sessions := map[string]*session.Session{}
	for i := range handles {
		sess, handle := mustSelect(t, s, other, "", fmt.Sprintf("HANDLE-%d", i))
		handles[i], names[sess.PublicID()], sessions[fmt.Sprint("h", i)] = handle, fmt.Sprint("h", i), sess
	}
	var mu sync.Mutex
	met := make([]string, len(steps))
	for i, st := range steps {
		handle := ""
		if st.known >= 0 {
			handle = handles[st.known]
		}
		call := session.Call{Handle: handle, IntentID: st.intentID, Selects: st.kind == "select", Reads: st.kind == "read"}
		w.send(call, func(c session.Caller) {
			pause()
			result := ""
			switch st.kind {
			case "read":
				observer := s.Observers(c, handle)
				pause()
				saw(observer, fmt.Sprintf("read-%d", i), hash(i), 1, 1, 1)
			default:
				result = w.meet(c, st, handle, i, names, sessions, &mu)
			}
			pause()
			met[i] = result
		})
		if oneByOne {
			w.wg.Wait()
		} else if i%7 == 6 {
			pause()
		}
	}
	w.wg.Wait()
	for i, st := range steps {
		if st.kind == "read" {
			met[i] = seers(sessions, fmt.Sprintf("read-%d", i))
		}
	}
	return met
}

func (w *wire) meet(c session.Caller, st step, handle string, i int, names map[string]string, sessions map[string]*session.Session, mu *sync.Mutex) string {
	var sess *session.Session
	var err error
	if st.kind == "select" {
		sess, _, err = w.store.Select(context.Background(), c, handle, st.intentID, "")
	} else {
		sess, err = w.store.Resolve(c, handle, st.intentID)
	}
	if err != nil {
		return fmt.Sprintf("%T %v", err, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if names[sess.PublicID()] == "" {
		name := fmt.Sprint("new", i)
		names[sess.PublicID()], sessions[name] = name, sess
	}
	return names[sess.PublicID()] + " " + sess.IntentID()
}

func seers(sessions map[string]*session.Session, path string) string {
	var saw []string
	for name, sess := range sessions {
		if _, ok := sess.Seen(path); ok {
			saw = append(saw, name)
		}
	}
	slices.Sort(saw)
	return strings.Join(saw, ",")
}

// TestPipelinedCallsMeetWhatTheyWouldMeetOneByOne compares random transcripts, sent at once and served
// with random pauses, with the same transcript served one call at a time.
func TestPipelinedCallsMeetWhatTheyWouldMeetOneByOne(t *testing.T) {
	rounds := check.Rounds(25, 3_000)
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		steps := randomSteps(r, 30)
		want := play(t, memoryStore(t), steps, nil)
		got := play(t, memoryStore(t), steps, func() { time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond) })
		for i := range steps {
			if plain(got[i]) != plain(want[i]) {
				t.Fatalf("seed %d, call %d %+v: met %q, one by one %q\n%+v", seed, i, steps[i], got[i], want[i], steps[:i])
			}
		}
	}
}

// plain leaves out the order in which an ambiguity lists the choices.
func plain(met string) string {
	words := strings.FieldsFunc(met, func(r rune) bool { return strings.ContainsRune(" (),", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

func memoryStore(t *testing.T) *session.Store {
	s := session.Open(nil, session.Options{})
	t.Cleanup(func() { s.Close() })
	return s
}
