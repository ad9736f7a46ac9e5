package session

import "slices"

// Resolve finds the state of a call. Errors: ErrExpired, ErrNone, *EndedError, *AmbiguousError,
// *MismatchError. It renews the idle lifetime of what it finds.
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
		return nil, &AmbiguousError{Live: meant}
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
