package treesitter

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// memories are kept for the next text: a parser that grows its memory page by page would otherwise have it copied each
// time. Nothing of one text is left for the next.
type memories struct{ free sync.Pool }

// Allocate implements experimental.MemoryAllocator.
func (m *memories) Allocate(capacity, _ uint64) experimental.LinearMemory {
	if kept, ok := m.free.Get().(*[]byte); ok {
		return &memory{m, *kept}
	}
	return &memory{m, make([]byte, 0, capacity)}
}

type memory struct {
	from  *memories
	bytes []byte
}

// Reallocate implements experimental.LinearMemory. Memory only grows.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(cap(m.bytes)) {
		grown := make([]byte, size, max(size, min(2*uint64(cap(m.bytes)), memoryPages<<16)))
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	return m.bytes
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	if cap(m.bytes) > 0 && cap(m.bytes) <= keptMemory {
		clear(m.bytes)
		kept := m.bytes[:0]
		m.from.free.Put(&kept)
	}
	m.bytes = nil
}
