package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Where things stand, relative to the workspace root.
const (
	home       = ".orchestration"
	singleName = "agent_trace.jsonl"
	traceDir   = "trace"
	archiveDir = "archive"
	stateDir   = "state"
	lineSuffix = ".jsonl"
)

// GitAttributes are the lines that .gitattributes at the top of the workspace needs: a merge keeps the lines of both
// sides, and line endings are never converted, because a record's identity is the hash of its bytes and a
// seal is signed byte for byte.
const GitAttributes = "/.orchestration/agent_trace.jsonl merge=union -text\n" +
	"/.orchestration/trace/*.jsonl merge=union -text\n" +
	"/.orchestration/archive/** -diff -merge -text\n" +
	"/.orchestration/seals/** -text\n"

// homeInfo refuses anything but a real directory: a link could lead the ledger to any place in the workspace.
func homeInfo(root *os.Root) (fs.FileInfo, error) {
	info, err := root.Lstat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; run `orchestra-mcp init`", ErrNotInitialized)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w: %s is not a directory", ErrUnavailable, home)
	}
	return info, nil
}

// lockFile is what every writer of .orchestration locks. It is in the state, which commands in a sandbox cannot open, and
// can be deleted: so it is looked at again when it is locked.
const lockFile = home + "/" + stateDir + "/lock"

// lockHome takes the lock that every writer of .orchestration takes. It waits with backoff until wait has passed, then gives
// ErrBusy. A reader who cannot open it goes without.
func lockHome(ctx context.Context, root *os.Root, exclusive bool, wait time.Duration) (unlock func(), err error) {
	return waitFor(ctx, wait, func() (func(), error) { return tryLockHome(root, exclusive) })
}

// waitFor tries with backoff until wait has passed, then gives ErrBusy.
func waitFor(ctx context.Context, wait time.Duration, try func() (unlock func(), err error)) (unlock func(), err error) {
	deadline := time.Now().Add(wait)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 4*time.Millisecond) {
		unlock, err := try()
		if unlock != nil || err != nil {
			return unlock, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w: %s has been locked for %v; try again", ErrBusy, home, wait)
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
	if _, err := homeInfo(root); err != nil {
		return nil, err
	}
	file, err := openLock(root, lockFile, exclusive)
	switch {
	case err != nil && exclusive:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return func() {}, nil
	}
	unlock, err = tryLockFile(root, lockFile, file, exclusive)
	if err != nil {
		err = fmt.Errorf("%w: lock %s: %w", ErrUnavailable, home, err)
	}
	return unlock, err
}

// openLock opens a lock's file, which who locks exclusively makes.
func openLock(root *os.Root, name string, exclusive bool) (*os.File, error) {
	file, _, err := openRegular(root, name, os.O_RDONLY)
	if !errors.Is(err, fs.ErrNotExist) || !exclusive {
		return file, err
	}
	if err := makeDir(root, path.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err = root.OpenFile(name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		file, _, err = openRegular(root, name, os.O_RDONLY)
	}
	return file, err
}

// tryLockFile locks an open file, which it closes if it does not. It gives neither a lock nor an error if somebody else holds
// it, or if the file was replaced since it was opened: a lock on the old one excludes nobody.
func tryLockFile(root *os.Root, name string, file *os.File, exclusive bool) (unlock func(), err error) {
	locked, err := flock(file, exclusive)
	if err != nil || !locked {
		file.Close()
		return nil, err
	}
	held, err := file.Stat()
	now, lerr := root.Lstat(name)
	unlock = func() {
		funlock(file)
		file.Close()
	}
	if err != nil || lerr != nil || !os.SameFile(held, now) {
		unlock()
		return nil, nil
	}
	return unlock, nil
}

// makeDir creates a directory unless it is there, and refuses a link in its place: a hostile checkout could use one to
// lead the ledger's files elsewhere.
func makeDir(root *os.Root, name string, mode fs.FileMode) error {
	if err := root.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", name)
	}
	return err
}

// openDirectory does not wait where a FIFO stands in the directory's place; reading or locking it then fails.
func openDirectory(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|openNonblock, 0) // as it is, the os package has nothing to set
}

// errReplaced: between the look at a name and its opening another file took it.
var errReplaced = errors.New("was replaced while it was opened")

// openRegular opens a file that must be a regular one under its own name: no link, no FIFO that would block. A rotation or
// git may put another file there at any moment, so it looks again, but not for ever.
func openRegular(root *os.Root, name string, flag int) (file *os.File, info fs.FileInfo, err error) {
	for range maxReplaced {
		if file, info, err = openOnce(root, name, flag); !errors.Is(err, errReplaced) {
			break
		}
	}
	return file, info, err
}

func openOnce(root *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := root.OpenFile(name, flag|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s %w", name, errReplaced)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
