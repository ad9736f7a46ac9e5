package kept

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// overhead is more than compression and the paths can add to a content.
const overhead = 1 << 20

// validID: git's ids are lower-case hexadecimal, of SHA-1 or SHA-256.
func validID(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && (len(id) == 2*sha1.Size || len(id) == 2*sha256.Size) && id == strings.ToLower(id)
}

// matches reports whether content is the blob that id names.
func matches(id string, content []byte) bool {
	var h hash.Hash = sha1.New()
	if len(id) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil)) == id
}

// Get gives a content, if it is kept and is what its id says. It must not be changed.
func (s *Store) Get(id string) ([]byte, bool) {
	if !validID(id) {
		return nil, false
	}
	if matches(id, nil) {
		return []byte{}, true // it needs no keeping
	}
	dir, done, err := s.dir.Open(false)
	if err != nil {
		return nil, false
	}
	defer done()
	if content, err := s.read(dir, id); err == nil {
		return content, true
	}
	s.seen.look(dir)
	content, err := s.read(dir, id)
	return content, err == nil
}

func (s *Store) read(dir *os.Root, id string) ([]byte, error) {
	at, ok := s.seen.find(id)
	if !ok {
		return nil, fs.ErrNotExist
	}
	file, _, err := durable.OpenRegularIn(dir, at.pack.name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw := make([]byte, slotSize)
	if _, err := file.ReadAt(raw, int64(at.index)*slotSize); err != nil {
		return nil, err
	}
	one, _ := decode(raw)
	if one.size > s.options.Largest+overhead {
		return nil, durable.ErrTooLarge
	}
	content, err := s.unpack(io.NewSectionReader(file, one.at, one.size))
	if err == nil && !matches(id, content) {
		err = errors.New("another content")
	}
	return content, err
}

// unpack never gives, and never holds, more than the largest content: the file is not to be trusted.
func (s *Store) unpack(packed io.Reader) ([]byte, error) {
	decoder, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(s.options.Largest)+1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(decoder, s.options.Largest+1))
	if err == nil && n > s.options.Largest {
		err = errors.New("the content is larger than any that is kept")
	}
	return content.Bytes(), err
}

// seen is what a process knows of all packs: for each content the slot that it was last found in. It takes some 30 bytes for
// each, so it has no more of an id than eight bytes: what is found must be looked at.
type seen struct {
	mu    sync.Mutex
	packs map[string]*seenPack
	at    map[uint64]place
}

type seenPack struct {
	name  string
	slots int
	info  fs.FileInfo // when it was last read
	old   bool        // its time was long ago then: with the same time it is the same
}

type place struct {
	pack  *seenPack
	index uint16
}

func keyOf(id string) uint64 {
	var digest [8]byte
	_, _ = hex.Decode(digest[:], []byte(id[:min(len(id), 2*len(digest))]))
	return binary.LittleEndian.Uint64(digest[:])
}

func (k *seen) find(id string) (place, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.at[keyOf(id)]
	return at, ok
}

// look reads what has come since the last time. A pack that cannot be read has nothing.
func (k *seen) look(dir *os.Root) {
	k.mu.Lock()
	defer k.mu.Unlock()
	names, _ := packsIn(dir)
	packs := map[string]*seenPack{}
	var come []found
	for _, name := range names {
		p := k.packs[name]
		if p == nil {
			p = &seenPack{name: name}
		}
		packs[name] = p
		come = append(come, p.read(dir)...)
	}
	k.packs = packs
	maps.DeleteFunc(k.at, func(_ uint64, at place) bool { return packs[at.pack.name] != at.pack })
	// What was put last counts, as an earlier one may be damaged.
	slices.SortStableFunc(come, func(a, b found) int { return a.put.Compare(b.put) })
	for _, f := range come {
		k.at[keyOf(f.id)] = f.place
	}
}

type found struct {
	slot
	place
}

// read gives what has come to a pack.
func (p *seenPack) read(dir *os.Root) (come []found) {
	info, err := dir.Lstat(p.name)
	if err != nil || p.old && p.info.ModTime().Equal(info.ModTime()) && os.SameFile(p.info, info) {
		return nil
	}
	file, _, err := durable.OpenRegularIn(dir, p.name, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	table, err := readTable(file, p.slots)
	if err != nil {
		return nil
	}
	for i, s := range table {
		if s.id != "" {
			come = append(come, found{s, place{p, uint16(p.slots + i)}})
		}
	}
	p.slots += len(table)
	p.info, p.old = info, time.Since(info.ModTime()) > 2*time.Second
	return come
}
