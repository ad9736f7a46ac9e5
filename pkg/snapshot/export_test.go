package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// BlobsOf reads the ids of a git index.
func BlobsOf(index []byte, idLength int) map[string]bool {
	named := map[string]bool{}
	eachEntry(index, idLength, func(e indexEntry) { named[hex.EncodeToString(e.id)] = true })
	return named
}

// ExplainedUnread is explained for a file whose content was not read before the command; an empty after is no file.
func ExplainedUnread(after string, writes ...*Write) (last *Write, ok bool) {
	d := delta{path: "file", before: &version{}}
	if after != "" {
		d.after = &version{digest: &digest{hash: after}}
	}
	return explained(&d, writes, true)
}

// Age has all that was looked at so far changed long before it was.
func (k *Keeper) Age() { k.root.age() }

func (n *node) age() {
	n.listed += int64(time.Hour)
	for _, dir := range n.dirs {
		dir.age()
	}
}

// AgeSaved is Age for a saved state.
func AgeSaved(content []byte) ([]byte, error) {
	var s savedState
	if err := gob.NewDecoder(bytes.NewReader(content)).Decode(&s); err != nil {
		return nil, err
	}
	s.Began = s.Began.Add(time.Hour)
	var out bytes.Buffer
	err := gob.NewEncoder(&out).Encode(s)
	return out.Bytes(), err
}

// ReadAgain are the files that are read again at the next look.
func (k *Keeper) ReadAgain() (paths []string) {
	_ = k.root.each("", func(path string, e *entry) error {
		if e.read.open() {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// taker takes numbers from the bytes of a fuzzer.
type taker []byte

func (t *taker) take(n int) []byte {
	n = min(n, len(*t))
	taken := (*t)[:n]
	*t = (*t)[n:]
	return taken
}

func (t *taker) number() (n uint64) {
	size := 0
	if of := t.take(1); len(of) > 0 {
		size = int(of[0] % 9)
	}
	for _, b := range t.take(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (t *taker) entry() *entry {
	e := &entry{name: string(t.take(int(t.number() % 300)))}
	e.stat = stat{
		mode: fs.FileMode(t.number()), uid: uint32(t.number()), gid: uint32(t.number()), size: int64(t.number() >> 1), mtime: int64(t.number()),
		ctime: int64(t.number()), dev: t.number(), ino: t.number(), links: t.number(),
	}
	if e.stat.mode.IsDir() {
		e.dir = newNode(e.name)
	}
	if kind := t.number(); kind%2 == 1 {
		e.read = packDigest(&digest{
			hash: hashPrefix + hex.EncodeToString(t.take(32)), oid: hex.EncodeToString(t.take(20)), size: int64(t.number() >> 1), text: string(t.take(9)),
			secret: kind&2 != 0, open: kind&4 != 0,
		})
	}
	return e
}

// PackAndRead packs entries made of some bytes.
func PackAndRead(data []byte) error {
	var entries []*entry
	var w writer
	for rest := taker(data); len(rest) > 0; {
		e := rest.entry()
		w.add(e)
		entries = append(entries, e)
	}
	n := newNode("")
	w.into(n)
	for taken := range len(entries) + 1 {
		var e entry
		var again writer
		r := n.reader()
		for i, want := range entries {
			if i == taken {
				again.begin(n, &r)
			}
			if !r.next(&e) || e != *want {
				return fmt.Errorf("%+v became %+v", want, e)
			}
			if i >= taken {
				again.add(&e)
			}
			if d := e.read.digest(); packDigest(d) != e.read {
				return fmt.Errorf("the content %+v became %q", d, e.read)
			}
		}
		if r.next(&e) {
			return fmt.Errorf("%+v is one too many", e)
		}
		if other := newNode(""); taken < len(entries) {
			if again.into(other); other.packed != n.packed || !slices.Equal(other.dirs, n.dirs) {
				return fmt.Errorf("packed again after %d of %d they differ", taken, len(entries))
			}
		}
	}
	return nil
}

// PackedSize is what a directory with some files takes, in bytes.
func PackedSize(files int) int {
	var w writer
	now := time.Now().UnixNano()
	for i := range files {
		sum := sha256.Sum256([]byte{byte(i)})
		now += int64(i) * int64(time.Millisecond)
		w.add(&entry{
			name: fmt.Sprintf("component%d.go", i), stat: stat{mode: 0o644, uid: 1000, gid: 1000, size: 4000 + int64(i), mtime: now, ctime: now, dev: 64768, ino: uint64(1_000_000 + i), links: 1},
			read: packDigest(&digest{hash: hashPrefix + hex.EncodeToString(sum[:]), oid: hex.EncodeToString(sum[:20]), size: 4000 + int64(i)}),
		})
	}
	return len(w.packed)
}
