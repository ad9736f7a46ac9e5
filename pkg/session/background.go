package session

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

const (
	flushAfter     = 200 * time.Millisecond
	flushShare     = 20 // at most one part in so many of the time goes into saving
	tidyEvery      = time.Hour
	maxLoadedViews = 200_000 // file views in memory, over all sessions
)

// background saves what was seen, and tidies up. It does nothing, and costs nothing, while there is nothing to do.
type background struct {
	store *Store

	mu      sync.Mutex
	changed map[*Session]struct{}
	planned bool
	closed  bool
	delay   time.Duration
	tidied  time.Time

	running sync.Mutex
}

func newBackground(s *Store) *background {
	return &background{store: s, changed: map[*Session]struct{}{}, delay: flushAfter}
}

// dirty notes that a session has seen something.
func (b *background) dirty(sess *Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed[sess] = struct{}{}
	b.plan()
}

// selected notes that there may be something to tidy up.
func (b *background) selected() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tidyDue() {
		b.plan()
	}
}

func (b *background) tidyDue() bool { return b.store.Clock().Sub(b.tidied).Abs() >= tidyEvery }

func (b *background) plan() {
	if b.planned || b.closed {
		return
	}
	b.planned = true
	time.AfterFunc(b.delay, b.run)
}

func (b *background) run() {
	b.running.Lock()
	defer b.running.Unlock()
	b.mu.Lock()
	b.planned = false
	closed, tidy := b.closed, b.tidyDue()
	if tidy {
		b.tidied = b.store.Clock()
	}
	b.mu.Unlock()
	if closed {
		return
	}
	began := time.Now()
	if err := b.flush(); err != nil {
		b.store.Logger.Warn().Err(err).Msg("what sessions have seen could not be saved: after a restart they have to read again")
	}
	b.store.boundViews()
	if tidy {
		b.store.tidy()
	}
	b.mu.Lock()
	b.delay = max(flushAfter, flushShare*time.Since(began))
	b.mu.Unlock()
}

// flush saves every changed session; it goes on after a failure, and does not try it again until the
// session sees something more.
func (b *background) flush() error {
	b.mu.Lock()
	changed := b.changed
	b.changed = map[*Session]struct{}{}
	b.mu.Unlock()
	var failed []error
	for sess := range changed {
		if err := sess.saveViews(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("session %s: %w", sess.PublicID(), err))
		}
	}
	return errors.Join(failed...)
}

func (b *background) close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.running.Lock()
	defer b.running.Unlock()
	return b.flush()
}
