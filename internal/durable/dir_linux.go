//go:build linux && !portable

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. Names given to its methods are single components; the caller has refused
// slashes, "." and "..". Methods may be called concurrently, but not with or after Close.
type Dir struct {
	fd int
}

// OpenRoot opens the directory that root stands for.
func OpenRoot(root *os.Root) (*Dir, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, named("dup", root.Name(), err)
	}
	return &Dir{fd: fd}, nil
}

// Fd is the descriptor, for calls that this package has not. It is the Dir's to close.
func (d *Dir) Fd() int { return d.fd }

// Close releases the descriptor.
func (d *Dir) Close() error {
	fd := d.fd
	d.fd = -1
	return unix.Close(fd)
}

// Stat describes the directory itself.
func (d *Dir) Stat() (Stat, error) {
	var raw unix.Stat_t
	if err := retry(func() error { return unix.Fstat(d.fd, &raw) }); err != nil {
		return Stat{}, named("fstat", ".", err)
	}
	return statOfRaw(&raw), nil
}

// Lstat describes name without following it.
func (d *Dir) Lstat(name string) (Stat, error) {
	var raw unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd, name, &raw, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Stat{}, named("lstat", name, err)
	}
	return statOfRaw(&raw), nil
}

// LstatPath describes what is at an absolute path, whose last name is not followed. It is asked again and again, so what is not
// there costs no memory: the error is a number of the system.
func LstatPath(path string) (Stat, error) {
	var raw unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &raw) }); err != nil {
		return Stat{}, err
	}
	return statOfRaw(&raw), nil
}

// Readlink returns the text of a symbolic link.
func (d *Dir) Readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", named("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// OpenDir opens the directory name; a link or anything else is an error.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := d.openat(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{fd: fd}, nil
}

// below has no link followed on the way to what is opened, and nothing opened outside of the directory.
const below = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS

// OpenDirAt opens the directory at a path of several names, in one call where the kernel has it. None of the names may be
// a link's.
func (d *Dir) OpenDirAt(path string) (*Dir, error) {
	fd, err := d.openat2(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, ErrUnsupported) {
		return d.openDirs(path)
	}
	if err != nil {
		return nil, named("open", path, err)
	}
	return &Dir{fd: fd}, nil
}

// OpenRegularAt opens the file at a path of several names, of which none may be a link's, with flags that must not make one.
func (d *Dir) OpenRegularAt(path string, flags int) (*os.File, error) {
	st, err := d.LstatAt(path) // opening a device can act on it
	if err == nil && !st.Mode.IsRegular() {
		err = fmt.Errorf("%s is %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, err
	}
	fd, err := d.openat2(path, flags|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, ErrUnsupported) {
		return d.openRegular(path, flags)
	}
	if err != nil {
		return nil, named("open", path, err)
	}
	return regular(path, os.NewFile(uintptr(fd), path), nil)
}

// openat2 is ErrUnsupported where the kernel has no such call, or a filter keeps it from us: an older one knows no better
// than to say that it is not permitted.
func (d *Dir) openat2(path string, flags int) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC), Resolve: below}
	err = retry(func() error {
		fd, err = unix.Openat2(d.fd, path, &how)
		return err
	})
	if err == unix.ENOSYS || err == unix.EPERM || err == unix.EAGAIN {
		err = ErrUnsupported
	}
	return fd, err
}

// openRegular opens a file at a path by the names on the way.
func (d *Dir) openRegular(name string, flags int) (*os.File, error) {
	at, err := d.openDirs(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer at.Close()
	file, err := at.openFile(path.Base(name), flags|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	return regular(name, file, err)
}

// Open opens name for reading, whatever kind of file it is; the caller looks at what it got.
func (d *Dir) Open(name string) (*os.File, error) {
	return d.openFile(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Create makes a new file, open for writing; the umask applies to perm.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	return d.openFile(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, perm)
}

// OpenLock opens a file that is there to be locked, and makes it with mode 0600 where there is none. Who may not write it
// cannot lock it.
func (d *Dir) OpenLock(name string) (*os.File, error) {
	file, err := d.openFile(name, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
	return regular(name, file, err)
}

func (d *Dir) openFile(name string, flags int, perm fs.FileMode) (*os.File, error) {
	fd, err := d.openat(name, flags, perm)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *Dir) openat(name string, flags int, perm fs.FileMode) (fd int, err error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	err = retry(func() error {
		fd, err = unix.Openat(d.fd, name, flags, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return -1, named("open", name, err)
	}
	return fd, nil
}

// Writable reports, as an error, whether this process may write into the existing file name.
func (d *Dir) Writable(name string) error {
	return named("access", name, unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW))
}

// Mkdir makes a directory; the umask applies to perm.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	return named("mkdir", name, retry(func() error { return unix.Mkdirat(d.fd, name, uint32(perm.Perm())) }))
}

// Remove removes a name that is not a directory's.
func (d *Dir) Remove(name string) error {
	return named("unlink", name, retry(func() error { return unix.Unlinkat(d.fd, name, 0) }))
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	return named("rmdir", name, retry(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }))
}

// Sync flushes the directory's entries to disk.
func (d *Dir) Sync() error {
	return named("fsync", ".", retry(func() error { return unix.Fsync(d.fd) }))
}

// ReadDir lists the directory, sorted by name.
func (d *Dir) ReadDir() ([]fs.DirEntry, error) {
	fd, err := d.openat(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return sortedEntries(f)
}

// Exchange swaps two names atomically.
func (d *Dir) Exchange(name string, other *Dir, otherName string) error {
	return named("exchange", name, d.renameat2(name, other, otherName, unix.RENAME_EXCHANGE))
}

// Move gives the file a new name that must not exist yet.
func (d *Dir) Move(name string, to *Dir, toName string) error {
	err := d.renameat2(name, to, toName, unix.RENAME_NOREPLACE)
	if errors.Is(err, ErrUnsupported) {
		err = d.moveByLink(name, to, toName)
	}
	return named("rename", name, err)
}

// moveByLink is create-only by link's refusal to replace. A crash in between leaves both names.
func (d *Dir) moveByLink(name string, to *Dir, toName string) error {
	if err := unix.Linkat(d.fd, name, to.fd, toName, 0); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd, name, 0)
}

// Replace renames over whatever toName is.
func (d *Dir) Replace(name string, to *Dir, toName string) error {
	return named("rename", name, retry(func() error { return unix.Renameat(d.fd, name, to.fd, toName) }))
}

// Link gives the file a second name, which must not exist yet.
func (d *Dir) Link(name string, to *Dir, toName string) error {
	return named("link", name, retry(func() error { return unix.Linkat(d.fd, name, to.fd, toName, 0) }))
}

func (d *Dir) renameat2(name string, to *Dir, toName string, flags uint) error {
	err := retry(func() error { return unix.Renameat2(d.fd, name, to.fd, toName, flags) })
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP {
		return fmt.Errorf("%w (%v)", ErrUnsupported, err)
	}
	return err
}

// SameMount reports whether files can be renamed between the two directories. Comparing devices alone
// would miss bind mounts, comparing mounts alone btrfs subvolumes.
func (d *Dir) SameMount(other *Dir) bool {
	a, aErr := d.mount()
	b, bErr := other.mount()
	return aErr == nil && bErr == nil && a == b
}

type mountID struct {
	mount        uint64
	major, minor uint32
}

func (d *Dir) mount() (mountID, error) {
	var raw unix.Statx_t
	if err := unix.Statx(d.fd, "", unix.AT_EMPTY_PATH, unix.STATX_TYPE|unix.STATX_MNT_ID, &raw); err != nil {
		return mountID{}, err
	}
	return mountID{mount: raw.Mnt_id, major: raw.Dev_major, minor: raw.Dev_minor}, nil
}

// Inherits reports whether new files in d get rights from d itself (a set-group-id bit or a default access
// control list), so that one made elsewhere and moved in would lack them.
func (d *Dir) Inherits() bool {
	if st, err := d.Stat(); err != nil || st.Mode&fs.ModeSetgid != 0 {
		return true
	}
	n, err := unix.Fgetxattr(d.fd, "system.posix_acl_default", nil)
	return err == nil && n > 0
}

func named(op, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case err == unix.EXDEV:
		err = ErrCrossDevice
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
