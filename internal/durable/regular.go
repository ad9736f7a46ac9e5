package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// ErrNotRegular is returned, wrapped, for a directory, link, pipe, socket or device where a file is expected.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is returned, wrapped, for a file that is longer than its reader allows.
var ErrTooLarge = errors.New("larger than it may be")

// ErrReplaced is returned, wrapped, where another file took the name between a look at it and its opening.
var ErrReplaced = errors.New("was replaced while it was opened")

// What stands in a workspace, in git's directory or in the user's may have been made by a stranger. So whatever is opened by a
// path, without a [Dir], is opened by one of the functions below: none waits for the other end of a pipe or acts on a device.

// OpenRegular opens a file for reading. It follows links: where a user keeps a file is the user's affair.
func OpenRegular(name string) (*os.File, fs.FileInfo, error) {
	return openRegular(name, func() (fs.FileInfo, error) { return os.Stat(name) },
		func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

// OpenRegularIn opens a file below dir with the given flags, which must not make one. Its last name must not be a link's.
func OpenRegularIn(dir *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	return openRegular(name, func() (fs.FileInfo, error) { return dir.Lstat(name) },
		func() (*os.File, error) { return dir.OpenFile(name, flag|syscall.O_NONBLOCK, 0) })
}

// maxReplaced is how many times others may take a file away that is to be opened.
const maxReplaced = 8

// openRegular tries again where another file took the name between the look and the opening: who replaces a file whole, as
// other servers and git do, is no fault. Who does it each time is one.
func openRegular(name string, look func() (fs.FileInfo, error), open func() (*os.File, error)) (file *os.File, info fs.FileInfo, err error) {
	for range maxReplaced {
		if file, info, err = openRegularOnce(name, look, open); !errors.Is(err, ErrReplaced) {
			break
		}
	}
	return file, info, err
}

// openRegularOnce looks before it opens, as opening a device can act on it, and afterwards, as it may have been replaced.
func openRegularOnce(name string, look func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, fs.FileInfo, error) {
	named, err := look()
	if err != nil {
		return nil, nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %w", name, ErrNotRegular)
	}
	file, err := open()
	if err != nil {
		return nil, nil, err
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s %w", name, ErrReplaced)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, opened, nil
}

func regular(name string, file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is %w", name, ErrNotRegular), file.Close())
	}
	return file, nil
}

// ReadRegular is the content of a file of limit bytes at most, opened by [OpenRegular].
func ReadRegular(name string, limit int64) ([]byte, error) {
	return readRegular(name, limit)(OpenRegular(name))
}

// ReadRegularIn is the content of a file of limit bytes at most, opened by [OpenRegularIn].
func ReadRegularIn(dir *os.Root, name string, limit int64) ([]byte, error) {
	return readRegular(name, limit)(OpenRegularIn(dir, name, os.O_RDONLY))
}

func readRegular(name string, limit int64) func(*os.File, fs.FileInfo, error) ([]byte, error) {
	return func(file *os.File, info fs.FileInfo, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if info.Size() > limit {
			return nil, fmt.Errorf("%s is %w, %d bytes", name, ErrTooLarge, limit)
		}
		content, err := io.ReadAll(io.LimitReader(file, limit+1))
		if err == nil && int64(len(content)) > limit {
			err = fmt.Errorf("%s is %w, %d bytes", name, ErrTooLarge, limit)
		}
		return content, err
	}
}

// OpenDirectory opens a directory, also through a link.
func OpenDirectory(name string) (*os.File, error) {
	return directory(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// OpenDirectoryIn opens a directory below dir.
func OpenDirectoryIn(dir *os.Root, name string) (*os.File, error) {
	return directory(dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func directory(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", file.Name())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// ReadDirectory lists a directory, sorted by name.
func ReadDirectory(name string) ([]fs.DirEntry, error) { return entriesOf(OpenDirectory(name)) }

// ReadDirectoryIn lists a directory below dir, sorted by name.
func ReadDirectoryIn(dir *os.Root, name string) ([]fs.DirEntry, error) {
	return entriesOf(OpenDirectoryIn(dir, name))
}

// Tree is the files below dir for [fs.WalkDir], which are opened by [OpenRegularIn] and [OpenDirectoryIn].
func Tree(dir *os.Root) fs.FS { return tree{dir} }

type tree struct{ root *os.Root }

func (t tree) Open(name string) (fs.File, error) {
	if name == "." {
		return t.root.Open(name)
	}
	file, _, err := OpenRegularIn(t.root, name, os.O_RDONLY)
	if errors.Is(err, ErrNotRegular) {
		return OpenDirectoryIn(t.root, name)
	}
	return file, err
}

func (t tree) ReadDir(name string) ([]fs.DirEntry, error) { return ReadDirectoryIn(t.root, name) }

func entriesOf(file *os.File, err error) ([]fs.DirEntry, error) {
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return sortedEntries(file)
}

func sortedEntries(f *os.File) ([]fs.DirEntry, error) {
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Name is one entry of a directory, with what it is.
type Name struct {
	Name string
	Type fs.FileMode // no more than the type
}
