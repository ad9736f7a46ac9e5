//go:build unix

package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const openNonblock = unix.O_NONBLOCK

// flock reports false if somebody else holds the lock.
func flock(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return err == nil, err
		}
	}
}

// funlock does not leave it to closing: a child between fork and exec holds a copy of the descriptor.
func funlock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
}

// writable asks the kernel without changing anything.
func writable(dir *os.File) error {
	return unix.Faccessat(int(dir.Fd()), ".", unix.W_OK, 0)
}
