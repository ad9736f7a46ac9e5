// Package orchdir reads and replaces the files of the .orchestration directory that several processes share.
//
// It promises: a file is read only if it is a regular file reached without a symbolic link; a replacement is whole or
// absent after a crash; a replacement happens only over the content that the caller read, and what a foreign writer put
// there in between is not destroyed (see [Locked.Replace] for where that is exact). Writers are serialised by a lock
// on the directory itself, because a lock file inside it could be deleted.
//
// It does not know what the files mean, and it does not create the directory.
package orchdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Name is the directory's name in the workspace.
const Name = ".orchestration"

// stateName is the directory for temporary files, relative to the .orchestration directory.
const stateName = "state"

var (
	// ErrBusy: another process held the lock for as long as the caller was willing to wait.
	ErrBusy = errors.New("the .orchestration directory is locked by another process: try again")
	// ErrNotRegular: the name is a directory, a link, a pipe or a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: the file is over the caller's bound.
	ErrTooLarge = errors.New("file is too large")
	// ErrChanged: the file no longer has the content that the caller read.
	ErrChanged = errors.New("file was changed by another program in between")
)

// lockWait is how long Lock waits when the caller's context sets no earlier end.
const lockWait = 5 * time.Second

// Locked is the .orchestration directory while this process holds its lock.
type Locked struct {
	root *os.Root // the directory itself
	lock *os.File
}

// Lock takes the exclusive lock of root's .orchestration directory, waiting with backoff until ctx ends or five seconds
// have passed, then returns ErrBusy. A missing directory is fs.ErrNotExist.
func Lock(ctx context.Context, root *os.Root) (*Locked, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		l, err := open(root)
		if err != nil {
			return nil, err
		}
		if err := l.acquire(ctx); err != nil {
			l.close()
			return nil, err
		}
		// Whoever held the lock may have replaced the directory; a lock on the old one guards nothing.
		if l.current(root) {
			return l, nil
		}
		l.Unlock()
	}
}

// open opens the directory without following a link in its place.
func open(root *os.Root) (*Locked, error) {
	info, err := root.Lstat(Name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: move it away and run orchestra-mcp init", Name)
	}
	dir, err := root.OpenRoot(Name)
	if err != nil {
		return nil, err
	}
	lock, err := dir.Open(".")
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Locked{root: dir, lock: lock}, nil
}

// acquire retries the lock with growing pauses.
func (l *Locked) acquire(ctx context.Context) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := tryLock(l.lock)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errWouldBlock) {
			return fmt.Errorf("lock %s: %w", Name, err)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return ErrBusy
		case <-time.After(pause):
		}
	}
}

// current reports whether the locked directory still stands under its name.
func (l *Locked) current(root *os.Root) bool {
	held, err := l.lock.Stat()
	if err != nil {
		return false
	}
	named, err := root.Lstat(Name)
	return err == nil && os.SameFile(held, named)
}

// Unlock releases the lock.
func (l *Locked) Unlock() {
	unlock(l.lock)
	l.close()
}

func (l *Locked) close() {
	// Nothing was written through these descriptors; closing them cannot lose anything.
	_ = l.lock.Close()
	_ = l.root.Close()
}

// Read returns the content of a file of the directory, like [ReadFile].
func (l *Locked) Read(name string, limit int64) ([]byte, error) {
	data, _, err := ReadFile(l.root, name, limit)
	return data, err
}

// ReadFile returns the content of a regular file below dir and its state at the end of reading. It never blocks on a
// pipe, follows no link in the file's place, and reads again if the file changed while it was read.
func ReadFile(dir *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	const attempts = 5
	for range attempts {
		data, info, err := readOnce(dir, name, limit)
		if !errors.Is(err, ErrChanged) {
			return data, info, err
		}
	}
	return nil, nil, fmt.Errorf("read %s: %w", name, ErrChanged)
}

func readOnce(dir *os.Root, name string, limit int64) (data []byte, info fs.FileInfo, err error) {
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, notRegular(dir, name, err)
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	// The name must still be this very file and no link to it: a link could lead to a file that an agent may write.
	named, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !before.Mode().IsRegular(), !named.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s: %w", name, ErrNotRegular)
	case !os.SameFile(before, named):
		return nil, nil, ErrChanged
	}
	if data, err = io.ReadAll(io.LimitReader(file, limit+1)); err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s is over %d bytes: %w", name, limit, ErrTooLarge)
	}
	after, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if after.Size() != int64(len(data)) || !after.ModTime().Equal(before.ModTime()) {
		return nil, nil, ErrChanged
	}
	return data, after, nil
}

// notRegular names the reason when a special file or a dangling link made the open fail.
func notRegular(dir *os.Root, name string, err error) error {
	if info, statErr := dir.Lstat(name); statErr == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	return err
}
