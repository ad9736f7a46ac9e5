package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Select selects an intent, and returns the session and the handle that the agent passes from now on.
//
// With a handle the session's intent is replaced. Without one, an intent that is live on the caller's connection is
// continued: same session, same handle. Everything else is a new session. An empty class keeps the one that was
// declared with the same intent. The caller has checked that the intent may be selected.
//
// Errors: ErrExpired for the handle; ErrNotSaved, after which nothing has changed; the context's own.
func (s *Store) Select(ctx context.Context, c Caller, handle, intentID, class string) (*Session, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if intentID == "" || len(intentID) > maxFieldBytes {
		return nil, "", fmt.Errorf("%w: %q is not an intent id", ErrNotSaved, bounded(intentID))
	}
	sess, handle, err := s.reselect(c, handle, intentID, class)
	if err == nil && sess == nil {
		sess, handle, err = s.start(c, intentID, class)
	}
	if err != nil {
		return nil, "", err
	}
	s.attach(c, sess, handle)
	s.background.selected()
	return sess, handle, nil
}

// reselect selects within the session that the handle or the connection gives; nil if neither does.
func (s *Store) reselect(c Caller, handle, intentID, class string) (*Session, string, error) {
	var sess *Session
	if handle != "" {
		var err error
		if sess, err = s.find(c, handle); err != nil {
			return nil, "", err
		}
	} else if sess, handle = s.continued(c, intentID); sess == nil {
		return nil, "", nil
	}
	if err := sess.selectAgain(c, intentID, class); err != nil {
		return nil, "", fmt.Errorf("%w: %v", ErrNotSaved, err)
	}
	return sess, handle, nil
}

// continued is the latest live selection of an intent on the caller's connection.
func (s *Store) continued(c Caller, intentID string) (*Session, string) {
	live, _ := s.live(s.selections(c))
	for _, choice := range slices.Backward(live) {
		if choice.IntentID == intentID {
			return choice.session, choice.Handle
		}
	}
	return nil, ""
}

func (sess *Session) selectAgain(c Caller, intentID, class string) error {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sel := *sess.selection.Load()
	if class != "" || sel.IntentID != intentID {
		sel.MutationClass = bounded(class)
	}
	sel.IntentID, sel.Ended, sel.Server = intentID, false, sess.store.Server
	sel.describe(c)
	return sess.saveLocked(sel, sess.store.Clock())
}

func (s *Store) start(c Caller, intentID, class string) (*Session, string, error) {
	handle := mintHandle()
	now := s.Clock()
	sel := selection{
		Version: formatVersion, PublicID: uuid.New(), IntentID: intentID, MutationClass: bounded(class),
		StartedAt: now.UTC(), Principal: principalMark(c.Principal), Server: s.Server,
	}
	sel.describe(c)
	key, _ := digestOf(handle)
	sess := s.newSession(key, sel)
	if err := sess.saveLocked(sel, now); err != nil { // nobody else has it yet
		return nil, "", fmt.Errorf("%w: %v", ErrNotSaved, err)
	}
	return s.keep(sess), handle, nil
}

// describe notes what the client says of itself; what it does not say stays as it was.
func (sel *selection) describe(c Caller) {
	if c.ClientName != "" {
		sel.ClientName, sel.ClientVersion = bounded(c.ClientName), bounded(c.ClientVersion)
	}
	if c.ModelID != "" && (sel.ModelID == "" || c.ModelSource.surer(sel.ModelSource)) {
		sel.ModelID, sel.ModelSource = bounded(c.ModelID), c.ModelSource
	}
}
