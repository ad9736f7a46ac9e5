package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// task is a directory to look into.
type task struct {
	parent *handle
	name   string // "" for the top
	path   string
	node   *node
	area   area
}

// handle is an open directory, held by a counted number of tasks.
type handle struct {
	*durable.Dir
	holders atomic.Int32
}

// openTop opens the workspace anew: what a descriptor has listed is shared with its copies.
func openTop(root *os.Root) (*handle, error) {
	dir, err := durable.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return held(dir.OpenDir("."))
}

// openDir opens the directory name, which must be one and no link.
func (h *handle) openDir(name string) (*handle, error) { return held(h.OpenDir(name)) }

func held(dir *durable.Dir, err error) (*handle, error) {
	if err != nil {
		return nil, err
	}
	h := &handle{Dir: dir}
	return h.hold(), nil
}

// reason is an error for a gap, which names the path itself.
func reason(err error) string {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		err = named.Err
	}
	return err.Error()
}

func (h *handle) hold() *handle {
	h.holders.Add(1)
	return h
}

func (h *handle) release() {
	if h.holders.Add(-1) == 0 {
		_ = h.Close()
	}
}
