//go:build !linux || portable

package snapshot

import (
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

// handle is an open directory, held by a counted number of tasks.
type handle struct {
	root    *os.Root
	holders atomic.Int32
}

func openTop(root *os.Root) (*handle, error) {
	own, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return newHandle(own), nil
}

func newHandle(root *os.Root) *handle {
	h := &handle{root: root}
	h.holders.Store(1)
	return h
}

func (h *handle) hold() *handle {
	h.holders.Add(1)
	return h
}

func (h *handle) release() {
	if h.holders.Add(-1) == 0 {
		_ = h.root.Close()
	}
}

// openDir opens the directory name, which must be one and no link.
func (h *handle) openDir(name string) (*handle, error) {
	named, err := h.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	dir, err := h.root.OpenRoot(name + "/")
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err != nil || !os.SameFile(named, opened) {
		_ = dir.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return newHandle(dir), nil
}

// open opens a file for reading, if it is a regular one.
func (h *handle) open(name string) (*os.File, error) {
	named, err := h.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return h.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (h *handle) readlink(name string) ([]byte, error) {
	text, err := h.root.Readlink(name)
	return []byte(text), err
}

func (h *handle) lstat(name string, into *stat) error {
	info, err := h.root.Lstat(name)
	if err == nil {
		fill(into, info)
	}
	return err
}

// allow is not for here: a directory that is closed is said.
func (h *handle) allow(string, *stat) error { return fs.ErrInvalid }

func fstat(f *os.File, into *stat) error {
	info, err := f.Stat()
	if err == nil {
		fill(into, info)
	}
	return err
}

func fill(into *stat, info fs.FileInfo) {
	*into = stat{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
}

// names gives each name once, in the order of the directory.
func (h *handle) names(_ []byte, visit func(name []byte)) error {
	f, err := h.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		visit([]byte(name))
	}
	return err
}
