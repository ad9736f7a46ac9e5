package session

import "slices"

// liveSelection is a selection of a connection that a call can mean now.
type liveSelection struct {
	*Session
	handle string
}

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
		selected := liveSelection{sess, handle}.choice()
		return nil, &MismatchError{Given: intentID, Selected: &selected, Live: choices(live)}
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
		meant = slices.DeleteFunc(slices.Clone(live), func(l liveSelection) bool { return l.IntentID() != intentID })
	}
	switch {
	case len(meant) == 1:
		return meant[0].Session, nil
	case len(meant) > 1:
		return nil, &AmbiguousError{Live: choices(meant)}
	}
	mismatch := &MismatchError{Given: intentID, Live: choices(live)}
	if len(live) == 1 {
		mismatch.Selected = &mismatch.Live[0]
	}
	return nil, mismatch
}

// live picks the selections that have neither expired nor ended, and names the intent of the latest
// that has ended.
func (s *Store) live(selections []selected) (live []liveSelection, endedIntent string) {
	for _, sel := range selections {
		sess := s.current(sel.key)
		if sess == nil {
			continue
		}
		if s.hasEnded(sess) {
			endedIntent = sess.IntentID()
			continue
		}
		live = append(live, liveSelection{sess, sel.handle})
	}
	return live, endedIntent
}

// hasEnded also notices an intent that a person set to done in the file. The selection is ended for
// good then: setting the intent back does not bring it to life again.
func (s *Store) hasEnded(sess *Session) bool {
	if intentID := sess.IntentID(); !sess.ended() && s.endedNow(intentID) {
		sess.end(intentID)
	}
	return sess.ended()
}

func (l liveSelection) choice() Choice {
	return Choice{IntentID: l.IntentID(), PublicID: l.PublicID(), Handle: l.handle}
}

func choices(live []liveSelection) []Choice {
	all := make([]Choice, len(live))
	for i, l := range live {
		all[i] = l.choice()
	}
	return all
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

// Observer is those whose view a read counts for.
type Observer struct{ views []*Views }

// Observers finds whose view a read counts for: the handle's session; else every live selection of
// the connection; else the connection itself, whose next selection inherits it; and nobody for a
// request without connection, or with a handle that does not serve.
func (s *Store) Observers(c Caller, handle string) Observer {
	if handle != "" {
		sess, err := s.find(c, handle)
		if err != nil {
			return Observer{}
		}
		sess.use()
		return Observer{[]*Views{sess.Views}}
	}
	live, _ := s.live(s.selections(c))
	if len(live) == 0 {
		return Observer{[]*Views{s.Untracked(c)}}
	}
	var o Observer
	for _, l := range live {
		l.use()
		o.views = append(o.views, l.Views)
	}
	return o
}

// Saw records lines as delivered; see Views.Saw.
func (o Observer) Saw(path, hash string, total, from, to int) {
	for _, v := range o.views {
		v.Saw(path, hash, total, from, to)
	}
}

// Forgot records that a file is gone; see Views.Forgot.
func (o Observer) Forgot(path string) {
	for _, v := range o.views {
		v.Forgot(path)
	}
}
