package postings

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// Run reads a file of this package. Its methods may be called at the same time. It holds the directory in memory,
// about a hundredth of the file.
type Run struct {
	header
	file      io.ReaderAt
	pageSums  []uint32
	bucketEnd []uint32
	bucketSum []uint32
	found     remembered
}

// Open reads header and directory of a file of the given size.
func Open(file io.ReaderAt, size int64) (*Run, error) {
	data := make([]byte, headerSize)
	if err := readFull(file, data, 0); err != nil {
		return nil, err
	}
	h, err := decodeHeader(data, size)
	if err != nil {
		return nil, err
	}
	r := &Run{header: h, file: file}
	directory := make([]byte, h.directorySize())
	if err := readFull(file, directory, headerSize); err != nil {
		return nil, err
	}
	if crc32.Checksum(directory, castagnoli()) != h.directory {
		return nil, fmt.Errorf("%w: directory", ErrDamaged)
	}
	return r, r.decodeDirectory(directory)
}

func (r *Run) decodeDirectory(data []byte) error {
	next := func() uint32 {
		n := binary.LittleEndian.Uint32(data)
		data = data[4:]
		return n
	}
	r.pageSums = make([]uint32, r.pages())
	for i := range r.pageSums {
		r.pageSums[i] = next()
	}
	r.bucketEnd, r.bucketSum = make([]uint32, r.buckets), make([]uint32, r.buckets)
	for i := range r.bucketEnd {
		r.bucketEnd[i], r.bucketSum[i] = next(), next()
	}
	if !slices.IsSorted(r.bucketEnd) || int64(r.bucketEnd[r.buckets-1]) != r.keysSize {
		return fmt.Errorf("%w: directory", ErrDamaged)
	}
	return nil
}

func readFull(file io.ReaderAt, data []byte, at int64) error {
	if n, err := file.ReadAt(data, at); n < len(data) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Span says what the run covers.
func (r *Run) Span() Span { return r.header.Span }

// Len is the number of rows.
func (r *Run) Len() int { return r.rows }

// Times gives the least and the greatest time of the rows.
func (r *Run) Times() (least, greatest int64) { return r.least, r.greatest }

// Find gives the rows that have the key, in order. They are not the caller's to change.
func (r *Run) Find(k Key) (rows []uint32, err error) {
	if rows, known := r.found.get(k); known {
		return rows, nil
	}
	err = r.bucket(bucketOf(uint64(k), r.buckets), func(entry uint64) {
		if Key(entry&^rowMask) == k {
			rows = append(rows, uint32(entry&rowMask))
		}
	})
	if err != nil {
		return nil, err
	}
	r.found.put(k, rows)
	return rows, nil
}

// bucket gives each entry of a bucket, in order.
func (r *Run) bucket(i uint64, yield func(entry uint64)) error {
	begin, end := uint32(0), r.bucketEnd[i]
	if i > 0 {
		begin = r.bucketEnd[i-1]
	}
	data := make([]byte, end-begin)
	if err := readFull(r.file, data, r.keysAt()+int64(begin)); err != nil {
		return err
	}
	if crc32.Checksum(data, castagnoli()) != r.bucketSum[i] {
		return fmt.Errorf("%w: keys", ErrDamaged)
	}
	last := lowest(i, r.buckets)
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		entry := last + step
		if n <= 0 || entry < last || bucketOf(entry, r.buckets) != i || int(entry&rowMask) >= r.rows {
			return fmt.Errorf("%w: keys", ErrDamaged)
		}
		yield(entry)
		last, data = entry, data[n:]
	}
	return nil
}

// Page gives the rows of which i is one, and the number of the first of them.
func (r *Run) Page(i int) (rows []Row, first int, err error) {
	page := i / pageRows
	first = page * pageRows
	rows = make([]Row, min(pageRows, r.rows-first))
	data := make([]byte, len(rows)*rowSize)
	if err := readFull(r.file, data, r.rowsAt()+int64(first)*rowSize); err != nil {
		return nil, 0, err
	}
	if crc32.Checksum(data, castagnoli()) != r.pageSums[page] {
		return nil, 0, fmt.Errorf("%w: rows", ErrDamaged)
	}
	for n := range rows {
		rows[n] = Row{
			Offset: binary.LittleEndian.Uint32(data), Marks: binary.LittleEndian.Uint32(data[4:]),
			Time: int64(binary.LittleEndian.Uint64(data[8:])),
		}
		data = data[rowSize:]
		if int64(rows[n].Offset) > r.Last-r.From || n > 0 && rows[n].Offset <= rows[n-1].Offset {
			return nil, 0, fmt.Errorf("%w: rows", ErrDamaged)
		}
	}
	return rows, first, nil
}

// Load reads the whole run into memory.
func (r *Run) Load() (*Builder, error) {
	b := &Builder{}
	for len(b.Rows) < r.rows {
		rows, _, err := r.Page(len(b.Rows))
		if err != nil {
			return nil, err
		}
		b.Rows = append(b.Rows, rows...)
	}
	for i := range r.buckets {
		if err := r.bucket(uint64(i), func(entry uint64) { b.Entries = append(b.Entries, entry) }); err != nil {
			return nil, err
		}
	}
	return b, nil
}

const (
	maxRemembered     = 64 // keys of a run
	maxRememberedRows = 64 // of a key: what many lines have is found in few runs
)

// remembered has what was found last, so that a question that is asked again reads nothing. Keys that no row has count
// most: they are looked for in every run.
type remembered struct {
	mu   sync.Mutex
	rows map[Key][]uint32
}

func (r *remembered) get(k Key) (rows []uint32, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, known = r.rows[k]
	return rows, known
}

func (r *remembered) put(k Key, rows []uint32) {
	if len(rows) > maxRememberedRows {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil || len(r.rows) >= maxRemembered {
		r.rows = map[Key][]uint32{}
	}
	r.rows[k] = rows
}
