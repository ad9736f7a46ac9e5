package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// OpenOwn opens the directory name of parent, which must be a directory and no link: a cloned repository could have a
// link there that leads among its sources. With a perm that is not 0 it is made where it is missing.
func OpenOwn(parent *os.Root, name string, perm fs.FileMode) (*os.Root, error) {
	named, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && perm != 0 {
		if err := parent.Mkdir(name, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		named, err = parent.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s is not a directory of its own; remove it, it is made again when needed", name)
	}
	dir, err := parent.OpenRoot(name + "/") // with the slash a pipe is no directory, and is not waited for
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", name)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// WriteNew makes a file of mode 0600 under a name that nobody has, for a rename to where others look for it: so they find
// it whole. at is its time of modification; zero is now. With flush it is on disk when WriteNew returns. After an error
// there is no such file.
func WriteNew(dir *os.Root, name string, content []byte, at time.Time, flush bool) error {
	file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if flush {
		err = errors.Join(err, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil && !at.IsZero() {
		err = dir.Chtimes(name, at, at)
	}
	if err != nil {
		_ = dir.Remove(name)
	}
	return err
}

// Stands reports whether an open file is still what name leads to in dir, where others would look for it: one that locks
// a file which was removed meanwhile holds nothing that anybody else sees.
func Stands(dir *os.Root, name string, f *os.File) bool {
	at, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	have, err := f.Stat()
	return err == nil && os.SameFile(at, have)
}

// FlushDir makes the names in a directory durable. On Windows directories cannot be flushed.
func FlushDir(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
