package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// FlushData brings a file's data and size to disk. It leaves out what fsync writes beyond (times), which saves a journal
// commit on some file systems.
func FlushData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
