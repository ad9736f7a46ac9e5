package segment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Where things stand, relative to the workspace root.
const (
	Home       = ".orchestration"
	SingleName = "agent_trace.jsonl"
	TraceDir   = "trace"
	ArchiveDir = "archive"
	StateDir   = "state"
	LineSuffix = ".jsonl"
)

// HomeInfo refuses anything but a real directory: a link could lead the ledger to any place in the workspace.
func HomeInfo(root *os.Root) (fs.FileInfo, error) {
	info, err := root.Lstat(Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; run `orchestra-mcp init`", ErrNotInitialized)
	case err != nil:
		return nil, Unavailable(err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w: %s is not a directory", ErrUnavailable, Home)
	}
	return info, nil
}

// How long a lock is waited for.
const (
	MendLockWait   = 5 * time.Second // by who mends the ledger's files
	readerLockWait = 250 * time.Millisecond
)

// MaxReplaced is how many times others may take a file away that is wanted.
const MaxReplaced = 8

// lockFile is what every writer of .orchestration locks. It is in the state, which commands in a sandbox cannot open, and
// can be deleted: so it is looked at again when it is locked.
const lockFile = Home + "/" + StateDir + "/lock"

// Lock takes the lock that every writer of .orchestration takes. It waits with backoff until wait has passed, then gives
// ErrBusy. A reader who cannot open it goes without.
func Lock(ctx context.Context, root *os.Root, exclusive bool, wait time.Duration) (unlock func(), err error) {
	return WaitFor(ctx, wait, func() (func(), error) { return tryLockHome(root, exclusive) })
}

// LockTop is [Lock] for who writes, again and again, below a root.
func LockTop(ctx context.Context, top *durable.Top, wait time.Duration) (unlock func(), err error) {
	return WaitFor(ctx, wait, func() (func(), error) {
		file, err := top.OpenRegular(lockFile, os.O_RDONLY)
		if err != nil {
			return tryLockHome(top.Root(), true) // which makes what is missing, and says what is wrong
		}
		return lockedHome(tryLockFile(file, true, func(held fs.FileInfo) bool { return top.Is(lockFile, held) }))
	})
}

// WaitFor tries with backoff until wait has passed, then gives ErrBusy.
func WaitFor(ctx context.Context, wait time.Duration, try func() (unlock func(), err error)) (unlock func(), err error) {
	deadline := time.Now().Add(wait)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 4*time.Millisecond) {
		unlock, err := try()
		if unlock != nil || err != nil {
			return unlock, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w: %s has been locked for %v; try again", ErrBusy, Home, wait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// tryLockHome gives neither a lock nor an error if somebody else holds it.
func tryLockHome(root *os.Root, exclusive bool) (unlock func(), err error) {
	if _, err := HomeInfo(root); err != nil {
		return nil, err
	}
	file, err := OpenLock(root, lockFile, exclusive)
	switch {
	case err != nil && exclusive:
		return nil, Unavailable(err)
	case err != nil:
		return func() {}, nil
	}
	return lockedHome(TryLockFile(root, lockFile, file, exclusive))
}

func lockedHome(unlock func(), err error) (func(), error) {
	if err != nil {
		err = fmt.Errorf("%w: lock %s: %w", ErrUnavailable, Home, err)
	}
	return unlock, err
}

// OpenLock opens a lock's file, which who locks exclusively makes.
func OpenLock(root *os.Root, name string, exclusive bool) (*os.File, error) {
	file, _, err := durable.OpenRegularIn(root, name, os.O_RDONLY)
	if !errors.Is(err, fs.ErrNotExist) || !exclusive {
		return file, err
	}
	if err := MakeDir(root, path.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err = root.OpenFile(name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		file, _, err = durable.OpenRegularIn(root, name, os.O_RDONLY)
	}
	return file, err
}

// BUG(segment): without flock (Windows) two processes that append to one ledger are not kept apart. Within one process one
// Ledger is safe.

// TryLockFile locks an open file, which it closes if it does not. It gives neither a lock nor an error if somebody else holds
// it, or if the file was replaced since it was opened: a lock on the old one excludes nobody.
func TryLockFile(root *os.Root, name string, file *os.File, exclusive bool) (unlock func(), err error) {
	return tryLockFile(file, exclusive, func(held fs.FileInfo) bool {
		now, err := root.Lstat(name)
		return err == nil && os.SameFile(held, now)
	})
}

func tryLockFile(file *os.File, exclusive bool, stands func(held fs.FileInfo) bool) (unlock func(), err error) {
	lock := durable.TryShare
	if exclusive {
		lock = durable.TryLock
	}
	locked, err := lock(file)
	if errors.Is(err, durable.ErrUnsupported) && runtime.GOOS == "windows" {
		locked, err = true, nil
	}
	if err != nil || !locked {
		file.Close()
		return nil, err
	}
	held, err := file.Stat()
	unlock = func() {
		_ = durable.Unlock(file)
		file.Close()
	}
	if err != nil || !stands(held) {
		unlock()
		return nil, nil
	}
	return unlock, nil
}

// MakeDir creates a directory unless it is there, and refuses a link in its place: a hostile checkout could use one to
// lead the ledger's files elsewhere.
func MakeDir(root *os.Root, name string, mode fs.FileMode) error {
	if err := root.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", name)
	}
	return err
}

// Disk is what the ledger does to files and must not believe blindly. Tests make it fail.
type Disk struct {
	Write    func(*os.File, []byte) (int, error)
	Rewrite  func(*os.File, []byte, int64) error // of what is there already
	Truncate func(*os.File, int64) error
	Flush    func(*os.File) error // of data and size
	FlushDir func(*os.File) error
	Rename   func(root *os.Root, from, to string) error
}

func RealDisk() Disk {
	return Disk{
		Write:    (*os.File).Write,
		Rewrite:  func(f *os.File, b []byte, at int64) error { _, err := f.WriteAt(b, at); return err },
		Truncate: (*os.File).Truncate,
		Flush:    durable.FlushData,
		FlushDir: (*os.File).Sync,
		Rename:   (*os.Root).Rename,
	}
}

// FlushDir does nothing on Windows, where directories cannot be flushed.
func FlushDir(root *os.Root, d Disk, name string) error {
	dir, err := durable.OpenDirectoryIn(root, name)
	if err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	defer dir.Close()
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := d.FlushDir(dir); err != nil {
		return fmt.Errorf("flush %s: %w", name, err)
	}
	return nil
}

// The errors that a caller may test for with errors.Is, by when they occur.
var (
	// ErrNotInitialized: the workspace has no .orchestration directory, so there is no ledger yet. Nothing was
	// written. The operator creates one with `orchestra-mcp init`.
	ErrNotInitialized = errors.New("the workspace has no .orchestration directory")

	// ErrBusy: another process held the lock on .orchestration for longer than Options.LockWait. Nothing was
	// written; the same append can be tried again.
	ErrBusy = errors.New("the ledger is locked by another process")

	// ErrUnavailable: the ledger cannot be written. Either the place does not allow it now (no permission, a link or a directory
	// where the file should be), or an earlier write or flush failed. The latter poisons this Ledger: how much of that group is
	// on disk is unknown, so everything after is refused until [Ledger.Reopen] has checked what there is.
	ErrUnavailable = errors.New("the ledger cannot be written")
)

// Unavailable is ErrUnavailable with its cause.
func Unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }
