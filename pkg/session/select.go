package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Resolve finds the state of a call. Errors: ErrExpired, ErrNone, *EndedError, *MismatchError.
// It renews the idle lifetime of what it finds.
//
// intentID is the call's intent_id where that names the selection that is meant; it never selects.
func (s *Store) Resolve(c Caller, handle, intentID string) (*Session, error) {
	find := s.resolveConnection
	if handle != "" {
		find = s.resolveHandle
	}
	sess, err := find(c, handle, intentID)
	if err == nil {
		sess.use()
	}
	return sess, err
}

func (s *Store) resolveHandle(c Caller, handle, intentID string) (*Session, error) {
	sess, err := s.find(c, handle)
	if err != nil {
		return nil, err
	}
	if s.hasEnded(sess) {
		return nil, &EndedError{IntentID: sess.IntentID()}
	}
	if intentID != "" && sess.IntentID() != intentID {
		live, _ := s.live(s.selections(c))
		return nil, &MismatchError{Given: intentID, Selected: &Choice{sess.IntentID(), handle, sess}, Live: live}
	}
	return sess, nil
}

func (s *Store) resolveConnection(c Caller, _, intentID string) (*Session, error) {
	live, endedIntent := s.live(s.selections(c))
	if len(live) == 0 {
		if endedIntent != "" {
			return nil, &EndedError{IntentID: endedIntent}
		}
		return nil, ErrNone
	}
	meant := live
	if intentID != "" {
		meant = slices.DeleteFunc(slices.Clone(live), func(c Choice) bool { return c.IntentID != intentID })
	}
	switch {
	case len(meant) == 1:
		return meant[0].session, nil
	case len(meant) > 1:
		return nil, &MismatchError{Live: meant}
	}
	mismatch := &MismatchError{Given: intentID, Live: live}
	if len(live) == 1 {
		mismatch.Selected = &mismatch.Live[0]
	}
	return nil, mismatch
}

// live picks the selections that have neither expired nor ended, and names the intent of the latest that has ended.
func (s *Store) live(selections []selected) (live []Choice, endedIntent string) {
	for _, sel := range selections {
		sess := s.current(sel.key)
		if sess == nil {
			continue
		}
		if s.hasEnded(sess) {
			endedIntent = sess.IntentID()
			continue
		}
		live = append(live, Choice{sess.IntentID(), sel.handle, sess})
	}
	return live, endedIntent
}

// hasEnded also notices an intent that a person set to done in the file. The selection is ended for
// good then: setting the intent back does not bring it to life again.
func (s *Store) hasEnded(sess *Session) bool {
	if intentID := sess.IntentID(); !sess.ended() && s.Ended(intentID) {
		sess.end(intentID)
	}
	return sess.ended()
}

// Handle is what the caller can pass to name a session that it found without a handle; "" if the
// session was not selected on its connection.
func (s *Store) Handle(c Caller, sess *Session) string {
	for _, sel := range s.selections(c) {
		if sel.key == sess.key {
			return sel.handle
		}
	}
	return ""
}

// Observers finds whose view a read counts for: the handle's session; else every live selection of
// the connection; else the connection itself, whose next selection inherits it; and nobody for a
// request without connection, or with a handle that does not serve.
func (s *Store) Observers(c Caller, handle string) (views []*Views) {
	if handle != "" {
		sess, err := s.find(c, handle)
		if err != nil {
			return nil
		}
		sess.use()
		return []*Views{sess.Views}
	}
	live, _ := s.live(s.selections(c))
	if len(live) == 0 {
		return []*Views{s.Untracked(c)}
	}
	for _, choice := range live {
		choice.session.use()
		views = append(views, choice.session.Views)
	}
	return views
}

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
