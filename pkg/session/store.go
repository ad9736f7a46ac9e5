package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/session/order"
)

// DefaultLifetime is how long a handle lives without being used.
const DefaultLifetime = 24 * time.Hour

const (
	renewEvery     = time.Minute // how often a use is noted on disk
	maxLoaded      = 1_024       // sessions in memory, per principal
	maxConnections = 1_024       // per principal
	principalsHeld = 16          // as many times that of all principals
	maxSelections  = 64          // per connection
)

// Options are the parts of a Store that have a default.
type Options struct {
	Lifetime time.Duration    // idle lifetime of a handle; default DefaultLifetime
	Clock    func() time.Time // default time.Now
	Logger   zerolog.Logger   // the zero value is silent
	Server   string           // names this process in what List gives; "" for none
	// Ended reports whether an intent is known to be done or blocked; nil: none is. What cannot be
	// read or does not exist has not ended. It is asked at each use, never under a lock.
	Ended func(intentID string) bool
}

// Store holds the sessions of one workspace. All methods are safe for concurrent use.
type Store struct {
	Options
	disk       *disk
	background *background
	queue      order.Queue

	mu          sync.Mutex
	loaded      map[digest]*Session
	connections map[connectionID]*connection
}

// Open returns the store of a workspace without touching it: files are looked at when first needed, and made when first
// needed where .orchestration exists. A nil workspace keeps everything in memory. The workspace must stay open until Close.
func Open(workspace *os.Root, o Options) *Store {
	if o.Lifetime <= 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Ended == nil {
		o.Ended = func(string) bool { return false }
	}
	s := &Store{Options: o, disk: &disk{workspace: workspace}, loaded: map[digest]*Session{}, connections: map[connectionID]*connection{}}
	s.background = newBackground(s)
	return s
}

// Close saves what was seen. The store must not be used afterwards; what still is, stays in memory.
func (s *Store) Close() error {
	err := s.background.close()
	s.disk.close()
	return err
}

// find returns the session of a handle, as it is on disk now.
func (s *Store) find(c Caller, handle string) (*Session, error) {
	key, ok := digestOf(handle)
	if !ok {
		return nil, ErrExpired
	}
	sess := s.current(key)
	if sess == nil || !sess.belongsTo(c) {
		return nil, ErrExpired
	}
	return sess, nil
}

// current returns a session in the state that any process left it in, or nil if it is no more.
func (s *Store) current(key digest) *Session {
	sess := s.cached(key)
	if sess == nil {
		return s.load(key)
	}
	if err := sess.refresh(); err != nil {
		s.Logger.Warn().Err(err).Str("session", sess.PublicID()).Msg("session state cannot be read: its handle has expired")
		s.unload(sess)
		return nil
	}
	if sess.expired() {
		s.drop(sess)
		return nil
	}
	return sess
}

func (s *Store) cached(key digest) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[key]
}

// load reads a session from disk. Somebody who loads it at the same time gets the same one.
func (s *Store) load(key digest) *Session {
	sel, info, err := s.disk.readSelection(key.selectionFile())
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.Logger.Warn().Err(err).Str("file", key.selectionFile()).Msg("session state cannot be read: its handle has expired")
		}
		return nil
	}
	sess := s.newSession(key, sel)
	sess.onDisk, sess.renewed = info, info.ModTime()
	sess.used.Store(info.ModTime().UnixNano())
	if sess.expired() {
		s.drop(sess)
		return nil
	}
	sess.refreshViews()
	return s.keep(sess)
}

// keep holds a session in memory; it returns the one that is held already, if there is one.
func (s *Store) keep(sess *Session) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.loaded[sess.key]; held != nil {
		return held
	}
	// Whoever floods the server with selections unloads nobody else's. What is on disk can be loaded again.
	principal := sess.selection.Load().Principal
	makeRoom(s.loaded, maxLoaded, func(_ digest, sess *Session) (int64, bool) {
		return sess.used.Load(), sess.selection.Load().Principal == principal
	})
	s.loaded[sess.key] = sess
	return sess
}

// makeRoom takes out the longest unused of a principal's, where there are too many, and of all where these are. used gives
// when something was last used, and whether it is the principal's.
func makeRoom[K comparable, V any](all map[K]V, limit int, used func(K, V) (at int64, counts bool)) {
	var own, any oldest[K]
	for key, value := range all {
		at, counts := used(key, value)
		any.see(key, at)
		if counts {
			own.see(key, at)
		}
	}
	switch {
	case own.count >= limit:
		delete(all, own.key)
	case any.count >= principalsHeld*limit:
		delete(all, any.key)
	}
}

// oldest is the longest unused of those that it has seen.
type oldest[K comparable] struct {
	key   K
	at    int64
	count int
}

func (o *oldest[K]) see(key K, at int64) {
	if o.count++; o.count == 1 || at < o.at {
		o.key, o.at = key, at
	}
}

// unload takes a session out of memory, drop out of existence.
func (s *Store) unload(sess *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded[sess.key] == sess {
		delete(s.loaded, sess.key)
	}
}

func (s *Store) drop(sess *Session) {
	s.unload(sess)
	s.disk.remove(sess.key.selectionFile())
	s.disk.remove(sess.key.viewsFile())
}

// readSelection reads a selection file.
func (d *disk) readSelection(name string) (selection, os.FileInfo, error) {
	data, info, err := d.read(name, maxSelectionSize)
	if err != nil {
		return selection{}, nil, err
	}
	sel, err := parseSelection(data)
	if err != nil {
		return selection{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return sel, info, nil
}
