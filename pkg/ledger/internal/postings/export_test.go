package postings

import (
	"encoding/binary"
	"hash/crc32"
)

// Sign makes every checksum of a file right, as far as its numbers let it be read at all.
func Sign(data []byte) {
	le := binary.LittleEndian
	if len(data) < headerSize {
		return
	}
	sum := func(part []byte) uint32 { return crc32.Checksum(part, castagnoli()) }
	sign := func() { le.PutUint32(data[headerSize-4:], sum(data[:headerSize-4])) }
	copy(data, magic)
	sign()
	h, err := decodeHeader(data, int64(len(data)))
	if err != nil {
		return
	}
	directory := data[headerSize:h.rowsAt()]
	rows := data[h.rowsAt():h.keysAt()]
	for i := range h.pages() {
		page := rows[i*pageRows*rowSize : min(len(rows), (i+1)*pageRows*rowSize)]
		le.PutUint32(directory[4*i:], sum(page))
	}
	keys, begin := data[h.keysAt():], uint32(0)
	for i := range h.buckets {
		at := directory[4*h.pages()+8*i:]
		end := le.Uint32(at)
		if end < begin || int64(end) > h.keysSize {
			break
		}
		le.PutUint32(at[4:], sum(keys[begin:end]))
		begin = end
	}
	h.directory = sum(directory)
	copy(data, h.encode())
}
