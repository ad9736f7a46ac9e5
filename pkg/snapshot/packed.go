package snapshot

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"strings"
)

// The entries of a directory are kept as one text, in which each is told by how it differs from the one before it:
//
//	its flags, a byte, and its name, as a text: its length, and the bytes
//	with the flag anew: mode, uid, gid, dev, links; else those are what they were for the one before
//	size; mtime and ino, less those of the one before; ctime less its mtime
//	with the flag read: a text, the content (see packDigest)
//
// All numbers are varints (encoding/binary); what can be less is signed. A tree of source files takes 80 to 90 bytes for a
// file, most of it the two hashes, and no pointer that a collector would follow.
const (
	flagAnew byte = 1 << iota
	flagRead
)

// Flags of a content.
const (
	flagSecret byte = 1 << iota
	flagOpen
)

// reader gives the packed entries of a directory in their order. Names share the packed text's memory.
type reader struct {
	rest string
	dirs []*node // those that are still to come
	last stat
}

func (n *node) reader() reader { return reader{rest: n.packed, dirs: n.dirs} }

// next reports whether there is one, and gives it.
func (r *reader) next(e *entry) bool {
	if r.rest == "" {
		return false
	}
	flags := r.rest[0]
	r.rest = r.rest[1:]
	e.name = r.text()
	s := &r.last
	if flags&flagAnew != 0 {
		s.mode = fs.FileMode(r.number())
		s.uid, s.gid = uint32(r.number()), uint32(r.number())
		s.dev, s.links = r.number(), r.number()
	}
	s.size = int64(r.number())
	s.mtime += r.signed()
	s.ctime = s.mtime + r.signed()
	s.ino += uint64(r.signed())
	e.stat, e.read, e.dir = *s, "", nil
	if flags&flagRead != 0 {
		e.read = digestText(r.text())
	}
	if s.mode.IsDir() {
		e.dir, r.dirs = r.dirs[0], r.dirs[1:]
	}
	return true
}

// number is binary.Uvarint of a text, which need not be copied for that.
func (r *reader) number() uint64 {
	var n uint64
	for i := 0; ; i++ {
		b := r.rest[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
}

func (r *reader) signed() int64 {
	n := r.number()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) text() string {
	n := r.number()
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// writer packs entries.
type writer struct {
	packed []byte
	dirs   []*node
	inos   span
	last   stat
}

// begin empties it, and takes over what a reader has read of a directory.
func (w *writer) begin(n *node, r *reader) {
	w.packed = append(w.packed[:0], n.packed[:len(n.packed)-len(r.rest)]...)
	w.dirs = append(w.dirs[:0], n.dirs[:len(n.dirs)-len(r.dirs)]...)
	w.inos, w.last = n.inos, r.last
}

func (w *writer) add(e *entry) {
	s, last := &e.stat, &w.last
	var flags byte
	anew := s.mode != last.mode || s.uid != last.uid || s.gid != last.gid || s.dev != last.dev || s.links != last.links
	if anew {
		flags |= flagAnew
	}
	if e.read != "" {
		flags |= flagRead
	}
	b := appendText(append(w.packed, flags), e.name)
	if anew {
		for _, n := range [...]uint64{uint64(s.mode), uint64(s.uid), uint64(s.gid), s.dev, s.links} {
			b = binary.AppendUvarint(b, n)
		}
	}
	b = binary.AppendUvarint(b, uint64(s.size))
	b = binary.AppendVarint(b, s.mtime-last.mtime)
	b = binary.AppendVarint(b, s.ctime-s.mtime)
	b = binary.AppendVarint(b, int64(s.ino-last.ino))
	if e.read != "" {
		b = appendText(b, string(e.read))
	}
	if s.mode.IsDir() {
		w.dirs = append(w.dirs, e.dir)
	}
	w.inos.add(s.ino)
	w.packed, w.last = b, *s
}

// into has a directory keep what was written.
func (w *writer) into(n *node) {
	n.packed = string(w.packed)
	n.dirs, n.inos = append(make([]*node, 0, len(w.dirs)), w.dirs...), w.inos
	clear(w.dirs)
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// digestText is a digest as it is kept: its flags, a byte; its size; and as texts the bytes of its hash, those of its oid,
// and the text of a link. "" is none.
type digestText string

func packDigest(d *digest) digestText {
	if d == nil {
		return ""
	}
	var flags byte
	if d.secret {
		flags |= flagSecret
	}
	if d.open {
		flags |= flagOpen
	}
	b := binary.AppendUvarint(append(make([]byte, 0, 80+len(d.text)), flags), uint64(d.size))
	for _, sum := range [...]string{strings.TrimPrefix(d.hash, hashPrefix), d.oid} {
		raw, _ := hex.DecodeString(sum)
		b = appendText(b, string(raw))
	}
	return digestText(appendText(b, d.text))
}

const hashPrefix = "sha256:"

func (t digestText) digest() *digest {
	if t == "" {
		return nil
	}
	r := reader{rest: string(t[1:])}
	d := &digest{secret: t[0]&flagSecret != 0, open: t.open(), size: int64(r.number())}
	d.hash = hashPrefix + hex.EncodeToString([]byte(r.text()))
	d.oid = hex.EncodeToString([]byte(r.text()))
	d.text = strings.Clone(r.text()) // what is kept longer must not hold the whole directory
	return d
}

func (t digestText) open() bool { return t != "" && t[0]&flagOpen != 0 }
