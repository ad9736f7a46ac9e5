package history

import (
	"bytes"
	"io"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

const (
	maxContent  = 64 << 20 // of a segment that is held
	maxContents = 3        // held at once
	maxBegun    = 1 << 10  // answers remembered for one of them
)

// beginnings holds contents of segments, and tells whether a blob is the beginning of one of them without reading the
// blob: its id is the hash of its size and those bytes. Segments grow at the end, so most are.
type beginnings struct {
	git   *gitdir.Git
	sizes *gitread.Objects
	held  []*heldContent // the last one used last
}

type heldContent struct {
	id    string // of its blob; for a file of the work tree its name
	data  []byte
	begun map[string]bool
}

// keep is a reader of the content that holds it once it has been read to its end, unless it is large.
func (b *beginnings) keep(id string, content io.Reader) io.Reader {
	return &keeper{from: content, in: b, id: id}
}

type keeper struct {
	from io.Reader
	in   *beginnings
	id   string
	data bytes.Buffer
	over bool
}

func (k *keeper) Read(p []byte) (int, error) {
	n, err := k.from.Read(p)
	if k.over = k.over || k.data.Len()+n > maxContent; k.over {
		k.data = bytes.Buffer{}
		return n, err
	}
	k.data.Write(p[:n])
	if err == io.EOF {
		k.in.add(k.id, k.data.Bytes())
		k.over = true
	}
	return n, err
}

func (b *beginnings) add(id string, data []byte) {
	if len(b.held) == maxContents {
		b.held = b.held[1:]
	}
	b.held = append(b.held, &heldContent{id: id, data: data, begun: map[string]bool{}})
}

// known reports whether the blob is the beginning of a content that is held.
func (b *beginnings) known(id string) (bool, error) {
	size, err := b.size(id)
	if err != nil || size < 0 {
		return false, err
	}
	for _, h := range b.held {
		if h.begins(b.git, id, size) {
			return true, nil
		}
	}
	return false, nil
}

// grew reports whether both are beginnings of one content that is held, and the old one is not the longer. What now is
// may also be held as a whole.
func (b *beginnings) grew(old, now string) (bool, error) {
	size, err := b.size(old)
	if err != nil || size < 0 {
		return false, err
	}
	for i, h := range b.held {
		whole := h.id == now
		nowSize := int64(len(h.data))
		if !whole {
			if nowSize, err = b.size(now); err != nil {
				return false, err
			}
		}
		if size <= nowSize && h.begins(b.git, old, size) && (whole || h.begins(b.git, now, nowSize)) {
			b.held = append(append(b.held[:i:i], b.held[i+1:]...), h)
			return true, nil
		}
	}
	return false, nil
}

// size is that of a blob, or -1: a file of the work tree, or no blob at hand.
func (b *beginnings) size(id string) (int64, error) {
	if !gitread.IsID(id) {
		return -1, nil
	}
	found, err := b.sizes.Open(id)
	if err != nil || found.Kind != "blob" {
		return -1, err
	}
	return found.Size, nil
}

func (h *heldContent) begins(git *gitdir.Git, id string, size int64) bool {
	if h.id == id {
		return true
	}
	if size < 0 || size > int64(len(h.data)) || size > 0 && h.data[size-1] != '\n' {
		return false
	}
	is, known := h.begun[id]
	if !known {
		if len(h.begun) == maxBegun {
			clear(h.begun)
		}
		is = git.BlobID(h.data[:size]) == id
		h.begun[id] = is
	}
	return is
}
