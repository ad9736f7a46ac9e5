//go:build linux && !portable

package durable

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TakeLease takes a read lease on f, which must be open for reading only. While it is held nobody can have
// the file open for writing: the kernel lets an opener wait, up to /proc/sys/fs/lease-break-time, until the
// lease is released, and then takes it away. The SIGIO that announces a break is ignored by the Go runtime
// unless the program asked for it.
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

// KeepLease asks whether a lease that was taken has held all the time since. It looks before it takes the
// lease again: one that the kernel took away, so that the writer who waited for it has written and gone, could
// be taken anew as if nothing had been. Taking it again counts also a writer that has passed the lookup but not
// yet announced itself to the lease.
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
