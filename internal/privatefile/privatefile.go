// Package privatefile keeps small files of a user, such as keys, outside of every workspace.
//
// It promises that a file appears whole and flushed to disk or not at all, that Create never replaces one that stands, and
// that one that others than its owner can read or write is not used, where the system has permission bits. It does not
// keep a program of the same user from reading it.
package privatefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// ErrUnsafe: others than the owner can read or write the file.
var ErrUnsafe = errors.New("others can read or write the file")

const limit = 64 << 10

// ReadPrivate returns the first 64 KiB of a file that must be its owner's alone.
func ReadPrivate(name string) ([]byte, error) {
	content, info, err := read(name)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o; if nobody else has read it, run chmod 600 on it, else move it away "+
			"to have a new one made", ErrUnsafe, name, info.Mode().Perm())
	}
	return content, nil
}

// Read is ReadPrivate for a file that anybody may read.
func Read(name string) ([]byte, error) {
	content, _, err := read(name)
	return content, err
}

func read(name string) ([]byte, fs.FileInfo, error) {
	file, info, err := durable.OpenRegular(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit))
	return content, info, err
}

// Create makes a file of mode 0600 with this content, and its directory where that is missing; a file that is there
// already stays, and is no error. Whoever needs to know reads it then.
func Create(name, content string) error { return write(name, content, publish) }

// Replace is Create for a file that may stand already, whose content this one takes the place of.
func Replace(name, content string) error { return write(name, content, os.Rename) }

func write(name, content string, place func(temp, name string) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(content)
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return place(temp.Name(), name)
}

// publish gives the file its name unless another process was faster.
func publish(temp, name string) error {
	err := os.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil // whoever came first made the file that is read now
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, name) // a file system without links
}
