package kept

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	suffix = ".pack"
	// slots are as many contents as a pack can have.
	slots     = 4096
	slotSize  = 64
	tableSize = slots * slotSize
	// erased stands for the length of the digest in the slot of a content that was taken out.
	erased = 0xff
	// maxDigest is the length of the longest digest that is an id, in bytes.
	maxDigest = 32
	// maxPack bounds what is believed of the place of a content, in bytes.
	maxPack = 1 << 40
)

// slot says where a content is in its pack.
type slot struct {
	id       string // "" where it was taken out
	at, size int64
	put      time.Time
}

func (s slot) encode() []byte {
	b := make([]byte, slotSize)
	b[0] = erased
	if digest, err := hex.DecodeString(s.id); err == nil && s.id != "" {
		b[0] = byte(copy(b[slotSize-maxDigest:], digest))
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(s.at))
	binary.LittleEndian.PutUint64(b[16:], uint64(s.size))
	binary.LittleEndian.PutUint64(b[24:], uint64(s.put.UnixNano()))
	return b
}

// decode reads what encode wrote, whoever wrote it: no slot reaches out of its pack's data.
func decode(b []byte) (s slot, used bool) {
	s.at, s.size = int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))
	s.put = time.Unix(0, int64(binary.LittleEndian.Uint64(b[24:])))
	if s.at < tableSize || s.at > maxPack || s.size < 0 || s.size > maxPack {
		s.at, s.size = tableSize, 0
	}
	if b[0] <= maxDigest {
		s.id = hex.EncodeToString(b[slotSize-maxDigest:][:b[0]])
	}
	return s, b[0] != 0
}

// readTable gives the used slots of a pack from the first on.
func readTable(pack io.ReaderAt, first int) (table []slot, err error) {
	for chunk := 4 << 10; first < slots; chunk *= 4 {
		raw := make([]byte, min(chunk, tableSize-first*slotSize))
		n, err := pack.ReadAt(raw, int64(first)*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for one := range slices.Chunk(raw[:n-n%slotSize], slotSize) {
			s, used := decode(one)
			if !used {
				return table, nil
			}
			table = append(table, s)
			first++
		}
		if n < len(raw) {
			break
		}
	}
	return table, nil
}

// endOf is where the data of a pack ends.
func endOf(table []slot) int64 {
	end := int64(tableSize)
	for _, s := range table {
		end = max(end, s.at+s.size)
	}
	return end
}

// takeOut overwrites a content, and then says in its slot that it is gone.
func takeOut(pack io.WriterAt, index int, s slot) error {
	zeros := make([]byte, min(s.size, 1<<20))
	for done := int64(0); done < s.size; done += int64(len(zeros)) {
		if _, err := pack.WriteAt(zeros[:min(s.size-done, int64(len(zeros)))], s.at+done); err != nil {
			return err
		}
	}
	s.id = ""
	_, err := pack.WriteAt(s.encode(), int64(index)*slotSize)
	return err
}

// pack is the one that a store adds to. Nobody else does, as long as it is locked.
type pack struct {
	name  string
	file  *os.File
	begun time.Time
	next  int   // the first free slot
	end   int64 // of the data
	added map[string]added

	data, table []byte // to be written behind end and next
}

// added is what this process has put into its pack.
type added struct {
	slot
	index int // in the table
	paths paths
}

// newPack makes one, or goes on with one that a process began which is no more.
func newPack(dir *os.Root, now time.Time, full func(*pack) bool) (*pack, error) {
	names, err := packsIn(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if p := adopt(dir, name, now); p != nil {
			if !full(p) {
				return p, nil
			}
			p.file.Close()
		}
	}
	name := rand.Text() + suffix
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, _ = durable.TryLock(file) // where there are no locks nobody adopts it
	return &pack{name: name, file: file, begun: now, end: tableSize, added: map[string]added{}}, nil
}

// adopt takes a pack over that nobody holds, and is nil if it cannot.
func adopt(dir *os.Root, name string, now time.Time) *pack {
	file, _, err := durable.OpenRegularIn(dir, name, os.O_RDWR)
	if err != nil {
		return nil
	}
	locked, err := durable.TryLock(file)
	if err == nil && locked && durable.Stands(dir, name, file) {
		if table, err := readTable(file, 0); err == nil {
			p := &pack{name: name, file: file, begun: now, next: len(table), end: endOf(table), added: map[string]added{}}
			if len(table) > 0 {
				p.begun = table[0].put
			}
			return p
		}
	}
	file.Close()
	return nil
}

// add has a content written by the next flush.
func (p *pack) add(one slot, packed []byte, of paths) {
	one.at, one.size = p.end+int64(len(p.data)), int64(len(packed))
	p.data, p.table = append(p.data, packed...), append(p.table, one.encode()...)
	p.added[one.id] = added{one, p.next + len(p.table)/slotSize - 1, of}
}

// flush writes what was added: the contents first, so that no slot is there before its content.
func (p *pack) flush() error {
	_, err := p.file.WriteAt(p.data, p.end)
	if err == nil {
		_, err = p.file.WriteAt(p.table, int64(p.next)*slotSize)
	}
	p.end, p.next = p.end+int64(len(p.data)), p.next+len(p.table)/slotSize
	p.data, p.table = p.data[:0], p.table[:0]
	return err
}

// renew gives a content that was added another time, and reports whether it is still there.
func (p *pack) renew(a added, put time.Time) bool {
	raw := make([]byte, slotSize)
	if _, err := p.file.ReadAt(raw, int64(a.index)*slotSize); err != nil {
		return false
	}
	if s, used := decode(raw); !used || s.id != a.id {
		return false
	}
	if put.Sub(a.put) < refresh {
		return true
	}
	a.put = put
	_, err := p.file.WriteAt(a.encode(), int64(a.index)*slotSize)
	p.added[a.id] = a
	return err == nil
}

// openPack opens one by its name; it is nil where another process has removed it.
func openPack(dir *os.Root, name string, flags int) (*os.File, error) {
	file, _, err := durable.OpenRegularIn(dir, name, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// packsIn are the names of the packs in the store's directory.
func packsIn(dir *os.Root) ([]string, error) {
	entries, err := durable.ReadDirectoryIn(dir, ".")
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
