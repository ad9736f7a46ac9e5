package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
