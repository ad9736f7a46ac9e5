package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// tempPrefix begins the names of the private directories, which end in digits.
const tempPrefix = "orchestra-run-"

// temp is the private directory of one command. Its lock says that its server
// lives: it ends with the process, also where that is killed.
type temp struct {
	path string
	lock *os.File
}

// tempTries bounds how often a directory is made that another server sweeps before it is locked.
const tempTries = 100

// makeTemp makes the private directory of one command. Its path is free of
// links, and short, because Unix sockets are made below it.
func makeTemp() (*temp, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return nil, err
	}
	for range tempTries {
		dir, err := os.MkdirTemp(parent, tempPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := durable.OpenDirectory(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, os.Remove(dir))
		}
		if mine(lock, dir) {
			return &temp{dir, lock}, nil
		}
		_ = lock.Close()
	}
	return nil, errors.New("other servers remove it each time")
}

// mine takes the lock of a directory that was just made, and reports whether it still stands: a sweep between the two
// took it for an abandoned one. Where there are no locks nobody sweeps.
func mine(lock *os.File, dir string) bool {
	locked, err := durable.TryLock(lock)
	if errors.Is(err, durable.ErrUnsupported) {
		return true
	}
	return locked && err == nil && stands(lock, dir)
}

func stands(opened *os.File, path string) bool {
	is, err := opened.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(is, named)
}

// Close removes the directory.
func (t *temp) Close() error { return errors.Join(removeTemp(t.path), t.lock.Close()) }

// sweepTemps removes what servers left that were killed: directories of this user whose lock nobody holds.
func sweepTemps(parent string) {
	entries, err := durable.ReadDirectory(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), tempPrefix)
		if is && digits != "" && strings.Trim(digits, "0123456789") == "" && e.IsDir() {
			sweepTemp(filepath.Join(parent, e.Name()))
		}
	}
}

func sweepTemp(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return
	}
	opened, err := durable.OpenDirectory(dir)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(dir, 0o700) == nil { // its command has closed it
		opened, err = durable.OpenDirectory(dir)
	}
	if err != nil {
		return
	}
	defer opened.Close()
	if locked, err := durable.TryLock(opened); err == nil && locked && stands(opened, dir) {
		_ = removeTemp(dir)
	}
}

// removeTemp removes it with all that the command left, also where the command
// took the rights to do so away, or made it deeper than any path reaches.
func removeTemp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	above, err := openDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer above.Close()
	return above.RemoveTree(filepath.Base(dir))
}
