//go:build linux && !portable

package durable

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LocksOf reports whether there is TryLockOf.
const LocksOf = true

// TryLockOf locks a file that of describes, by one byte of the file locks, which need not be there, until locks is closed.
// So only who may write locks can take it, as with [Dir.OpenLock], while anybody who can read a file can lock the file
// itself. It reports false if somebody else has the lock, another descriptor of this process included (open file description
// locks, F_OFD_SETLK(2const)); two files share a byte as good as never, and only wait for each other then.
func TryLockOf(locks *os.File, of Stat) (bool, error) {
	sum := fnv.New64a()
	_ = binary.Write(sum, binary.NativeEndian, of.id) // a hash takes everything
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: int64(sum.Sum64() >> 1), Len: 1}
	for {
		switch err := unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &lock); err {
		case nil:
			return true, nil
		case unix.EINTR:
		case unix.EAGAIN, unix.EACCES:
			return false, nil
		case unix.EINVAL, unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP:
			return false, fmt.Errorf("lock a byte: %w (%v)", ErrUnsupported, err)
		default:
			return false, fmt.Errorf("lock a byte: %w", err)
		}
	}
}

// UnlockOf gives back what TryLockOf took through locks. Closing alone would not: a child between fork and exec still has a
// copy of the descriptor.
func UnlockOf(locks *os.File) {
	all := unix.Flock_t{Type: unix.F_UNLCK, Whence: io.SeekStart}
	_ = unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &all) // giving back cannot fail
}
