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
	var ambiguous *session.MismatchError
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
	var ambiguous *session.MismatchError
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

func TestSelectingAgainWithoutSessionContinuesTheLiveSelection(t *testing.T) {
	s := newBench(t).open()
	sess, handle := mustSelect(t, s, chat, "", "INT-1")
	mustSelect(t, s, chat, "", "INT-2")
	sess.Wrote("a.go", hash(1))
	same, again := mustSelect(t, s, chat, "", "INT-1")
	check.Must(t, same == sess && again == handle, "another session or handle")
	wantSeen(t, same, "a.go", "1 whole=true []/0")
	_, elsewhere := mustSelect(t, s, other, "", "INT-1")
	check.Must(t, elsewhere != handle, "a selection is shared by two connections")
}

func TestSelectingAgainKeepsOrReplacesTheClass(t *testing.T) {
	s := newBench(t).open()
	ctx := context.Background()
	for _, step := range []struct{ intent, class, want string }{
		{"INT-1", "AST_REFACTOR", "AST_REFACTOR"},
		{"INT-1", "", "AST_REFACTOR"},
		{"INT-1", "INTENT_EVOLUTION", "INTENT_EVOLUTION"},
	} {
		sess, _, err := s.Select(ctx, chat, "", step.intent, step.class)
		check.Must(t, err == nil && sess.MutationClass() == step.want, "%v: %s, %v", step, sess.MutationClass(), err)
	}
	handle := s.Handle(chat, mustResolve(t, s, chat, "", ""))
	sess, _, err := s.Select(ctx, chat, handle, "INT-2", "")
	check.Must(t, err == nil && sess.MutationClass() == "", "another intent keeps the class %q, %v", sess.MutationClass(), err)
}

func TestSelectingWithSessionReplacesItsIntent(t *testing.T) {
	for name, c := range map[string]session.Caller{"initialize era": chat, "modern": modern} {
		t.Run(name, func(t *testing.T) {
			s := newBench(t).open()
			sess, handle := mustSelect(t, s, c, "", "INT-1")
			public := sess.PublicID()
			same, again := mustSelect(t, s, c, handle, "INT-2")
			check.Must(t, same == sess && again == handle && same.PublicID() == public, "not the same session")
			check.Must(t, mustResolve(t, s, c, handle, "").IntentID() == "INT-2", "not replaced")
			var mismatch *session.MismatchError
			_, err := s.Resolve(c, handle, "INT-1")
			check.Must(t, errors.As(err, &mismatch), "the old intent: %v", err)
		})
	}
}

func TestSelectingWithSessionMakesItASelectionOfTheConnection(t *testing.T) {
	b := newBench(t)
	_, handle := mustSelect(t, b.open(), chat, "", "INT-1")
	s := b.open()
	sess, _ := mustSelect(t, s, other, handle, "INT-1")
	check.Must(t, mustResolve(t, s, other, "", "") == sess && s.Handle(other, sess) == handle, "not selected on this connection")
}

func TestASelectionEndsWhenItsIntentIsDoneOrBlocked(t *testing.T) {
	for name, end := range map[string]func(*bench, *session.Store){
		"by a tool":           func(_ *bench, s *session.Store) { s.EndIntent("INT-1") },
		"by another process":  func(b *bench, _ *session.Store) { b.open().EndIntent("INT-1") },
		"by hand in the file": func(b *bench, _ *session.Store) { b.setEnded("INT-1", true) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.open()
			sess, handle := mustSelect(t, s, chat, "", "INT-1")
			sess.Wrote("a.go", hash(1))
			mustSelect(t, s, other, "", "INT-2")
			end(b, s)
			for _, h := range []string{handle, ""} {
				var ended *session.EndedError
				_, err := s.Resolve(chat, h, "")
				check.Must(t, errors.As(err, &ended) && ended.IntentID == "INT-1" && isEnded(err), "Resolve(%q): %v", h, err)
			}
			mustResolve(t, s, other, "", "")
			b.setEnded("INT-1", false)
			wantEnded(t, s, chat, handle, "") // reopening revives nothing
			wantEnded(t, b.open(), chat, handle, "")
			again, _ := mustSelect(t, s, chat, handle, "INT-3")
			wantSeen(t, again, "a.go", "1 whole=true []/0")
			mustResolve(t, s, chat, "", "INT-3")
		})
	}
}

func TestAnEndedSelectionIsNotContinued(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, chat, "", "INT-1")
	s.EndIntent("INT-1")
	_, h2 := mustSelect(t, s, chat, "", "INT-1")
	check.Must(t, h1 != h2, "continued")
	mustResolve(t, s, chat, "", "") // the ended one does not make it ambiguous
}

func TestAMismatchGivesTheExactArgumentToAdd(t *testing.T) {
	s := newBench(t).open()
	_, h1 := mustSelect(t, s, chat, "", "INT-1")
	var mismatch *session.MismatchError
	check := func(handle, intentID string, want ...string) {
		t.Helper()
		_, err := s.Resolve(chat, handle, intentID)
		check.Must(t, errors.As(err, &mismatch), "got %v", err)
		check.Must(t, !strings.Contains(err.Error(), "ses_"), "a handle in the error's text: %q", err)
		for _, part := range want {
			check.Must(t, strings.Contains(mismatch.Remedy(), part), "remedy %q lacks %s", mismatch.Remedy(), part)
		}
	}
	check("", "INT-2", `intent_id "INT-1"`, `select_active_intent with intent_id "INT-2"`, `session "`+h1+`"`)
	check(h1, "INT-2", `intent_id "INT-1"`, h1)
	_, h2 := mustSelect(t, s, chat, "", "INT-2")
	check(h1, "INT-2", `session "`+h2+`"`)
	check("", "INT-3", `intent_id "INT-1"`, `intent_id "INT-2"`, `select_active_intent with intent_id "INT-3"`)
}

func TestWhatWasReadBeforeTheFirstSelectionBelongsToIt(t *testing.T) {
	s := newBench(t).open()
	saw(s.Observers(chat, ""), "a.go", hash(1), 3, 1, 3)
	saw(s.Observers(other, ""), "b.go", hash(1), 3, 1, 3)
	wantSeen(t, s.Untracked(chat), "a.go", "1 whole=true [[1 3]]/3")
	first, _ := mustSelect(t, s, chat, "", "INT-1")
	second, _ := mustSelect(t, s, chat, "", "INT-2")
	wantSeen(t, first, "a.go", "1 whole=true [[1 3]]/3")
	wantSeen(t, first, "b.go", "unseen")
	wantSeen(t, second, "a.go", "unseen")
}

func TestAReadUnderWayDuringTheFirstSelectionCountsForNoLaterOne(t *testing.T) {
	s := newBench(t).open()
	underWay := s.Observers(chat, "")
	mustSelect(t, s, chat, "", "INT-1")
	saw(underWay, "a.go", hash(1), 3, 1, 3)
	second, _ := mustSelect(t, s, chat, "", "INT-2")
	wantSeen(t, second, "a.go", "unseen")
}

func TestLaterReadsWithoutAHandleCountForEveryLiveSelection(t *testing.T) {
	s := newBench(t).open()
	first, h1 := mustSelect(t, s, chat, "", "INT-1")
	second, _ := mustSelect(t, s, chat, "", "INT-2")
	elsewhere, _ := mustSelect(t, s, other, "", "INT-1")
	saw(s.Observers(chat, ""), "a.go", hash(1), 3, 1, 3)
	saw(s.Observers(chat, h1), "b.go", hash(1), 3, 1, 3)
	for _, sess := range []*session.Session{first, second} {
		wantSeen(t, sess, "a.go", "1 whole=true [[1 3]]/3")
		wantSeen(t, elsewhere, "a.go", "unseen")
	}
	wantSeen(t, first, "b.go", "1 whole=true [[1 3]]/3")
	wantSeen(t, second, "b.go", "unseen")
}

func TestDisconnectForgetsTheConnectionAndKeepsTheHandle(t *testing.T) {
	s := newBench(t).open()
	_, handle := mustSelect(t, s, chat, "", "INT-1")
	s.Disconnect(chat.Connection)
	wantError(t, s, chat, "", "", session.ErrNone)
	mustResolve(t, s, chat, handle, "")
}
