//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package durable

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the exclusive advisory lock (flock) of f's inode. It reports false if somebody else holds
// it, and ErrUnsupported where the file system has no such locks for a file open for reading.
func TryLock(f *os.File) (bool, error) { return tryFlock(f, unix.LOCK_EX) }

// TryShare takes the lock together with others that do the same.
func TryShare(f *os.File) (bool, error) { return tryFlock(f, unix.LOCK_SH) }

func tryFlock(f *os.File, how int) (bool, error) {
	err := retryFlock(f, how|unix.LOCK_NB)
	switch err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	case unix.EBADF, unix.EINVAL, unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP:
		return false, fmt.Errorf("flock: %w (%v)", ErrUnsupported, err)
	}
	return false, fmt.Errorf("flock: %w", err)
}

// Unlock gives the lock back. Closing alone would not: a child between fork and exec still has a copy of the descriptor.
func Unlock(f *os.File) error { return retryFlock(f, unix.LOCK_UN) }

func retryFlock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
