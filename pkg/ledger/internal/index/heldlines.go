package index

import (
	"bytes"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"sync"
)

const (
	maxHeldLines = 256 << 10 // bytes of all lines
	maxHeldLine  = 8 << 10
	// What asks for more is not asked again and again, and would push out what is.
	MaxHeldLimit = 64
)

// heldLines has lines of archives that answered lately: to read one again is to decompress all around it. Archives never
// change, so neither do they. Safe for concurrent use.
type heldLines struct {
	mu    sync.Mutex
	lines map[linePlace][]byte
	size  int
}

type linePlace struct {
	archive string
	offset  int64
}

func (h *heldLines) Get(archive string, offset int64) (segment.Line, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, held := h.lines[linePlace{archive, offset}]
	return segment.Line{Data: data, Offset: offset, Size: int64(len(data)) + 1}, held
}

// Put takes a copy of the line.
func (h *heldLines) Put(archive string, line segment.Line) {
	if len(line.Data) > maxHeldLine {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size += len(line.Data); h.lines == nil || h.size > maxHeldLines {
		h.lines, h.size = map[linePlace][]byte{}, len(line.Data)
	}
	h.lines[linePlace{archive, line.Offset}] = bytes.Clone(line.Data)
}
