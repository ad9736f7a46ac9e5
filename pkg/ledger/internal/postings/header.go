package postings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

const (
	magic      = "omcpidx4"
	headerSize = 192
)

// ErrDamaged: the file, or a part of it, is not what was written.
var ErrDamaged = errors.New("the index is damaged")

type header struct {
	Span
	least, greatest        int64
	rows, entries, buckets int
	keysSize               int64
	directory              uint32
}

func (h *header) encode() []byte {
	le := binary.LittleEndian
	out := append(make([]byte, 0, headerSize), magic...)
	out = append(out, h.Segment[:]...)
	for _, n := range []int64{h.From, h.To, h.Last} {
		out = le.AppendUint64(out, uint64(n))
	}
	out = append(out, h.Line[:]...)
	for _, n := range []int64{h.least, h.greatest} {
		out = le.AppendUint64(out, uint64(n))
	}
	for _, n := range []int{h.rows, h.entries, h.buckets} {
		out = le.AppendUint32(out, uint32(n))
	}
	out = le.AppendUint64(out, uint64(h.keysSize))
	out = le.AppendUint32(out, h.directory)
	whole := uint32(0)
	if h.Whole {
		whole = 1
	}
	out = le.AppendUint32(out, whole)
	out = append(out, make([]byte, headerSize-4-len(out))...)
	return le.AppendUint32(out, crc32.Checksum(out, castagnoli()))
}

// decodeHeader checks that the numbers agree with each other and with the size of the file, so that nothing that is
// allocated by them is larger than the file.
func decodeHeader(data []byte, size int64) (h header, err error) {
	le := binary.LittleEndian
	if string(data[:8]) != magic || le.Uint32(data[headerSize-4:]) != crc32.Checksum(data[:headerSize-4], castagnoli()) {
		return h, fmt.Errorf("%w: header", ErrDamaged)
	}
	at := data[8:]
	at = at[copy(h.Segment[:], at):]
	for _, n := range []*int64{&h.From, &h.To, &h.Last} {
		*n, at = int64(le.Uint64(at)), at[8:]
	}
	at = at[copy(h.Line[:], at):]
	for _, n := range []*int64{&h.least, &h.greatest} {
		*n, at = int64(le.Uint64(at)), at[8:]
	}
	for _, n := range []*int{&h.rows, &h.entries, &h.buckets} {
		*n, at = int(le.Uint32(at)), at[4:]
	}
	h.keysSize, h.directory, h.Whole = int64(le.Uint64(at)), le.Uint32(at[8:]), le.Uint32(at[12:]) == 1
	switch {
	case h.From < 0 || h.Last < h.From || h.To <= h.Last,
		h.rows > MaxRows || bits.OnesCount(uint(h.buckets)) != 1,
		h.keysSize < int64(h.entries) || h.keysSize > size,
		h.keysAt()+h.keysSize != size:
		return h, fmt.Errorf("%w: header", ErrDamaged)
	}
	return h, nil
}

func (h *header) pages() int           { return (h.rows + pageRows - 1) / pageRows }
func (h *header) directorySize() int64 { return 4*int64(h.pages()) + 8*int64(h.buckets) }
func (h *header) rowsAt() int64        { return headerSize + h.directorySize() }
func (h *header) keysAt() int64        { return h.rowsAt() + int64(h.rows)*rowSize }
