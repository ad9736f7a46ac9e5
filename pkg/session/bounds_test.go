package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

func TestTidyRemovesWhatIsExpiredAndNothingElse(t *testing.T) {
	b := newBench(t)
	s := b.open()
	sess, _ := mustSelect(t, s, chat, "", "INT-1")
	sess.Wrote("a.go", hash(1))
	check.OK(t, s.Flush())
	b.write("left.json.0011223344556677.tmp", "cut short")
	old := time.Now().Add(-2 * time.Hour)
	check.OK(t, os.Chtimes(b.path("left.json.0011223344556677.tmp"), old, old))
	b.write("README.json", "somebody's")
	b.pass(23 * time.Hour)
	_, live := mustSelect(t, s, other, "", "INT-2")
	b.pass(2 * time.Hour)
	s.Tidy()
	want := []string{session.FileOf(live), "README.json"}
	slices.Sort(want)
	got := b.files()
	check.Must(t, slices.Equal(got, want), "left %v, want %v", got, want)
	check.Must(t, s.Loaded() == 0, "%d idle sessions in memory", s.Loaded())
	wantError(t, s, chat, "", "", session.ErrNone)
	mustResolve(t, s, other, "", "INT-2") // loaded again through its connection
}

func TestAHandleIsNotMadeImmortalByAClockThatWasPutBack(t *testing.T) {
	b := newBench(t)
	s := b.open()
	_, handle := mustSelect(t, s, chat, "", "INT-1")
	future := b.now().Add(1000 * time.Hour)
	check.OK(t, os.Chtimes(b.path(session.FileOf(handle)), future, future))
	wantError(t, s, chat, handle, "", session.ErrExpired)
}

func TestFloodingTakesNothingFromOtherPrincipals(t *testing.T) {
	s := memoryStore(t)
	alice := session.Caller{Connection: "a", Principal: "alice"}
	_, handle := mustSelect(t, s, alice, "", "INT-1")
	saw(s.Observers(alice, ""), "a.go", hash(1), 1, 1, 1)
	for i := range 3 * session.MaxLoaded {
		eve := session.Caller{Connection: fmt.Sprint("e", i), Principal: "eve"}
		saw(s.Observers(eve, ""), "a.go", hash(1), 1, 1, 1)
		mustSelect(t, s, eve, "", "INT-1")
	}
	check.Must(t, s.Loaded() <= session.MaxLoaded+1, "%d sessions in memory", s.Loaded())
	mustResolve(t, s, alice, handle, "")
	wantSeen(t, mustResolve(t, s, alice, "", ""), "a.go", "1 whole=true [[1 1]]/1")
}

func TestWhatLeavesMemoryIsLoadedAgain(t *testing.T) {
	b := newBench(t)
	s := b.open()
	sess, handle := mustSelect(t, s, chat, "", "INT-1")
	for i := range session.MaxLoaded + 10 {
		mustSelect(t, s, modern, "", fmt.Sprint("INT-", i))
	}
	check.Must(t, s.Loaded() <= session.MaxLoaded, "%d sessions in memory", s.Loaded())
	again := mustResolve(t, s, chat, "", "")
	check.Must(t, again != sess && again.PublicID() == sess.PublicID(), "the first session never left memory, or is another now")
	mustResolve(t, s, modern, handle, "")
}

func TestAConnectionKeepsItsLatestSelections(t *testing.T) {
	s := memoryStore(t)
	for i := range session.MaxSelections + 5 {
		mustSelect(t, s, chat, "", fmt.Sprint("INT-", i))
	}
	_, err := s.Resolve(chat, "", "")
	var ambiguous *session.AmbiguousError
	check.Must(t, errors.As(err, &ambiguous) && len(ambiguous.Live) == session.MaxSelections, "%v", err)
	mustResolve(t, s, chat, "", fmt.Sprint("INT-", session.MaxSelections+4))
}

func TestWhatAClientSaysOfItselfIsBounded(t *testing.T) {
	b := newBench(t)
	long := session.Caller{ClientName: strings.Repeat("ä", 1<<20), ClientVersion: strings.Repeat("1", 1<<20), ModelID: strings.Repeat("m", 1<<20)}
	sess, handle := mustSelect(t, b.open(), long, "", "INT-1")
	is := b.listed()
	check.Must(t, len(is.ClientName) <= 256 && len(is.ClientVersion) <= 256 && len(sess.ModelID()) <= 256, "not bounded")
	mustResolve(t, b.open(), modern, handle, "")
}

func TestConcurrentUse(t *testing.T) {
	b := newBench(t)
	stores := []*session.Store{b.open(), b.open()}
	_, handle := mustSelect(t, stores[0], chat, "", "INT-1")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s := stores[g%2]
			c := session.Caller{Connection: fmt.Sprint("c", g/4)}
			for i := range 40 {
				sess, _, err := s.Select(context.Background(), c, handle, fmt.Sprint("INT-", i%5), "")
				if err != nil {
					t.Errorf("select: %v", err)
					return
				}
				sess.Saw(fmt.Sprint("f", g), hash(i), 9, 1, i%9+1)
				saw(s.Observers(c, ""), "shared", hash(i), 9, 1, 9)
				if _, err := s.Resolve(c, handle, ""); err != nil && !isEnded(err) {
					t.Errorf("resolve: %v", err)
				}
				_ = sess.ExpiresIn()
				switch i % 10 {
				case 3:
					s.EndIntent("INT-3")
				case 5:
					s.Tidy()
				case 7:
					s.Disconnect(c.Connection)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		check.NoError(t, s.Close())
	}
}
