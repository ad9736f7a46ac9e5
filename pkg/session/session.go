package session

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Session is one selection: the intent that an agent works under, and what it has seen. All methods
// are safe for concurrent use, and cheap: none touches the disk.
type Session struct {
	*Views

	store     *Store
	key       digest
	selection atomic.Pointer[selection]
	used      atomic.Int64 // nanoseconds of the last use

	mu        sync.Mutex  // one save or reload at a time
	onDisk    os.FileInfo // the selection file as last read or written; nil if there is none
	viewsDisk os.FileInfo // likewise
	renewed   time.Time   // last use that is on disk
}

func (s *Store) newSession(key digest, sel selection) *Session {
	sess := &Session{store: s, key: key}
	sess.selection.Store(&sel)
	sess.Views = newViews(maxSeenFiles, s.Clock, func() { s.background.dirty(sess) })
	return sess
}

// Selected is a session of no store, which has selected an intent: for a call that is judged and not made.
func Selected(intentID string) *Session {
	sess := &Session{}
	sess.selection.Store(&selection{IntentID: intentID})
	return sess
}

// PublicID names the session in the ledger: a UUID that gives no access.
func (sess *Session) PublicID() string { return sess.selection.Load().PublicID.String() }

// IntentID is the selected intent.
func (sess *Session) IntentID() string { return sess.selection.Load().IntentID }

// MutationClass is the class declared at selection; "" if none was.
func (sess *Session) MutationClass() string { return sess.selection.Load().MutationClass }

// ModelID is the model known at selection; "" if none was.
func (sess *Session) ModelID() string { return sess.selection.Load().ModelID }

// ModelSource says where ModelID was told.
func (sess *Session) ModelSource() ModelSource { return sess.selection.Load().ModelSource }

// ExpiresIn is how long the handle lives on if it is not used.
func (sess *Session) ExpiresIn() time.Duration { return max(0, sess.store.Lifetime-sess.idle()) }

func (sess *Session) idle() time.Duration {
	return sess.store.Clock().Sub(time.Unix(0, sess.used.Load()))
}

// expired also distrusts a last use that lies far in the future: a clock that was put back, or a file
// that was tampered with, must not make a handle immortal.
func (sess *Session) expired() bool { return outlived(sess.idle(), sess.store.Lifetime) }

func outlived(idle, lifetime time.Duration) bool { return idle > lifetime || -idle > lifetime }

func (sess *Session) ended() bool { return sess.selection.Load().Ended }

func (sess *Session) belongsTo(c Caller) bool {
	return sess.selection.Load().Principal == principalMark(c.Principal)
}
