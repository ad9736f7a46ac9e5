package workspace

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// pathLocks serialises the writers of one path within the process. Between processes the inode's own lock
// does; within one it would too, but by polling.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	slot  chan struct{} // capacity 1: full while held
	users int           // holders and waiters, so that the last one can remove the entry
}

func newPathLocks() *pathLocks { return &pathLocks{held: map[string]*pathLock{}} }

// acquire takes the locks of all paths, which the caller has sorted: two calls that need the same paths ask
// for them in the same order and cannot wait for each other.
func (l *pathLocks) acquire(ctx context.Context, sorted []string, limit time.Duration) (release func(), err error) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for i, path := range sorted {
		lock := l.enter(path)
		select {
		case lock.slot <- struct{}{}:
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-deadline.C:
			err = pathError("lock", path, fmt.Errorf("%w: another call of this server has been changing it for %v; try again", ErrBusy, limit))
		}
		l.leave(path)
		l.release(sorted[:i])
		return nil, err
	}
	return sync.OnceFunc(func() { l.release(sorted) }), nil
}

func (l *pathLocks) enter(path string) *pathLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.held[path]
	if lock == nil {
		lock = &pathLock{slot: make(chan struct{}, 1)}
		l.held[path] = lock
	}
	lock.users++
	return lock
}

func (l *pathLocks) leave(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.held[path]
	if lock.users--; lock.users == 0 {
		delete(l.held, path)
	}
}

func (l *pathLocks) release(paths []string) {
	for _, path := range paths {
		l.mu.Lock()
		lock := l.held[path]
		l.mu.Unlock()
		<-lock.slot
		l.leave(path)
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
