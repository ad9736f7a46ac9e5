package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// bench is a workspace and a clock that tests move.
type bench struct {
	t     testing.TB
	dir   string
	mu    sync.Mutex
	at    time.Time
	ended map[string]bool
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, dir: t.TempDir(), at: time.Now(), ended: map[string]bool{}}
	check.OK(t, os.Mkdir(filepath.Join(b.dir, ".orchestration"), 0o755))
	return b
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(time.Microsecond)
	return b.at
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

func (b *bench) isEnded(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended[id]
}

func (b *bench) setEnded(id string, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended[id] = ended
}

// open is a server process on the workspace.
func (b *bench) open() *session.Store { return b.logTo(io.Discard) }

func (b *bench) logTo(log io.Writer) *session.Store {
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	s := session.Open(root, session.Options{Clock: b.now, Ended: b.isEnded, Logger: zerolog.New(log)})
	b.t.Cleanup(func() {
		s.Close()
		root.Close()
	})
	return s
}

// listed is the session that others were told of last.
func (b *bench) listed() session.Listed {
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	defer root.Close()
	return check.Value(session.List(root))(b.t)[0]
}

func (b *bench) path(name string) string {
	return filepath.Join(b.dir, ".orchestration", "state", "sessions", name)
}

func (b *bench) files() []string {
	entries, err := os.ReadDir(b.path(""))
	check.Must(b.t, err == nil || errors.Is(err, fs.ErrNotExist), "%v", err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var (
	chat   = session.Caller{Connection: "conn-1", ClientName: "roo", ClientVersion: "3.1", ModelID: "m-1"}
	other  = session.Caller{Connection: "conn-2"}
	modern = session.Caller{ClientName: "modern"}
)

func mustSelect(t testing.TB, s *session.Store, c session.Caller, handle, intentID string) (*session.Session, string) {
	t.Helper()
	sess, h, err := s.Select(context.Background(), c, handle, intentID, "")
	check.Must(t, err == nil, "Select(%q, %s): %v", handle, intentID, err)
	check.Must(t, sess.IntentID() == intentID, "selected %s, want %s", sess.IntentID(), intentID)
	return sess, h
}

func mustResolve(t testing.TB, s *session.Store, c session.Caller, handle, intentID string) *session.Session {
	t.Helper()
	sess, err := s.Resolve(c, handle, intentID)
	check.Must(t, err == nil, "Resolve(%q, %q): %v", handle, intentID, err)
	return sess
}

func wantError(t testing.TB, s *session.Store, c session.Caller, handle, intentID string, want error) {
	t.Helper()
	sess, err := s.Resolve(c, handle, intentID)
	check.Must(t, errors.Is(err, want) && sess == nil, "Resolve(%q, %q) = %v, %v, want %v", handle, intentID, sess, err, want)
}

func isEnded(err error) bool {
	_, is := errors.AsType[*session.EndedError](err)
	return is
}

func wantEnded(t testing.TB, s *session.Store, c session.Caller, handle, intentID string) {
	t.Helper()
	sess, err := s.Resolve(c, handle, intentID)
	check.Must(t, isEnded(err) && sess == nil, "Resolve(%q, %q) = %v, %v, want an EndedError", handle, intentID, sess, err)
}

// saw delivers lines to whom they count for.
func saw(views []*session.Views, path, hash string, total, from, to int) {
	for _, v := range views {
		v.Saw(path, hash, total, from, to)
	}
}

func hash(n int) string { return fmt.Sprintf("sha256:%064x", n) }

func wantSeen(t testing.TB, v interface {
	Seen(string) (session.View, bool)
}, path string, want string) {
	t.Helper()
	view, ok := v.Seen(path)
	got := "unseen"
	if ok {
		got = fmt.Sprintf("%s whole=%t %v/%d", strings.TrimLeft(strings.TrimPrefix(view.Hash, "sha256:"), "0"), view.Whole, view.Lines, view.Total)
	}
	check.Must(t, got == want, "seen of %s: %s, want %s", path, got, want)
}

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
	var ambiguous *session.MismatchError
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

// BenchmarkCall is what a call costs here: its place in the order, its session, and giving it up.
func BenchmarkCall(b *testing.B) {
	s := newBench(b).open()
	sess, handle := mustSelect(b, s, chat, "", "INT-1")
	sess.Wrote("a.go", hash(1))
	check.OK(b, s.Flush())
	for name, call := range map[string]session.Call{"handle": {Handle: handle}, "connection": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				turn := s.Arrive(chat, call)
				check.OK(b, turn.Wait(context.Background()))
				_, err := s.Resolve(turn.Caller(), call.Handle, "")
				check.OK(b, err)
				turn.Done()
			}
		})
	}
}

func BenchmarkSaw(b *testing.B) {
	sess, _ := mustSelect(b, newBench(b).open(), chat, "", "INT-1")
	b.ReportAllocs()
	for b.Loop() {
		sess.Saw("a.go", hash1, 2000, 1, 2000)
	}
}

var hash1 = hash(1)

func BenchmarkSelect(b *testing.B) {
	s := newBench(b).open()
	for b.Loop() {
		mustSelect(b, s, chat, "", "INT-1")
	}
}
