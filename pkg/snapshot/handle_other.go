//go:build !linux || portable

package snapshot

import (
	"io/fs"
	"os"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

func (h *handle) lstat(name string, into *stat) error {
	now, err := h.Lstat(name)
	if err == nil {
		fill(into, now)
	}
	return err
}

// allow is not for here: a directory that is closed is said.
func (h *handle) allow(string, *stat) error { return fs.ErrInvalid }

func fstat(f *os.File, into *stat) error {
	now, err := durable.StatFile(f)
	if err == nil {
		fill(into, now)
	}
	return err
}

func fill(into *stat, now durable.Stat) {
	*into = stat{mode: now.Mode, size: now.Size, mtime: now.ModTime.UnixNano()}
}

// names gives each name once.
func (h *handle) names(_ []byte, visit func(name []byte)) error {
	entries, err := h.ReadDir()
	for _, e := range entries {
		visit([]byte(e.Name()))
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

func (*notices) opened() (all bool) { return false }

func (*notices) watch(*handle, *node) {}

func (*notices) forget(*node) {}
