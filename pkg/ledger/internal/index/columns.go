package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"path"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// columns are the filters of a final segment in its file, turned: of each bit of a filter, a bit for each block. So a key
// costs the reading of as many short columns as it sets bits, however many blocks there are.
type columns struct {
	file   *os.File
	begin  int64
	column int // bytes
	err    error
}

func columnSize(blocks int) int { return (blocks + 7) / 8 }

// filtersAt is where they begin in a file, behind the rows.
func filtersAt(blocks int) int64 { return int64(headSize) + int64(blocks)*int64(rowSize) }

// fileSize is that of a final segment's file.
func fileSize(blocks int) int64 { return filtersAt(blocks) + 8*filterSize*int64(columnSize(blocks)) }

func columnsOf(blocks []Block) []byte {
	size := columnSize(len(blocks))
	turned := make([]byte, 8*filterSize*size)
	for i, b := range blocks {
		for at, octet := range b.filter {
			for ; octet != 0; octet &= octet - 1 {
				turned[(8*at+bits.TrailingZeros8(octet))*size+i/8] |= 1 << (i % 8)
			}
		}
	}
	return turned
}

// open gives the columns of a segment whose file was found whole before. ErrStale: it is another one now, or gone.
func (x *Index) open(segment string, blocks int) (*columns, error) {
	file, info, err := durable.OpenRegularIn(x.root, path.Join(indexDir, fileOf(segment)), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStale, err)
	}
	head := make([]byte, headSize)
	_, err = file.ReadAt(head, 0)
	if err != nil || info.Size() != fileSize(blocks) || string(head[:len(magic)]) != magic || binary.LittleEndian.Uint32(head[headSize-4:]) != 1 {
		file.Close()
		return nil, ErrStale
	}
	return &columns{file: file, begin: filtersAt(blocks), column: columnSize(blocks)}, nil
}

// having gives a bit for each block: whether it can have the key.
func (c *columns) having(k key) []byte {
	set, column := all(c.column), make([]byte, c.column)
	for _, bit := range k.bits() {
		if _, err := c.file.ReadAt(column, c.begin+int64(bit)*int64(c.column)); err != nil && c.err == nil {
			c.err = fmt.Errorf("%w: %w", ErrStale, err)
		}
		for i := range set {
			set[i] &= column[i]
		}
	}
	return set
}

// among gives a bit for each block: whether a line of it can be wanted.
func (w *Wanted) among(c *columns) []byte {
	set := all(c.column)
	for _, keys := range w.groups {
		one := make([]byte, c.column)
		for _, k := range keys {
			for i, octet := range c.having(k) {
				one[i] |= octet
			}
		}
		for i := range set {
			set[i] &= one[i]
		}
	}
	return set
}

func all(size int) []byte {
	set := make([]byte, size)
	for i := range set {
		set[i] = 0xff
	}
	return set
}
