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
	held  []heldContent // the last one used last
}

type heldContent struct {
	id    string // of its blob; for a file of the work tree its name
	data  []byte
	begun map[string]int // the size of a blob that begins it, by id; none for another one
}

const none = -1

// hold reads a content to hold it, unless it is large, and gives it again.
func (b *beginnings) hold(id string, content io.Reader) (io.Reader, error) {
	data, err := io.ReadAll(io.LimitReader(content, maxContent+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxContent {
		return io.MultiReader(bytes.NewReader(data), content), nil
	}
	b.held = append(b.held[max(0, len(b.held)+1-maxContents):], heldContent{id, data, map[string]int{id: len(data)}})
	return bytes.NewReader(data), nil
}

// fits tells by their sizes whether a version of a segment can be the beginning of one that can be held. A size is known of
// blobs only.
func (b *beginnings) fits(old, now string) (bool, error) {
	if !gitread.IsID(now) {
		return true, nil
	}
	after, err := b.sizes.Open(now)
	if err != nil {
		return false, err
	}
	before, err := b.sizes.Open(old)
	return before.Size <= after.Size && after.Size <= maxContent, err
}

// known reports whether the blob is the beginning of a content that is held.
func (b *beginnings) known(id string) (bool, error) {
	for _, h := range b.held {
		if size, err := b.begins(h, id); err != nil || size != none {
			return err == nil, err
		}
	}
	return false, nil
}

// grew reports whether both are beginnings of one content that is held, and the old one is not the longer.
func (b *beginnings) grew(old, now string) (bool, error) {
	for i, h := range b.held {
		before, err := b.begins(h, old)
		if err != nil {
			return false, err
		}
		after, err := b.begins(h, now)
		if err != nil {
			return false, err
		}
		if before != none && before <= after {
			b.held = append(append(b.held[:i:i], b.held[i+1:]...), h)
			return true, nil
		}
	}
	return false, nil
}

// begins gives the size of a blob that begins a content; none if it does not, or is none.
func (b *beginnings) begins(h heldContent, id string) (int, error) {
	if size, known := h.begun[id]; known || !gitread.IsID(id) {
		if !known {
			size = none
		}
		return size, nil
	}
	found, err := b.sizes.Open(id)
	if err != nil {
		return none, err
	}
	if len(h.begun) == maxBegun {
		clear(h.begun)
		h.begun[h.id] = len(h.data)
	}
	size := none
	if n := int(found.Size); found.Kind == "blob" && n <= len(h.data) && (n == 0 || h.data[n-1] == '\n') && b.git.BlobID(h.data[:n]) == id {
		size = n
	}
	h.begun[id] = size
	return size, nil
}
