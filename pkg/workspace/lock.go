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
	// by is what has it: lockFile, or where there is none, or the system has no locks of bytes, the file itself, that somebody
	// else closes.
	by     *os.File
	itself bool
	of     durable.Stat
}

// errNoState: the workspace has no directory for the state, or not of its own; then no change has a record either.
var errNoState = errors.New("no state")

// lockFiles is lockFile, opened with the first lock, for all locks of one set of changes: many need no descriptors each. The
// locks of one set do not exclude each other. It is closed when all of them have been released.
type lockFiles struct {
	w     *Workspace
	mu    sync.Mutex
	state *durable.Dir
	files []*os.File // all but the last have been removed
	gone  bool       // the last too
}

func (l *lockFiles) close() {
	for _, f := range l.files {
		f.Close()
	}
	if l.state != nil {
		l.state.Close()
	}
	l.files, l.state = nil, nil
}

// tryLock locks an open file.
func (l *lockFiles) tryLock(f *os.File, st durable.Stat) (lock, error) {
	if !l.w.abilities.lock {
		return lock{held: true}, nil
	}
	if durable.LocksOf {
		if lock, err := l.tryLockOf(st); !errors.Is(err, durable.ErrUnsupported) && !errors.Is(err, errNoState) {
			return lock, err
		}
	}
	ok, err := durable.TryLock(f)
	if errors.Is(err, durable.ErrUnsupported) {
		l.w.log.once("lock", "the file system has no file locks: writers are serialised within this process only", err)
		return lock{held: true}, nil
	}
	return lock{held: ok, by: f, itself: true}, err
}

func (l *lockFiles) tryLockOf(st durable.Stat) (lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := l.current()
	if err != nil {
		return lock{}, err
	}
	ok, err := durable.TryLockOf(file, st)
	if !ok || err != nil {
		return lock{}, err
	}
	// A lock in a file that was removed meanwhile excludes nobody.
	opened, err := durable.StatFile(file)
	if l.gone = err == nil && !is(l.state, lockFile, opened); l.gone || err != nil {
		durable.UnlockOf(file, st)
		return lock{}, err
	}
	return lock{held: true, by: file, of: st}, nil
}

// current is the file that is there, as far as is known.
func (l *lockFiles) current() (_ *os.File, err error) {
	if n := len(l.files); n > 0 && !l.gone {
		return l.files[n-1], nil
	}
	if l.state != nil { // which may be another one by now
		l.state.Close()
	}
	l.state, err = l.w.openState()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, errNoState
	}
	if err != nil {
		return nil, err
	}
	file, err := l.state.OpenLock(lockFile)
	if err == nil {
		l.files, l.gone = append(l.files, file), false
	}
	return file, err
}

func (l lock) release() {
	switch {
	case l.by == nil || !l.held:
	case l.itself:
		_ = durable.Unlock(l.by) // explicitly, since a child between fork and exec may have a copy of the descriptor
	default:
		durable.UnlockOf(l.by, l.of)
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
	locks := lockFiles{w: w}
	defer locks.close()
	l, err := locks.tryLock(f, st)
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
