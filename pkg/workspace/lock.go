package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// lockFile is the file in .orchestration/state that stands for the files that are locked between processes. It is in the
// state because commands in a sandbox can open, and so lock, every file that they can read, but none of the state.
const lockFile = "files.lock"

// lock is one file's lock between processes. The zero value is none.
type lock struct {
	held bool
	// by is closed to give it up: a descriptor of lockFile, or where there is none, or the system has no locks of bytes, one
	// of the file itself that somebody else closes.
	by     *os.File
	itself bool
}

// errNoState: the workspace has no directory for the state, or not of its own; then no change has a record either.
var errNoState = errors.New("no state")

// tryLock locks an open file.
func (w *Workspace) tryLock(f *os.File, st durable.Stat) (lock, error) {
	if !w.abilities.lock {
		return lock{held: true}, nil
	}
	if durable.LocksOf {
		if l, err := w.tryLockOf(st); !errors.Is(err, durable.ErrUnsupported) && !errors.Is(err, errNoState) {
			return l, err
		}
	}
	ok, err := durable.TryLock(f)
	if errors.Is(err, durable.ErrUnsupported) {
		w.log.once("lock", "the file system has no file locks: writers are serialised within this process only", err)
		return lock{held: true}, nil
	}
	return lock{held: ok, by: f, itself: true}, err
}

func (w *Workspace) tryLockOf(st durable.Stat) (lock, error) {
	state, err := w.openState()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return lock{}, errNoState
	}
	if err != nil {
		return lock{}, err
	}
	defer state.Close()
	locks, err := state.OpenLock(lockFile)
	if err != nil {
		return lock{}, err
	}
	ok, err := durable.TryLockOf(locks, st)
	if ok {
		// A lock in a file that was removed meanwhile excludes nobody.
		opened, statErr := durable.StatFile(locks)
		ok, err = statErr == nil && is(state, lockFile, opened), statErr
	}
	if !ok || err != nil {
		return lock{}, errors.Join(err, locks.Close())
	}
	return lock{held: true, by: locks}, nil
}

func (l lock) release() {
	switch {
	case l.by == nil || !l.held:
	case l.itself:
		_ = durable.Unlock(l.by) // explicitly, since a child between fork and exec may have a copy of the descriptor
	default:
		durable.UnlockOf(l.by)
		l.by.Close()
	}
}

// Held reports whether a call of another server, or another of this one, is changing the file that a target is.
func (w *Workspace) Held(t *Target) bool {
	f, err := t.Open()
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := durable.StatFile(f)
	if err != nil {
		return false
	}
	l, err := w.tryLock(f, st)
	l.release()
	return err == nil && !l.held
}

// pathLocks serialises the writers of one path within the process. Between processes the inode's own lock
// does; within one it would too, but by polling.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is given back
}

// acquire takes the locks of all paths, which the caller has sorted: two calls that need the same paths ask
// for them in the same order and cannot wait for each other.
func (l *pathLocks) acquire(ctx context.Context, sorted []string, limit time.Duration) (release func(), err error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for i, path := range sorted {
		for busy := l.take(path); busy != nil && err == nil; {
			select {
			case <-busy:
				busy = l.take(path)
			case <-ctx.Done():
				err = ctx.Err()
			case <-deadline.C:
				err = pathError("lock", path, fmt.Errorf("%w: another call of this server has been changing it for %v; try again", ErrBusy, limit))
			}
		}
		if err != nil {
			l.release(sorted[:i])
			return nil, err
		}
	}
	return sync.OnceFunc(func() { l.release(sorted) }), nil
}

// take locks a path, or returns what is closed when it may be free.
func (l *pathLocks) take(path string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if busy := l.held[path]; busy != nil {
		return busy
	}
	l.held[path] = make(chan struct{})
	return nil
}

func (l *pathLocks) release(paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range paths {
		close(l.held[path])
		delete(l.held, path)
	}
}

// poll tries until it succeeds, with growing pauses, for at most limit. It reports false when time is up.
func poll(ctx context.Context, limit time.Duration, try func() (bool, error)) (bool, error) {
	start := time.Now()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return done, err
		}
		if time.Since(start) > limit {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pause):
		}
	}
}
