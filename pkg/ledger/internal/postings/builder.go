package postings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
)

const (
	rowBits = 24
	rowMask = 1<<rowBits - 1

	// MaxRows is how many rows a run can have.
	MaxRows = 1 << rowBits

	pageRows   = 256
	rowSize    = 16
	bucketKeys = 256 // wanted in each
)

// Key is what rows are found by: 40 bits of a hash, in its upper bits.
type Key uint64

// KeyOf takes what counts of a hash.
func KeyOf(hash uint64) Key { return Key(hash &^ rowMask) }

// Row is one line.
type Row struct {
	Offset uint32 // from the begin of the run
	Marks  uint32 // the caller's
	Time   int64  // the caller's; orders runs
}

// Span is what a run covers of its segment.
type Span struct {
	Segment [32]byte // the caller's name for it
	From    int64
	To      int64
	Last    int64    // where the last line that is covered begins
	Line    [32]byte // its SHA-256
	Whole   bool     // nothing is behind it in the segment, nor will be
}

// Builder holds a run in memory while it grows. Slices of its fields that were taken stay as they are.
type Builder struct {
	Rows    []Row
	Entries []uint64 // sorted within a row only
}

// Add appends a row. Its keys may repeat; they are sorted in place. The caller keeps below MaxRows.
func (b *Builder) Add(row Row, keys []Key) {
	number := uint64(len(b.Rows))
	b.Rows = append(b.Rows, row)
	slices.Sort(keys)
	for i, k := range keys {
		if i == 0 || k != keys[i-1] {
			b.Entries = append(b.Entries, uint64(k)|number)
		}
	}
}

// Append takes over the rows of a run that follows, whose begin is shift behind this one's.
func (b *Builder) Append(next *Builder, shift uint32) {
	number := uint64(len(b.Rows))
	for _, row := range next.Rows {
		row.Offset += shift
		b.Rows = append(b.Rows, row)
	}
	for _, e := range next.Entries {
		b.Entries = append(b.Entries, e+number)
	}
}

// Len is the number of rows.
func (b Builder) Len() int { return len(b.Rows) }

// Page gives the rows of which i is one: all.
func (b Builder) Page(int) (rows []Row, first int, err error) { return b.Rows, 0, nil }

// Find gives the rows that have the key, in order. It goes through all entries.
func (b Builder) Find(k Key) (rows []uint32, err error) {
	for _, e := range b.Entries {
		if Key(e&^rowMask) == k {
			rows = append(rows, uint32(e&rowMask))
		}
	}
	return rows, nil
}

// Times gives the least and the greatest time. Without rows the least is greater.
func (b Builder) Times() (least, greatest int64) {
	least, greatest = math.MaxInt64, math.MinInt64
	for _, row := range b.Rows {
		least, greatest = min(least, row.Time), max(greatest, row.Time)
	}
	return least, greatest
}

// Encode gives the file of a run. It sorts b.Entries in a copy.
func (b *Builder) Encode(span Span) []byte {
	entries := slices.Clone(b.Entries)
	slices.Sort(entries)
	pages := (len(b.Rows) + pageRows - 1) / pageRows
	buckets := 1 << bits.Len(uint(len(entries)/bucketKeys))
	directory := make([]byte, 0, 4*pages+8*buckets)
	rows := make([]byte, 0, len(b.Rows)*rowSize)
	for _, r := range b.Rows {
		rows = binary.LittleEndian.AppendUint32(rows, r.Offset)
		rows = binary.LittleEndian.AppendUint32(rows, r.Marks)
		rows = binary.LittleEndian.AppendUint64(rows, uint64(r.Time))
	}
	for page := range slices.Chunk(rows, pageRows*rowSize) {
		directory = binary.LittleEndian.AppendUint32(directory, crc32.Checksum(page, castagnoli()))
	}
	keys := make([]byte, 0, 4*len(entries))
	for i := range buckets {
		begin := len(keys)
		keys, entries = appendBucket(keys, entries, uint64(i), buckets)
		directory = binary.LittleEndian.AppendUint32(directory, uint32(len(keys)))
		directory = binary.LittleEndian.AppendUint32(directory, crc32.Checksum(keys[begin:], castagnoli()))
	}
	h := header{Span: span, rows: len(b.Rows), entries: len(b.Entries), buckets: buckets, keysSize: int64(len(keys)),
		directory: crc32.Checksum(directory, castagnoli())}
	h.least, h.greatest = b.Times()
	return slices.Concat(h.encode(), directory, rows, keys)
}

// appendBucket encodes the entries of bucket i, and returns those behind it.
func appendBucket(out []byte, entries []uint64, i uint64, buckets int) (_ []byte, rest []uint64) {
	last := lowest(i, buckets)
	for len(entries) > 0 && bucketOf(entries[0], buckets) == i {
		out = binary.AppendUvarint(out, entries[0]-last)
		last, entries = entries[0], entries[1:]
	}
	return out, entries
}

// bucketOf takes the first log2(buckets) bits. A shift by 64 gives 0, which is right for a single bucket.
func bucketOf(entry uint64, buckets int) uint64 {
	return entry >> (64 - bits.TrailingZeros(uint(buckets)))
}

func lowest(bucket uint64, buckets int) uint64 {
	return bucket << (64 - bits.TrailingZeros(uint(buckets)))
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

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
