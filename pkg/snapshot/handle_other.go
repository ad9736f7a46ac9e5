//go:build !linux || portable

package snapshot

import (
	"io/fs"
	"os"
	"syscall"
)

// dirHandle is how an open directory is held here.
type dirHandle struct{ root *os.Root }

func (d dirHandle) close() { _ = d.root.Close() }

func openTop(root *os.Root) (*handle, error) {
	own, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return newHandle(dirHandle{own}), nil
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
	return newHandle(dirHandle{dir}), nil
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

// closed: nobody tells.
func closed(*os.File) bool { return false }

// notices tell nothing here, so that everything is looked at.
type notices struct{}

func openNotices() *notices { return nil }

func (*notices) close() {}

func (*notices) take() (all bool) { return false }

func (*notices) watch(*handle, *node) {}
