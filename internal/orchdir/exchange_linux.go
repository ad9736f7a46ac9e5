package orchdir

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two files of the directory in one step. Both names lie in directories that only governance code
// writes, so resolving them by name below the directory's descriptor follows no link.
func (l *Locked) exchange(a, b string) error {
	fd := int(l.lock.Fd())
	err := unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
