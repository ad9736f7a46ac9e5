//go:build !linux || portable

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"time"
)

// Dir is an open directory. Names given to its methods are single components; the caller has refused
// slashes, "." and "..". Methods may be called concurrently, but not with or after Close.
type Dir struct {
	root *os.Root
	top  *os.Root // the one that OpenRoot was given
	rel  string   // from top to root
}

// OpenRoot opens the directory that root stands for.
func OpenRoot(root *os.Root) (*Dir, error) {
	again, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return &Dir{root: again, top: root, rel: "."}, nil
}

// Close releases the descriptor.
func (d *Dir) Close() error { return d.root.Close() }

// Stat describes the directory itself.
func (d *Dir) Stat() (Stat, error) {
	info, err := d.root.Stat(".")
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

// Lstat describes name without following it.
func (d *Dir) Lstat(name string) (Stat, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

// LstatPath describes what is at an absolute path, whose last name is not followed.
func LstatPath(path string) (Stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return Stat{}, err
	}
	return statOf(info), nil
}

// Readlink returns the text of a symbolic link.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// OpenDir opens the directory name; a link or anything else is an error.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	seen, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a directory")}
	}
	root, err := d.root.OpenRoot(name + "/")
	if err != nil {
		return nil, err
	}
	// As for files in openSeen.
	child := &Dir{root: root, top: d.top, rel: path.Join(d.rel, name)}
	opened, err := child.Stat()
	if err != nil || !Same(seen, opened) {
		child.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errSwapped}
	}
	return child, nil
}

// OpenDirAt opens the directory at a path of several names, none of which may be a link's.
func (d *Dir) OpenDirAt(path string) (*Dir, error) { return d.openDirs(path) }

// OpenRegularAt opens the file at a path of several names, of which none may be a link's, with flags that must not make one.
func (d *Dir) OpenRegularAt(name string, flags int) (*os.File, error) {
	at, err := d.openDirs(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer at.Close()
	file, _, err := OpenRegularIn(at.root, path.Base(name), flags)
	return file, err
}

// Open opens name for reading, whatever kind of file it is; the caller looks at what it got.
func (d *Dir) Open(name string) (*os.File, error) {
	var err error
	for range openRounds {
		var f *os.File
		if f, err = d.openSeen(name); err == nil || !errors.Is(err, errSwapped) {
			return f, err
		}
	}
	return nil, err
}

// openRounds bounds how often an open is repeated because the name was given to another file meanwhile.
const openRounds = 32

var errSwapped = errors.New("changed while it was opened")

func (d *Dir) openSeen(name string) (*os.File, error) {
	seen, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	// os.Root follows links that stay inside it: what was opened must be what was seen.
	opened, err := StatFile(f)
	if err != nil || !Same(seen, opened) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errSwapped}
	}
	return f, nil
}

// OpenLock opens a file that is there to be locked, and makes it with mode 0600 where there is none. Who may not write it
// cannot lock it.
func (d *Dir) OpenLock(name string) (*os.File, error) {
	if seen, err := d.Lstat(name); err == nil && !seen.Mode.IsRegular() {
		return nil, fmt.Errorf("%s is %w", name, ErrNotRegular)
	}
	file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|nonblock, 0o600)
	return regular(name, file, err)
}

// Create makes a new file, open for writing; the umask applies to perm.
func (d *Dir) Create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// Writable reports, as an error, whether the existing file name is marked read-only.
func (d *Dir) Writable(name string) error {
	st, err := d.Lstat(name)
	if err == nil && st.Mode.Perm()&0o222 == 0 {
		err = &fs.PathError{Op: "access", Path: name, Err: fs.ErrPermission}
	}
	return err
}

// Mkdir makes a directory; the umask applies to perm.
func (d *Dir) Mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm) }

// Remove removes a name that is not a directory's.
func (d *Dir) Remove(name string) error {
	st, err := d.Lstat(name)
	if err == nil && st.Mode.IsDir() {
		err = &fs.PathError{Op: "unlink", Path: name, Err: errors.New("is a directory")}
	}
	if err != nil {
		return err
	}
	return d.root.Remove(name)
}

// RemoveDir removes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	st, err := d.Lstat(name)
	if err == nil && !st.Mode.IsDir() {
		err = &fs.PathError{Op: "rmdir", Path: name, Err: errors.New("not a directory")}
	}
	if err != nil {
		return err
	}
	return d.root.Remove(name)
}

// ReadDir lists the directory, sorted by name.
func (d *Dir) ReadDir() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return sortedEntries(f)
}

// Exchange is unsupported here.
func (d *Dir) Exchange(name string, _ *Dir, _ string) error {
	return &fs.PathError{Op: "exchange", Path: name, Err: ErrUnsupported}
}

// Move gives the file a new name that must not exist yet. A crash in between leaves both names.
func (d *Dir) Move(name string, to *Dir, toName string) error {
	if err := d.Link(name, to, toName); err != nil {
		return err
	}
	return d.root.Remove(name)
}

// Replace renames over whatever toName is, in the same directory.
func (d *Dir) Replace(name string, to *Dir, toName string) error {
	if !d.SameMount(to) {
		return &fs.PathError{Op: "rename", Path: name, Err: ErrCrossDevice}
	}
	return d.root.Rename(name, toName)
}

// Link gives the file a second name, which must not exist yet. Between two directories os.Root has no other
// way than by their paths: a directory that was moved meanwhile is noticed afterwards, and the new name, which
// is inside the top in any case, is removed again.
func (d *Dir) Link(name string, to *Dir, toName string) error {
	if d.SameMount(to) {
		return d.root.Link(name, toName)
	}
	seen, err := d.Lstat(name)
	if err != nil {
		return err
	}
	landing := path.Join(to.rel, toName)
	if err := d.top.Link(path.Join(d.rel, name), landing); err != nil {
		return err
	}
	if landed, err := to.Lstat(toName); err != nil || !Same(seen, landed) {
		return errors.Join(&fs.PathError{Op: "link", Path: name, Err: errors.New("a directory was moved meanwhile")}, d.top.Remove(landing))
	}
	return nil
}

// SameMount reports whether files can be renamed safely between the two directories: os.Root has no operation
// on two roots, so only within one.
func (d *Dir) SameMount(other *Dir) bool {
	a, aErr := d.Stat()
	b, bErr := other.Stat()
	return aErr == nil && bErr == nil && Same(a, b)
}

// Inherits reports whether new files in d get rights from d itself; temporary files are always made there.
func (d *Dir) Inherits() bool { return true }

// Enter opens the directory name to go through it. A link or anything else is an error.
func (d *Dir) Enter(name string) (*Dir, error) { return d.OpenDir(name) }

// Held is what stood under a name. Nothing holds it here but a look before each use.
type Held struct {
	dir  *Dir
	name string
	stat Stat
}

// Hold looks at what stands under a name, which is not followed.
func (d *Dir) Hold(name string) (*Held, error) {
	st, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	return &Held{d, name, st}, nil
}

// Stat describes it.
func (h *Held) Stat() (Stat, error) { return h.stat, nil }

// Chmod sets its permissions. Of a link it is an error.
func (h *Held) Chmod(mode fs.FileMode) error {
	st, err := h.dir.Lstat(h.name)
	if err == nil && (!Same(st, h.stat) || st.Mode&fs.ModeSymlink != 0) {
		err = errSwapped
	}
	if err != nil {
		return &fs.PathError{Op: "chmod", Path: h.name, Err: err}
	}
	return h.dir.root.Chmod(h.name, mode)
}

// Close lets go of it.
func (h *Held) Close() error { return nil }

// SetModTime is not needed here.
func (h *Held) SetModTime(time.Time) error { return ErrUnsupported }

// Take gives what stands under a name another, in a directory where nobody else makes one. It goes by their paths below the top.
func (d *Dir) Take(name string, to *Dir, fresh string) error {
	return d.top.Rename(path.Join(d.rel, name), path.Join(to.rel, fresh))
}

// Symlink makes a link of a text under a name that must not exist yet.
func (d *Dir) Symlink(text, name string) error { return d.root.Symlink(text, name) }

// RemoveTree removes name with all that is in it.
func (d *Dir) RemoveTree(name string) error {
	err := d.root.RemoveAll(name)
	if os.IsPermission(err) {
		_ = d.root.Chmod(name, 0o700)
		err = d.root.RemoveAll(name)
	}
	return err
}

// TakeLease is unsupported here.
func TakeLease(*os.File) error { return ErrUnsupported }

// DropLease does nothing here.
func DropLease(*os.File) {}

// KeepLease reports ErrUnsupported.
func KeepLease(*os.File) error { return ErrUnsupported }

// LocksOf reports whether there is TryLockOf.
const LocksOf = false

// TryLockOf is unsupported here: [TryLock] locks the file itself.
func TryLockOf(*os.File, Stat) (bool, error) { return false, ErrUnsupported }

// UnlockOf does nothing here.
func UnlockOf(*os.File, Stat) {}

// CopyMetadata gives to the permission bits of from. Owner and extended attributes are not kept here.
func CopyMetadata(from, to *os.File) (missed []string, err error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	return nil, to.Chmod(info.Mode().Perm())
}

// identity is unused here: os.SameFile compares the whole info.
type identity struct{}

// Numbered is true: nobody knows numbers here.
func (s Stat) Numbered(_, _ uint64) bool { return true }

func statOf(info fs.FileInfo) Stat {
	return Stat{Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime(), info: info}
}

// DropAttributes has nothing to do: only Linux has layers, which note something of their files in attributes.
func DropAttributes(*os.File, string) error { return nil }

// DropAttributes has nothing to do, as that of a file.
func (d *Dir) DropAttributes(string) error { return nil }

// ChangedAt is not known here: it is the latest there is.
func ChangedAt(fs.FileInfo) int64 { return math.MaxInt64 }

// BornAt is not known here.
func BornAt(string) int64 { return 0 }

// HasAttribute is false: attributes are not read here.
func HasAttribute(string, string) bool { return false }

// UsedBytes is not known here.
func UsedBytes(string) int64 { return 0 }

// StoredBytes is the size of a file.
func StoredBytes(info fs.FileInfo) int64 { return info.Size() }
