//go:build linux && !portable

package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// CopyMetadata gives to the mode bits, owner and extended attributes of from, access control lists among
// them. As with any write, set-user-id, set-group-id and file capabilities are not carried over. What this
// process may not set is returned as text for people; only a failure that would widen access is an error.
func CopyMetadata(from, to *os.File) (missed []string, err error) {
	var want, have unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &want); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	if err := unix.Fstat(int(to.Fd()), &have); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	missed = copyOwner(to, want, have)
	// A list inherited from the temporary file's directory must not outlive the copy; the original's own
	// comes back with the other attributes.
	_ = unix.Fremovexattr(int(to.Fd()), "system.posix_acl_access")
	if err := unix.Fchmod(int(to.Fd()), permissions(want.Mode)); err != nil {
		return missed, fmt.Errorf("fchmod: %w", err)
	}
	if want.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		missed = append(missed, "set-user-id and set-group-id were dropped, as with any write")
	}
	return append(missed, copyAttributes(from, to)...), nil
}

func permissions(mode uint32) uint32 {
	return mode & (0o777 | unix.S_ISVTX)
}

func copyOwner(to *os.File, want, have unix.Stat_t) (missed []string) {
	if want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	if unix.Fchown(int(to.Fd()), int(want.Uid), int(want.Gid)) == nil {
		return nil
	}
	if want.Gid != have.Gid && unix.Fchown(int(to.Fd()), -1, int(want.Gid)) != nil {
		missed = append(missed, fmt.Sprintf("group %d could not be kept", want.Gid))
	}
	if want.Uid != have.Uid {
		missed = append(missed, fmt.Sprintf("owner %d could not be kept", want.Uid))
	}
	return missed
}

func copyAttributes(from, to *os.File) (missed []string) {
	for _, name := range attributeNames(int(from.Fd())) {
		if skippedAttribute(name) {
			continue
		}
		value, err := attribute(from, name)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value, 0)
		}
		if err != nil {
			missed = append(missed, fmt.Sprintf("extended attribute %s could not be kept", name))
		}
	}
	return missed
}

// DropAttributes removes the extended attributes of a file whose names begin so.
func DropAttributes(f *os.File, prefix string) error { return dropAttributes(int(f.Fd()), prefix) }

// DropAttributes is that of a file for a directory.
func (d *Dir) DropAttributes(prefix string) error { return dropAttributes(d.fd, prefix) }

func dropAttributes(fd int, prefix string) error {
	for _, name := range attributeNames(fd) {
		if strings.HasPrefix(name, prefix) {
			if err := removeAttribute(fd, name); err != nil {
				return fmt.Errorf("remove the attribute %s: %w", name, err)
			}
		}
	}
	return nil
}

// removeAttribute removes one also where the owner may not write, which he then may for that moment.
func removeAttribute(fd int, name string) error {
	err := unix.Fremovexattr(fd, name)
	if err != unix.EACCES {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	mode := st.Mode &^ unix.S_IFMT
	if err := unix.Fchmod(fd, mode|unix.S_IWUSR); err != nil {
		return err
	}
	return errors.Join(unix.Fremovexattr(fd, name), unix.Fchmod(fd, mode))
}

// skippedAttribute names what stands for the old content, or what the kernel drops at any write.
func skippedAttribute(name string) bool {
	switch name {
	case "security.capability", "security.ima", "security.evm":
		return true
	}
	return strings.HasPrefix(name, "trusted.overlay.")
}

func attributeNames(fd int) []string {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	buf := make([]byte, size+256)
	n, err := unix.Flistxattr(fd, buf)
	if err != nil {
		return nil
	}
	var names []string
	for name := range bytes.SplitSeq(buf[:n], []byte{0}) {
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	return names
}

func attribute(f *os.File, name string) ([]byte, error) {
	size, err := unix.Fgetxattr(int(f.Fd()), name, nil)
	if err != nil || size == 0 {
		return nil, err
	}
	buf := make([]byte, size)
	n, err := unix.Fgetxattr(int(f.Fd()), name, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
