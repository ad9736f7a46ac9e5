package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"path"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
)

const (
	indexDir = segment.Home + "/cache/index"
	magic    = "omcpidx6"
	headSize = len(magic) + 4 + 4 + 4
	rowSize  = 3*8 + 2*4

	maxFile = 1 << 28 // bytes
)

func fileOf(segment string) string {
	sum := sha256.Sum256([]byte(segment))
	return hex.EncodeToString(sum[:8]) + ".idx"
}

// load reads what is kept of a segment: nothing where there is none, or where it is damaged.
func (x *Index) load(name string) *View {
	data, err := durable.ReadRegularIn(x.root, path.Join(indexDir, fileOf(name)), maxFile)
	if err != nil {
		return &View{}
	}
	return decode(name, data)
}

// write replaces the file of a segment, as another process may do at the same time. It is not flushed: what a power cut leaves
// of it is found by its checksum. Where it cannot be written, what it would have stays in memory.
func (x *Index) write(name string, v *View) {
	dir, err := orchdir.Open(x.root, true, "cache", "index")
	if err != nil {
		return
	}
	defer dir.Close()
	temp := uuid.NewString() + ".tmp"
	if durable.WriteNew(dir, temp, v.encode(name), time.Time{}, false) != nil {
		return
	}
	if dir.Rename(temp, fileOf(name)) != nil {
		_ = dir.Remove(temp)
		return
	}
	v.written = v.end()
}

func (v *View) encode(name string) []byte {
	le, flag := binary.LittleEndian, map[bool]uint32{true: 1}
	data := append(make([]byte, 0, headSize+len(v.blocks)*(rowSize+filterSize+1)), magic...)
	data = append(data, 0, 0, 0, 0)
	data = le.AppendUint32(data, uint32(len(v.whole())))
	data = le.AppendUint32(data, flag[v.final])
	for _, b := range v.whole() {
		for _, n := range []int64{b.To, b.Least, b.Greatest} {
			data = le.AppendUint64(data, uint64(n))
		}
		data = le.AppendUint32(data, b.Sum)
		data = le.AppendUint32(data, flag[b.Odd])
	}
	if v.final {
		data = append(data, columnsOf(v.blocks)...)
	} else {
		for _, b := range v.whole() {
			data = append(data, b.filter...)
		}
	}
	le.PutUint32(data[len(magic):], checksum(name, data))
	return data
}

// checksum is that of the segment's name and what stands behind its own place.
func checksum(name string, data []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(name), castagnoli()), castagnoli(), data[len(magic)+4:])
}

// decode reads what encode gave. Of anything else nothing is known.
func decode(name string, data []byte) *View {
	le := binary.LittleEndian
	if len(data) < headSize || string(data[:len(magic)]) != magic || le.Uint32(data[len(magic):]) != checksum(name, data) {
		return &View{}
	}
	v := &View{final: le.Uint32(data[headSize-4:]) == 1}
	n := int(le.Uint32(data[headSize-8:]))
	begin, size := filtersAt(n), filtersAt(n)+int64(n)*filterSize
	if v.final {
		size = fileSize(n)
	}
	if size != int64(len(data)) {
		return &View{}
	}
	filters := data[begin:]
	for row := range slices.Chunk(data[headSize:begin], rowSize) {
		b := Block{
			From: v.end(), To: int64(le.Uint64(row)), Least: int64(le.Uint64(row[8:])), Greatest: int64(le.Uint64(row[16:])),
			Sum: le.Uint32(row[24:]), Odd: le.Uint32(row[28:]) == 1,
		}
		if !v.final {
			b.filter, filters = filters[:filterSize], filters[filterSize:]
		}
		if b.To <= b.From {
			return &View{}
		}
		v.blocks = append(v.blocks, b)
	}
	v.written = v.end()
	return v
}
