package orchdir

import (
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Held is a directory below .orchestration for who needs it again and again: on Linux it stays open, and is opened anew when
// another one, or none, stands in its place. Elsewhere that can keep a directory from being moved. Its methods may be called
// concurrently.
type Held struct {
	top   *durable.Top
	names []string

	mu   sync.Mutex
	dir  *os.Root    // nil where nothing is held
	info fs.FileInfo // of dir
}

// Hold makes a Held of what [Open] would give. It opens nothing. The root must stay open as long as the Held is used.
func Hold(root *os.Root, names ...string) *Held { return &Held{top: durable.Hold(root), names: names} }

// Open is [Open]. The directory may be used until done.
func (h *Held) Open(create bool) (dir *os.Root, done func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stands() {
		return h.dir, func() {}, nil
	}
	if dir, err = Open(h.top.Root(), create, h.names...); err != nil {
		h.dir = nil
		return nil, nil, err
	}
	if !h.hold(dir) {
		return dir, func() { dir.Close() }, nil
	}
	return dir, func() {}, nil
}

// stands reports whether the directory is still the one that its names lead to, without a link on the way.
func (h *Held) stands() bool {
	if h.dir == nil {
		return false
	}
	at := Name
	now, err := h.top.Lstat(at)
	for _, name := range h.names {
		if err != nil || !now.Mode.IsDir() {
			return false
		}
		at += "/" + name
		now, err = h.top.Lstat(at)
	}
	return err == nil && durable.Same(now, durable.StatInfo(h.info))
}

// hold keeps a directory. The one before is not closed, as somebody may be using it: the collector does.
func (h *Held) hold(dir *os.Root) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	info, err := dir.Stat(".")
	if err != nil {
		return false
	}
	h.dir, h.info = dir, info
	return true
}
