package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flushData leaves out what fsync writes beyond data and size (times), which saves a journal commit on some systems.
func flushData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

func flushDir(dir *os.File) error { return dir.Sync() }
