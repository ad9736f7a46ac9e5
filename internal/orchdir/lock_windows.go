package orchdir

import (
	"os"

	"golang.org/x/sys/windows"
)

var errWouldBlock error = windows.ERROR_LOCK_VIOLATION

// BUG(orchdir): Windows cannot lock a directory handle; every lock attempt there fails, so intents can be read but not
// written by us.
func tryLock(dir *os.File) error {
	return windows.LockFileEx(windows.Handle(dir.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0,
		1, 0, new(windows.Overlapped))
}

func unlock(dir *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(dir.Fd()), 0, 1, 0, new(windows.Overlapped))
}
