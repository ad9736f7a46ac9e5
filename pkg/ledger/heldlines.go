package ledger

import (
	"bytes"
	"sync"
)

const (
	maxHeldLines = 256 << 10 // bytes of all lines
	maxHeldLine  = 8 << 10
	// What asks for more is not asked again and again, and would push out what is.
	maxHeldLimit = 64
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

func (h *heldLines) get(archive string, offset int64) (rawLine, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, held := h.lines[linePlace{archive, offset}]
	return rawLine{data: data, offset: offset, size: int64(len(data)) + 1}, held
}

// put takes a copy of the line.
func (h *heldLines) put(archive string, line rawLine) {
	if len(line.data) > maxHeldLine {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size += len(line.data); h.lines == nil || h.size > maxHeldLines {
		h.lines, h.size = map[linePlace][]byte{}, len(line.data)
	}
	h.lines[linePlace{archive, line.offset}] = bytes.Clone(line.data)
}
