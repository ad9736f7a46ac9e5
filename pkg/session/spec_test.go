package session_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// The tests of this file, spec_select_test.go and pipeline_test.go are the sentences of SPEC 5, in its order.

func TestSelectReturnsAnUnguessableHandle(t *testing.T) {
	s := newBench(t).open()
	form := regexp.MustCompile(`^ses_[a-z2-7]{32}$`)
	seen := map[string]bool{}
	for range 100 {
		_, handle := mustSelect(t, s, modern, "", "INT-1")
		check.Must(t, form.MatchString(handle) && !seen[handle], "handle %q", handle)
		seen[handle] = true
	}
}

func TestIdleLifetimeIsADayByDefaultAndRenewedAtUse(t *testing.T) {
	b := newBench(t)
	s := b.open()
	sess, handle := mustSelect(t, s, modern, "", "INT-1")
	got := sess.ExpiresIn().Round(time.Second)
	check.Must(t, got == 24*time.Hour, "expires in %v", got)
	for range 3 {
		b.pass(23 * time.Hour)
		mustResolve(t, s, modern, handle, "")
	}
	b.pass(24*time.Hour + time.Second)
	wantError(t, s, modern, handle, "", session.ErrExpired)
	files := b.files()
	check.Must(t, len(files) == 0, "expired state left on disk: %v", files)
}

func TestStateIsFoundByTheHandleIfGiven(t *testing.T) {
	s := newBench(t).open()
	first, h1 := mustSelect(t, s, chat, "", "INT-1")
	second, h2 := mustSelect(t, s, chat, "", "INT-2")
	for _, c := range []session.Caller{chat, other, modern} {
		if mustResolve(t, s, c, h1, "") != first || mustResolve(t, s, c, h2, "INT-2") != second {
			t.Fatalf("a handle does not name its session for %v", c)
		}
	}
}

func TestAnUnknownHandleIsExpiredAlsoWhereTheConnectionHasASelection(t *testing.T) {
	s := newBench(t).open()
	mustSelect(t, s, chat, "", "INT-1")
	for _, handle := range []string{
		"ses_" + strings.Repeat("a", 32), "ses_", "x", "ses_../../../../etc/passwd", strings.Repeat("a", 36),
		"ses_" + strings.Repeat("A", 32), strings.Repeat("ses_", 1<<16),
	} {
		wantError(t, s, chat, handle, "", session.ErrExpired)
	}
}

func TestInitializeEraFindsTheOneLiveSelectionOfItsConnection(t *testing.T) {
	s := newBench(t).open()
	sess, _ := mustSelect(t, s, chat, "", "INT-1")
	check.Must(t, mustResolve(t, s, chat, "", "") == sess && mustResolve(t, s, chat, "", "INT-1") == sess, "not the connection's selection")
	wantError(t, s, other, "", "", session.ErrNone)
}

func TestWithSeveralLiveSelectionsACallWithNeitherIsRefusedNamingThem(t *testing.T) {
	s := newBench(t).open()
	first, h1 := mustSelect(t, s, chat, "", "INT-1")
	second, h2 := mustSelect(t, s, chat, "", "INT-2")
	check.Must(t, mustResolve(t, s, chat, "", "INT-1") == first && mustResolve(t, s, chat, "", "INT-2") == second, "intent_id does not choose")
	_, err := s.Resolve(chat, "", "")
	var ambiguous *session.AmbiguousError
	check.Must(t, errors.As(err, &ambiguous) && len(ambiguous.Live) == 2, "got %v", err)
	if text := err.Error(); !strings.Contains(text, "INT-1") || !strings.Contains(text, "INT-2") || strings.Contains(text, "ses_") {
		t.Errorf("error text %q", text)
	}
	for _, part := range []string{`intent_id "INT-1"`, `session "` + h1 + `"`, `intent_id "INT-2"`, `session "` + h2 + `"`} {
		check.That(t, strings.Contains(ambiguous.Remedy(), part), "remedy %q lacks %s", ambiguous.Remedy(), part)
	}
}

func TestTwoLiveSelectionsOfOneIntentAreToldApartByHandleOnly(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, chat, "", "INT-1")
	mustSelect(t, s, chat, "", "INT-2")
	mustSelect(t, s, chat, h1, "INT-2")
	_, err := s.Resolve(chat, "", "INT-2")
	var ambiguous *session.AmbiguousError
	if !errors.As(err, &ambiguous) || strings.Contains(ambiguous.Remedy(), "intent_id") || !strings.Contains(ambiguous.Remedy(), h1) {
		t.Fatalf("got %v", err)
	}
}

func TestAModernRequestWithoutAHandleHasNoState(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, modern, "", "INT-1")
	_, h2 := mustSelect(t, s, modern, "", "INT-1")
	check.Must(t, h1 != h2, "two modern selections share a handle")
	wantError(t, s, modern, "", "", session.ErrNone)
	wantError(t, s, modern, "", "INT-1", session.ErrNone)
}

func TestNothingIsKeyedByAnEmptySessionID(t *testing.T) {
	s := newBench(t).open()
	saw(s.Observers(modern, ""), "a.go", hash(1), 3, 1, 3)
	sess, _ := mustSelect(t, s, modern, "", "INT-1")
	wantSeen(t, sess, "a.go", "unseen")
	saw(s.Observers(modern, ""), "b.go", hash(1), 3, 1, 3)
	wantSeen(t, sess, "b.go", "unseen")
	check.Must(t, s.Untracked(modern) == nil, "a request without connection has views")
	s.Disconnect("")
	check.Must(t, s.Handle(modern, sess) == "", "a handle is found without a connection")
}

func TestStateBelongsToThePrincipal(t *testing.T) {
	b := newBench(t)
	s := b.open()
	alice := session.Caller{Connection: "shared", Principal: "alice"}
	eve := session.Caller{Connection: "shared", Principal: "eve"}
	nobody := session.Caller{Connection: "shared"}
	sess, handle := mustSelect(t, s, alice, "", "INT-1")
	for _, c := range []session.Caller{eve, nobody} {
		for _, store := range []*session.Store{s, b.open()} {
			wantError(t, store, c, handle, "", session.ErrExpired)
			_, _, err := store.Select(context.Background(), c, handle, "INT-2", "")
			check.Must(t, errors.Is(err, session.ErrExpired), "selecting with a foreign handle: %v", err)
			saw(store.Observers(c, handle), "a.go", hash(1), 3, 1, 3)
			wantError(t, store, c, "", "", session.ErrNone)
		}
	}
	wantSeen(t, sess, "a.go", "unseen")
	check.Must(t, mustResolve(t, s, alice, handle, "") == sess, "the owner lost the session")
}

func TestStateHolds(t *testing.T) {
	b := newBench(t)
	s := b.open()
	_, handle, err := s.Select(context.Background(), chat, "", "INT-1", "AST_REFACTOR")
	check.OK(t, err)
	for _, store := range []*session.Store{s, b.open()} {
		sess := mustResolve(t, store, modern, handle, "")
		is := b.listed()
		if sess.IntentID() != "INT-1" || sess.MutationClass() != "AST_REFACTOR" || is.ClientName != "roo" || is.ClientVersion != "3.1" || sess.ModelID() != "m-1" {
			t.Fatalf("state: %s %s %+v", sess.MutationClass(), sess.ModelID(), is)
		}
		since := b.now().Sub(is.StartedAt)
		check.Must(t, since >= 0 && since <= time.Second, "started %v ago", since)
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`).MatchString(sess.PublicID()) {
			t.Fatalf("public id %s", sess.PublicID())
		}
	}
}

func TestWhatWasSeenIsWholeHashAndLines(t *testing.T) {
	sess, _ := mustSelect(t, newBench(t).open(), chat, "", "INT-1")
	for _, step := range []struct {
		hash, from, to int
		want           string
	}{
		{1, 1, 10, "1 whole=false [[1 10]]/30"},
		{1, 21, 40, "1 whole=false [[1 10] [21 30]]/30"},
		{1, 11, 20, "1 whole=true [[1 30]]/30"},
		{2, 5, 6, "2 whole=false [[5 6]]/30"},
		{3, 31, 30, "3 whole=false []/30"},
	} {
		sess.Saw("a.go", hash(step.hash), 30, step.from, step.to)
		wantSeen(t, sess, "a.go", step.want)
	}
	sess.Saw("empty", hash(4), 0, 1, 0)
	wantSeen(t, sess, "empty", "4 whole=true []/0")
}

func TestOwnWritesCountAsSeen(t *testing.T) {
	sess, _ := mustSelect(t, newBench(t).open(), chat, "", "INT-1")
	sess.Wrote("a.go", hash(1))
	wantSeen(t, sess, "a.go", "1 whole=true []/0")
	sess.Saw("a.go", hash(1), 9, 2, 3)
	wantSeen(t, sess, "a.go", "1 whole=true [[2 3]]/9")
	sess.Forgot("a.go")
	wantSeen(t, sess, "a.go", "unseen")
}

func TestHandlesSurviveARestart(t *testing.T) {
	b := newBench(t)
	s := b.open()
	sess, handle := mustSelect(t, s, chat, "", "INT-1")
	killed := b.open() // the first process is not closed: it was killed
	again := mustResolve(t, killed, other, handle, "")
	check.Must(t, again.PublicID() == sess.PublicID() && again.IntentID() == "INT-1", "another session after the restart")
	wantError(t, b.open(), chat, "", "", session.ErrNone) // a connection is new after a restart
}
