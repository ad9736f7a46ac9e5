package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
	"sync/atomic"
)

// rotateDir has the files of the one rotation that is under way in a workspace. Whoever holds the lock on it may remove
// what a rotation that was killed left there.
const (
	rotateDir  = home + "/" + stateDir + "/rotate"
	rotateLock = home + "/" + stateDir + "/rotate.lock"
)

// tailShare is how much of SegmentSize stays in the file that is appended to: what was last is asked for most.
const tailShare = 8

// rotator moves lines into archives while the writer goes on.
type rotator struct {
	ctx    context.Context // ends when the Ledger is closed
	cancel context.CancelFunc
	busy   atomic.Bool
	done   sync.WaitGroup

	mu    sync.Mutex
	retry map[string]int64 // the length at which a file is tried again that could not be rotated
}

func newRotator() *rotator {
	ctx, cancel := context.WithCancel(context.Background())
	return &rotator{ctx: ctx, cancel: cancel, retry: map[string]int64{}}
}

// rotateLong begins a rotation if a file that was just appended to is long enough. It does not wait for it.
func (l *Ledger) rotateLong() {
	for name, s := range l.segments {
		if !l.tooLong(name, s.end) || !l.rotation.busy.CompareAndSwap(false, true) {
			continue
		}
		size, root := s.end, s.root
		l.rotation.done.Go(func() {
			defer l.rotation.busy.Store(false)
			err := l.rotate(l.rotation.ctx, root, name)
			l.rotation.note(name, err, size+l.opts.SegmentSize/tailShare)
			if err != nil && l.rotation.ctx.Err() == nil {
				l.opts.Logger.Warn().Err(err).Str("segment", name).
					Msg("the ledger could not be rotated into the archive; nothing is lost, and it is tried again later")
			}
		})
	}
}

func (l *Ledger) tooLong(name string, size int64) bool {
	if l.opts.SegmentSize < 0 || size <= l.opts.SegmentSize {
		return false
	}
	l.rotation.mu.Lock()
	defer l.rotation.mu.Unlock()
	return size >= l.rotation.retry[name]
}

// note puts off the next try after a failure until the file has grown again.
func (r *rotator) note(name string, err error, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retry, name)
	if err != nil {
		r.retry[name] = next
	}
}

// stop ends what has not come to the point of moving files, and waits for the rest.
func (r *rotator) stop() {
	r.cancel()
	r.done.Wait()
}

// Rotate moves the lines of each file that is longer than Options.SegmentSize into archives, and returns when it is
// done. Appends do so by themselves, in the background; this is for who wants to wait for it.
func (l *Ledger) Rotate(ctx context.Context) error {
	_ = l.Flush(ctx)
	at, err := l.here()
	if err != nil {
		return fmt.Errorf("rotate the ledger: %w", err)
	}
	names, err := segmentNames(at.root)
	if err != nil {
		return fmt.Errorf("rotate the ledger: %w", err)
	}
	places, _ := look(at.root, names)
	var failed []error
	for _, place := range places {
		if l.opts.SegmentSize > 0 && place.info.Size() > l.opts.SegmentSize {
			failed = append(failed, l.rotate(ctx, at.root, path.Join(home, place.name)))
		}
	}
	return errors.Join(failed...)
}

// rotate is for one file at a time and for one process at a time; where another one is at it, nothing is to do.
func (l *Ledger) rotate(ctx context.Context, root *os.Root, name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("rotate %s: %w", name, err)
		}
	}()
	release, err := tryRotation(root)
	if err != nil || release == nil {
		return err
	}
	defer release()
	m := move{root: root, disk: l.disk, name: name, limit: l.opts.SegmentSize}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	unlock, err := lockHome(ctx, root, true, l.opts.LockWait)
	if err != nil {
		return err
	}
	defer unlock()
	return m.publish(ctx)
}

// lockRotation is tryRotation for who can wait.
func lockRotation(ctx context.Context, root *os.Root) (release func(), err error) {
	return waitFor(ctx, repairLockWait, func() (func(), error) { return tryRotation(root) })
}

// tryRotation gives an empty rotateDir to one process at a time, and neither that nor an error while another one has it.
func tryRotation(root *os.Root) (release func(), err error) {
	for _, dir := range []string{path.Dir(rotateDir), rotateDir} {
		if err := makeDir(root, dir, 0o700); err != nil {
			return nil, err
		}
	}
	file, err := openLock(root, rotateLock, true)
	if err != nil {
		return nil, err
	}
	unlock, err := tryLockFile(root, rotateLock, file, true)
	if err != nil || unlock == nil {
		return nil, err
	}
	clearDir(root, rotateDir)
	return func() {
		clearDir(root, rotateDir)
		unlock()
	}, nil
}

// clearDir leaves what it cannot remove: the next rotation tries again.
func clearDir(root *os.Root, name string) {
	dir, err := openDirectory(root, name)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, file := range names {
		_ = root.Remove(path.Join(name, file))
	}
}
