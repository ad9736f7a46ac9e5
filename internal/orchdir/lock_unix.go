//go:build unix

package orchdir

import (
	"os"
	"syscall"
)

var errWouldBlock error = syscall.EWOULDBLOCK

// tryLock takes an advisory lock on the open directory. The lock belongs to this descriptor: it excludes other
// descriptors of the same process too, and the kernel drops it when the process ends.
func tryLock(dir *os.File) error {
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

func unlock(dir *os.File) {
	// Closing the descriptor unlocks as well; this only makes it prompt where a child still holds a copy.
	_ = syscall.Flock(int(dir.Fd()), syscall.LOCK_UN)
}
