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

// TakeLease takes a read lease on f, which must be open for reading only. While it is held nobody can have the file open for
// writing: the kernel lets an opener wait, up to /proc/sys/fs/lease-break-time, until the lease is released, and then takes it
// away. The SIGIO that announces a break is ignored by the Go runtime unless the program asked for it.
func TakeLease(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
		return leaseUnbroken(f)
	case unix.EAGAIN:
		return ErrWriterOpen
	case unix.EACCES, unix.EPERM:
		return ErrLeaseRefused
	}
	return fmt.Errorf("lease: %w (%v)", ErrUnsupported, err)
}

// KeepLease asks whether a lease that was taken has held all the time since. It looks before it takes the lease again: one that
// the kernel took away, so that the writer who waited for it has written and gone, could be taken anew as if nothing had been.
// Taking it again counts also a writer that has passed the lookup but not yet announced itself to the lease.
func KeepLease(f *os.File) error {
	if err := leaseUnbroken(f); err != nil {
		return err
	}
	return TakeLease(f)
}

func leaseUnbroken(f *os.File) error {
	kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
	if err != nil || kind != unix.F_RDLCK {
		return ErrWriterOpen
	}
	return nil
}

// DropLease lets waiting writers go on.
func DropLease(f *os.File) {
	// Nothing can be done about a failure, and closing f does the same.
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
}

// LocksOf reports whether there is TryLockOf.
const LocksOf = true

// TryLockOf locks a file that of describes, by one byte of the file locks, which need not be there, until UnlockOf or until locks is closed.
// So only who may write locks can take it, as with [Dir.OpenLock], while anybody who can read a file can lock the file
// itself. It reports false if somebody else has the lock, another descriptor of this process included (open file description
// locks, F_OFD_SETLK(2const)); two files share a byte as good as never, and only wait for each other then.
func TryLockOf(locks *os.File, of Stat) (bool, error) {
	lock := byteOf(of)
	lock.Type = unix.F_WRLCK
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

// UnlockOf gives back what TryLockOf took of a file through locks. Closing alone would not: a child between fork and exec still
// has a copy of the descriptor.
func UnlockOf(locks *os.File, of Stat) {
	lock := byteOf(of)
	lock.Type = unix.F_UNLCK
	_ = unix.FcntlFlock(locks.Fd(), unix.F_OFD_SETLK, &lock) // giving back cannot fail
}

// byteOf is the byte that stands for a file.
func byteOf(file Stat) unix.Flock_t {
	sum := fnv.New64a()
	_ = binary.Write(sum, binary.NativeEndian, file.id) // a hash takes everything
	return unix.Flock_t{Whence: io.SeekStart, Start: int64(sum.Sum64() >> 1), Len: 1}
}
