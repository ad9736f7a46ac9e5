package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

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
