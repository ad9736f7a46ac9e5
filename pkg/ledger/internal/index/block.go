package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// What a key is of.
const (
	ofID      = 'r'
	ofIntent  = 'i'
	ofKind    = 'k'
	ofBoth    = 'b' // an intent and a kind: an intent has many records that only say it was selected
	ofClass   = 'c'
	ofSession = 's'
	ofPath    = 'p' // also of each directory above it, with a final slash
	ofName    = 'n' // what stands behind a path's last slash
)

const (
	blockSize  = 128 << 10
	filterSize = 2 << 10 // bytes
	probes     = 8

	fnvPrime = 1099511628211
)

// Block is some lines of a segment that follow each other.
type Block struct {
	From, To        int64
	Sum             uint32 // CRC-32C of its bytes
	Odd             bool   // it has a line that every query has to look at
	Least, Greatest int64  // bounds of the lines' times, Unix milliseconds
	filter          []byte
}

func newBlock(from int64) Block {
	return Block{From: from, To: from, Least: math.MaxInt64, Greatest: math.MinInt64, filter: make([]byte, filterSize)}
}

// Stands reports whether the content still has the block's bytes where they were.
func (b *Block) Stands(content io.ReaderAt, size int64) bool {
	sum, err := sumOf(content, b.From, b.To)
	return err == nil && b.To <= size && sum == b.Sum
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// buffers are for sums: each question asks for some.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func sumOf(content io.ReaderAt, from, to int64) (uint32, error) {
	sum := crc32.New(castagnoli())
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	_, err := io.CopyBuffer(sum, io.NewSectionReader(content, from, to-from), buf[:])
	return sum.Sum32(), err
}

// add takes in the line behind the block.
func (b *Block) add(line segment.Line) {
	b.To += line.Size
	b.Sum = crc32.Update(crc32.Update(b.Sum, castagnoli(), line.Data), castagnoli(), line.LineEnd())
	if line.TooLong || !b.skim(line.Data) && !b.parse(line.Data) {
		b.Odd = b.Odd || line.TooLong || len(bytes.TrimSpace(line.Data)) > 0
		return
	}
	b.put(keyOfLine(record.Identity(line.Data)))
}

// skim takes the keys from a line in the form in which package record writes them, without parsing it: from the members of
// certain names wherever they stand, which are those that count and perhaps some more. It is false for anything that it
// cannot be sure of, when it may have added some.
func (b *Block) skim(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(record.PrevKey)) || line[len(line)-1] != '}' {
		return false
	}
	var member []byte
	var intents, kinds []string
	timed := false
	for at := bytes.IndexByte(line, ']'); at >= 0; {
		n := bytes.IndexByte(line[at:], '"')
		if n < 0 {
			break
		}
		begin := at + n + 1
		end := endOfText(line, begin)
		if end < 0 || end+1 == len(line) {
			return false
		}
		text := line[begin:end]
		at = end + 1
		switch line[at] {
		case ':':
			if member = text; bytes.IndexByte(text, '\\') >= 0 {
				return false
			}
			continue
		case ',', '}', ']':
		default:
			return false
		}
		switch string(member) {
		case "id", "intent_id", "kind", "mutation_class", "session", "path", "from", "paths", "timestamp":
			if bytes.IndexByte(text, '\\') >= 0 {
				return false
			}
		default:
			continue
		}
		value := string(text)
		switch string(member) {
		case "id":
			b.put(keyOf(ofID, value))
		case "intent_id":
			intents = append(intents, value)
		case "kind":
			kinds = append(kinds, value)
		case "mutation_class":
			b.put(keyOf(ofClass, value))
		case "session":
			b.put(keyOf(ofSession, value))
		case "timestamp":
			t, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				return false
			}
			b.at(t)
			timed = true
		default:
			b.addPath(value)
		}
	}
	b.addIntents(intents, kinds)
	return timed
}

// endOfText finds the quote that ends a string, or gives -1.
func endOfText(line []byte, begin int) int {
	for end := begin; ; end++ {
		n := bytes.IndexByte(line[end:], '"')
		if n < 0 {
			return -1
		}
		end += n
		text := line[begin:end]
		if slashes := len(text) - len(bytes.TrimRight(text, `\`)); slashes%2 == 0 {
			return end
		}
	}
}

// parse takes the keys from the record as every reader sees it.
func (b *Block) parse(line []byte) bool {
	e, err := record.Parse(line)
	if err != nil {
		return false
	}
	b.at(e.Time)
	b.put(keyOf(ofID, e.ID))
	b.put(keyOf(ofClass, e.MutationClass))
	b.put(keyOf(ofSession, e.Session))
	b.addIntents(append(e.Related, e.IntentID), []string{string(e.Kind)})
	record.MatchesPath(e, func(path string) bool {
		b.addPath(path)
		return false
	})
	return true
}

func (b *Block) at(t time.Time) {
	b.Least, b.Greatest = min(b.Least, t.UnixMilli()), max(b.Greatest, t.UnixMilli())
}

func (b *Block) addIntents(intents, kinds []string) {
	for _, kind := range kinds {
		b.put(keyOf(ofKind, kind))
	}
	for _, intent := range intents {
		b.put(keyOf(ofIntent, intent))
		for _, kind := range kinds {
			b.put(keyOf(ofBoth, intent+" "+kind))
		}
	}
}

func (b *Block) addPath(name string) {
	h := hashStart(ofPath)
	for i := range len(name) {
		if h = (h ^ uint64(name[i])) * fnvPrime; name[i] == '/' {
			b.put(finish(h))
		}
	}
	b.put(finish(h))
	b.put(keyOf(ofName, path.Base(name)))
}

// key is a hash of which all bits count.
type key uint64

func keyOfLine(id record.Hash) key { return key(binary.LittleEndian.Uint64(id[:])) }

func keyOf(of byte, text string) key {
	h := hashStart(of)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return finish(h)
}

func hashStart(of byte) uint64 { return (14695981039346656037 ^ uint64(of)) * fnvPrime }

// finish spreads the bits of an FNV-1a hash.
func finish(h uint64) key {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return key(h ^ h>>33)
}

// bits gives the bits of a filter that a key sets.
func (k key) bits() (bits [probes]uint32) {
	at, step := uint32(k), uint32(k>>32)|1
	for i := range bits {
		bits[i] = at % (8 * filterSize)
		at += step
	}
	return bits
}

func (b *Block) put(k key) {
	for _, bit := range k.bits() {
		b.filter[bit/8] |= 1 << (bit % 8)
	}
}

func (b *Block) has(k key) bool {
	for _, bit := range k.bits() {
		if b.filter[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// Wanted is a filter in terms of the index.
type Wanted struct {
	groups       [][]key // of each group, a line has one of the keys
	since, until int64
	text         string // the same
}

// WantedBy is false where the index is of no use: the filter takes every line. The filter's path is one of paths if there are some.
func WantedBy(f record.Filter, paths []string) (w Wanted, selective bool) {
	group := func(of byte, texts ...string) {
		var keys []key
		for _, text := range texts {
			if text != "" {
				keys = append(keys, keyOf(of, text))
			}
		}
		if len(keys) > 0 {
			w.groups = append(w.groups, keys)
		}
	}
	group(ofID, f.ID)
	if hash, err := record.ParseHash(f.ID); err == nil {
		w.groups[0] = append(w.groups[0], keyOfLine(hash))
	}
	group(ofPath, append(slices.Clone(paths), f.Path)...)
	group(ofName, f.Name)
	group(ofClass, f.Class)
	group(ofSession, f.Session)
	var kinds, both []string
	for _, kind := range f.Kinds {
		kinds, both = append(kinds, string(kind)), append(both, f.IntentID+" "+string(kind))
	}
	switch {
	case slices.Contains(kinds, ""): // lines without a kind can have any member of that name
		group(ofIntent, f.IntentID)
	case f.IntentID != "" && len(kinds) > 0:
		group(ofBoth, both...)
	default:
		group(ofIntent, f.IntentID)
		group(ofKind, kinds...)
	}
	w.since, w.until = math.MinInt64, math.MaxInt64
	if !f.Since.IsZero() {
		w.since = f.Since.UnixMilli()
	}
	if !f.Until.IsZero() {
		w.until = f.Until.UnixMilli()
	}
	w.text = fmt.Sprint(w.groups, w.since, w.until)
	return w, len(w.groups) > 0 || !f.Since.IsZero() || !f.Until.IsZero()
}

func (w *Wanted) inTime(b Block) bool { return b.Odd || b.Greatest >= w.since && b.Least <= w.until }

// takes is false for the keys of a block of which no line can match.
func (w *Wanted) takes(has func(key) bool) bool {
	return !slices.ContainsFunc(w.groups, func(keys []key) bool { return !slices.ContainsFunc(keys, has) })
}

// Takes reports whether a block of one line would be read.
func (w *Wanted) Takes(line segment.Line) bool {
	b := newBlock(0)
	b.add(line)
	return b.Odd || w.inTime(b) && w.takes(b.has)
}
