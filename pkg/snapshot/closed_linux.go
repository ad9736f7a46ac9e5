//go:build linux && !portable

package snapshot

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// closed reports whether nobody in the whole system has a file open for writing, so that nobody maps it for that either:
// only then does the kernel grant a lease for reading (fcntl(2), F_SETLEASE), which is given back at once: who opens the
// file for writing in that moment waits for it, or is told to try again if it is not to wait. Where a lease may not be asked for,
// nothing is known. A file system that has the files of another (overlayfs) keeps no account of those that are mapped.
func closed(f *os.File) bool {
	var on unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &on) != nil || !slices.Contains(ownFiles[:], uint32(on.Type)) {
		return false
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
