package snapshot

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// What the files of the saved state are made of; see the package's documentation.
const (
	savedDir    = "snapshots"
	savedSuffix = ".base"
	savedMagic  = "snapshot 1 "
	// maxSince is how many entries may have changed since the base before there is a new one.
	maxSince = 1500
	// maxSaved bounds a base that is read, in bytes.
	maxSaved = 512 << 20
)

// saved is an entry of the tree on disk.
type saved struct {
	Path         string
	Gone         bool // since the base
	Mode         fs.FileMode
	UID, GID     uint32
	Size         int64
	Mtime, Ctime int64
	Dev, Ino     uint64
	Links        uint64
	Read         bool
	Hash         []byte
	OID          []byte
	Length       int64
	Text         string
	Open         bool
}

// savedState is what goes into the journal.
type savedState struct {
	Base string
	// Began is when the walk began that found this state.
	Began time.Time
	Since []saved
}

// save is an entry as it is written down; nil is gone.
func (k *Keeper) save(path string, v *version) saved {
	if v == nil {
		return saved{Path: path, Gone: true}
	}
	s := &v.stat
	out := saved{
		Path: path, Mode: s.mode, UID: s.uid, GID: s.gid, Size: s.size, Mtime: s.mtime, Ctime: s.ctime, Dev: s.dev, Ino: s.ino, Links: s.links,
	}
	if d := k.shown(v.digest); d != nil {
		out.Read, out.Length, out.Text, out.Open = true, d.size, d.text, d.open
		out.Hash, _ = hex.DecodeString(strings.TrimPrefix(d.hash, "sha256:"))
		out.OID, _ = hex.DecodeString(d.oid)
	}
	return out
}

func (s *saved) stat() stat {
	return stat{mode: s.Mode, uid: s.UID, gid: s.GID, size: s.Size, mtime: s.Mtime, ctime: s.Ctime, dev: s.Dev, ino: s.Ino, links: s.Links}
}

func (s *saved) digest() *digest {
	if !s.Read {
		return nil
	}
	return &digest{hash: "sha256:" + hex.EncodeToString(s.Hash), oid: hex.EncodeToString(s.OID), size: s.Length, text: s.Text, open: s.Open}
}

// base is one such file of this process.
type base struct {
	name string
	file *os.File // its lock
	uses int      // windows that need it
}

// saveFor is called after a walk for the windows that begin with it.
func (k *Keeper) saveFor(begin []*Window) error {
	if len(begin) == 0 || k.options.State == nil {
		return nil
	}
	if k.base == nil || k.stale || len(k.since) > maxSince {
		err := k.newBase()
		if errors.Is(err, fs.ErrNotExist) && k.base == nil {
			return nil // a workspace that is not initialised has no journal either
		}
		if err != nil {
			return fmt.Errorf("the state before the command could not be saved: %w", err)
		}
		k.stale = false
		k.untidy.Store(true)
	}
	state := savedState{Base: k.base.name, Began: k.last}
	for path, v := range k.since {
		state.Since = append(state.Since, k.save(path, v))
	}
	k.mu.Lock()
	unrecorded := k.unrecorded(begin)
	k.mu.Unlock()
	all := make([][]byte, len(begin))
	for i, w := range begin {
		own := state
		own.Since = slices.Clip(state.Since)
		for _, one := range unrecorded { // out of its scope, that is as it was before
			if !w.inScope(one.Path) {
				own.Since = append(own.Since, one)
			}
		}
		var out bytes.Buffer
		if err := gob.NewEncoder(&out).Encode(own); err != nil {
			return err
		}
		all[i] = out.Bytes()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, w := range begin {
		w.Saved, w.base = all[i], k.base
		k.base.uses++
	}
	return nil
}

// newBase writes the whole state. Only the walker calls it.
func (k *Keeper) newBase() error {
	state, err := k.options.State()
	if err != nil {
		return err
	}
	defer state.Close()
	dir, err := durable.OpenOwn(state, savedDir, 0o700)
	if err != nil {
		return err
	}
	defer dir.Close()
	b, err := createBase(dir)
	if err != nil {
		return err
	}
	err = k.writeBase(b.file)
	if err == nil && k.options.Durable {
		err = durable.FlushDir(dir)
	}
	if err != nil {
		_ = dir.Remove(b.name)
		_ = b.file.Close()
		return err
	}
	k.mu.Lock()
	var unused []*base
	k.older = slices.DeleteFunc(k.older, func(o *base) bool {
		if o.uses == 0 {
			unused = append(unused, o)
		}
		return o.uses == 0
	})
	if k.base != nil {
		k.older = append(k.older, k.base) // the last to end with it may not be recorded yet
	}
	k.base, k.since = b, map[string]*version{}
	k.mu.Unlock()
	for _, o := range unused {
		k.dropBase(o)
	}
	return nil
}

// createBase makes an empty one that this process holds.
func createBase(dir *os.Root) (*base, error) {
	for {
		b := &base{name: rand.Text()[:16] + savedSuffix}
		var err error
		if b.file, err = dir.OpenFile(b.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, err
		}
		held, err := durable.TryLock(b.file)
		if errors.Is(err, durable.ErrUnsupported) {
			return b, nil
		}
		if err == nil && held && durable.Stands(dir, b.name, b.file) {
			return b, nil
		}
		_ = b.file.Close() // another process took it for a dead one's
		if err != nil {
			_ = dir.Remove(b.name)
			return nil, err
		}
	}
}

// writeBase writes the tree behind a header of a known length, which is filled in at the end.
func (k *Keeper) writeBase(f *os.File) error {
	header := savedMagic + strings.Repeat("0", 2*sha256.Size) + "\n"
	if _, err := io.WriteString(f, header); err != nil {
		return err
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(f, 256<<10)
	encoder := gob.NewEncoder(io.MultiWriter(out, sum))
	if err := k.root.each("", func(path string, e *entry) error {
		return encoder.Encode(k.save(path, e.version()))
	}); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(hex.EncodeToString(sum.Sum(nil))), int64(len(savedMagic)))
	if err == nil && k.options.Durable {
		err = f.Sync()
	}
	return err
}

// each visits every entry, a directory before what is in it.
func (n *node) each(at string, visit func(path string, e *entry) error) error {
	var e entry
	for r := n.reader(); r.next(&e); {
		path := join(at, e.name)
		if err := visit(path, &e); err != nil {
			return err
		}
		if e.dir != nil {
			if err := e.dir.each(path, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropBase removes a base that nothing needs any more.
func (k *Keeper) dropBase(b *base) {
	defer b.file.Close()
	state, err := k.options.State()
	if err != nil {
		return
	}
	defer state.Close()
	if dir, err := durable.OpenOwn(state, savedDir, 0); err == nil {
		_ = dir.Remove(b.name)
		_ = dir.Close()
	}
}

// Close removes what was saved. It is called when all windows have ended and are recorded; what one that has not needs is
// left for who settles it.
func (k *Keeper) Close() {
	k.mu.Lock()
	all := k.older
	if k.base != nil {
		all = append(all, k.base)
	}
	k.base, k.older = nil, nil
	k.mu.Unlock()
	for _, b := range all {
		if b.uses > 0 {
			_ = b.file.Close()
		} else {
			k.dropBase(b)
		}
	}
	k.notices.close()
}

var errSaved = errors.New("the state before the command was not saved whole")

// load rebuilds a tree.
func load(state *os.Root, content []byte) (root *node, began time.Time, err error) {
	var s savedState
	if err := gob.NewDecoder(bytes.NewReader(content)).Decode(&s); err != nil {
		return nil, began, fmt.Errorf("%w: %w", errSaved, err)
	}
	entries, err := readBase(state, s.Base)
	if err != nil {
		return nil, began, err
	}
	for _, one := range s.Since {
		entries[one.Path] = one
	}
	return planted(entries, s.Began), s.Began, nil
}

func readBase(state *os.Root, name string) (map[string]saved, error) {
	if strings.ContainsAny(name, `/\`) || !strings.HasSuffix(name, savedSuffix) {
		return nil, errSaved
	}
	dir, err := durable.OpenOwn(state, savedDir, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSaved, err)
	}
	defer dir.Close()
	content, err := durable.ReadRegularIn(dir, name, maxSaved)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSaved, err)
	}
	header, rest, _ := bytes.Cut(content, []byte("\n"))
	sum := sha256.Sum256(rest)
	if string(header) != savedMagic+hex.EncodeToString(sum[:]) {
		return nil, errSaved
	}
	entries := map[string]saved{}
	for decoder := gob.NewDecoder(bytes.NewReader(rest)); ; {
		var one saved
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", errSaved, err)
		}
		entries[one.Path] = one
	}
}

// planted makes a tree of its entries, as they were at a time.
func planted(entries map[string]saved, listed time.Time) *node {
	type plant struct {
		*node
		*writer
	}
	dirs := map[string]plant{"": {newNode(""), &writer{}}}
	for _, path := range slices.Sorted(maps.Keys(entries)) { // a directory before what is in it
		s := entries[path]
		slash := strings.LastIndexByte(path, '/')
		parent, known := dirs[path[:max(slash, 0)]]
		if s.Gone || !known {
			continue
		}
		e := entry{name: path[slash+1:], stat: s.stat(), read: packDigest(s.digest())}
		if e.stat.kind() == Directory {
			e.dir = newNode(e.name)
			dirs[path] = plant{e.dir, &writer{}}
		}
		parent.add(&e)
	}
	for _, p := range dirs {
		p.into(p.node)
		p.listed = listed.UnixNano()
	}
	return dirs[""].node
}
