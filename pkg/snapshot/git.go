package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/fileclock"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
)

// maxStored bounds the entries of git's store that are looked at.
const maxStored = 5000

// GitStore is what of git's store there was before a command: its objects, its logs and the branches of its remotes. Walks
// leave these out. Only what is gone or changed later is found, by names and times of change; what is new is not.
type GitStore struct {
	keeper *Keeper
	start  int64
	files  []string // relative to .git
	dirs   map[string]stat
	packs  map[string]stat // with names elsewhere
	// Short: there was more than is looked at.
	Short bool
}

// StoreChange is a file or directory of git's store that is not as it was.
type StoreChange struct {
	Path string // workspace-relative
	Gone bool
	// Links is how many names the file has.
	Links uint64
	// Loose: its permissions let it be written, as git's never do.
	Loose bool
}

// GitStore looks at it; nil where .git is no directory.
func (k *Keeper) GitStore() *GitStore {
	top := k.gitTop()
	if top == nil {
		return nil
	}
	defer top.release()
	s := &GitStore{keeper: k, start: fileclock.Now(), dirs: map[string]stat{}, packs: map[string]stat{}}
	left := []string{"objects", "logs", "refs/remotes"}
	var newest int64
	for len(left) > 0 && len(s.files)+len(s.dirs) < maxStored {
		dir := left[0]
		left = left[1:]
		var now stat
		if top.lstat(dir, &now) != nil || now.kind() != Directory {
			continue
		}
		s.dirs[dir] = now
		eachName(top, dir, func(h *handle, name string) {
			var of stat
			switch at := path.Join(dir, name); {
			case h.lstat(name, &of) != nil:
			case of.kind() == Directory:
				left = append(left, at)
			default:
				s.files = append(s.files, at)
				newest = max(newest, of.ctime)
				if dir == "objects/pack" && of.links > 1 {
					s.packs[at] = of
				}
			}
		})
	}
	if s.Short = len(left) > 0 || len(s.files) > maxStored; s.Short {
		s.files = s.files[:min(len(s.files), maxStored)]
	}
	// What somebody changed within the clock's last tick must not look as if it came after.
	for until := time.Now().Add(grain); s.start <= newest && time.Now().Before(until); s.start = fileclock.Now() {
		time.Sleep(time.Millisecond)
	}
	return s
}

// eachName visits what is in a directory, as far as it can be looked into; no link on the way is followed.
func eachName(top *handle, dir string, visit func(h *handle, name string)) {
	h := top.hold()
	defer func() { h.release() }()
	for name := range strings.SplitSeq(dir, "/") {
		inner, err := h.openDir(name)
		if err != nil {
			return
		}
		h.release()
		h = inner
	}
	_ = h.names(make([]byte, listing), func(name []byte) { visit(h, string(name)) })
}

func (k *Keeper) gitTop() *handle {
	root, err := openTop(k.options.Root)
	if err != nil {
		return nil
	}
	defer root.release()
	top, err := root.openDir(".git")
	if err != nil {
		return nil
	}
	return top
}

// Changes are what is gone or changed since, sorted.
func (s *GitStore) Changes() []StoreChange {
	top := s.keeper.gitTop()
	if top == nil {
		return []StoreChange{{Path: ".git", Gone: true}}
	}
	defer top.release()
	var found []StoreChange
	gone := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(s.dirs)) { // what is above first
		was := s.dirs[dir]
		if gone[path.Dir(dir)] {
			gone[dir] = true
			continue
		}
		var now stat
		if top.lstat(dir, &now) != nil || now.kind() != Directory || !was.sameInode(&now) && was.ino != 0 {
			gone[dir] = true
			found = append(found, StoreChange{Path: ".git/" + dir, Gone: true})
		} else if !was.sameRights(&now) {
			found = append(found, StoreChange{Path: ".git/" + dir, Loose: true})
		}
	}
	for _, name := range s.files {
		var now stat
		switch err := top.lstat(name, &now); {
		case gone[path.Dir(name)]:
		case err != nil:
			found = append(found, StoreChange{Path: ".git/" + name, Gone: true})
		case now.ctime >= s.start:
			found = append(found, StoreChange{Path: ".git/" + name, Links: now.links, Loose: now.mode&0o222 != 0 || now.mode&fs.ModeType != 0})
		}
	}
	return inOrder(found)
}

// Packs are the changes of packs that have names elsewhere.
func (s *GitStore) Packs() []StoreChange {
	top := s.keeper.gitTop()
	if top == nil {
		return nil
	}
	defer top.release()
	var found []StoreChange
	for name, was := range s.packs {
		var now stat
		if top.lstat(name, &now) != nil || !was.sameInode(&now) {
			continue // the other names keep what they have
		}
		if !was.sameRights(&now) || was.mtime != now.mtime || was.size != now.size || was.links == now.links && was.ctime != now.ctime {
			found = append(found, StoreChange{Path: ".git/" + name, Links: now.links, Loose: now.mode&0o222 != 0})
		}
	}
	return inOrder(found)
}

func inOrder(found []StoreChange) []StoreChange {
	slices.SortFunc(found, func(a, b StoreChange) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

const maxIndex = 256 << 20 // bytes

// gitIndex is the file with git's index, "" where there is none.
func (k *Keeper) gitIndex() string {
	_, dir := gitdir.New(k.options.Root.Name()).Find()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "index")
}

// gitHas gives what git seems to have of contents: those that its index names. It only saves keeping them twice, so
// nothing depends on its being true.
func (k *Keeper) gitHas() func(oid string) bool {
	index, _ := durable.ReadRegular(k.gitIndex(), maxIndex)
	named := map[string]bool{}
	eachEntry(index, k.options.NewBlobHash(0).Size(), func(e indexEntry) { named[hex.EncodeToString(e.id)] = true })
	return func(oid string) bool { return named[oid] }
}

// Where things stand in git's index, see gitformat-index(5).
const (
	indexHeader   = 12
	modeAt        = 24
	statLength    = 40
	extendedFlag  = 0x4000
	pathsAreShort = 4 // the version from which on paths are relative to the one before
)

// indexEntry is what an entry of the index says of a file, without what only saves git a look at it.
type indexEntry struct {
	mode, id, path []byte // path as it stands there
	stage          byte
}

func eachEntry(index []byte, idLength int, visit func(indexEntry)) {
	if len(index) < indexHeader || !bytes.HasPrefix(index, []byte("DIRC")) {
		return
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	rest := index[indexHeader:]
	for range count {
		fixed := statLength + idLength + 2
		if len(rest) < fixed {
			return
		}
		flags := binary.BigEndian.Uint16(rest[statLength+idLength:])
		e := indexEntry{mode: rest[modeAt : modeAt+4], id: rest[statLength : statLength+idLength], stage: byte(flags >> 12 & 3)}
		if flags&extendedFlag != 0 && version >= 3 {
			fixed += 2
		}
		end := bytes.IndexByte(rest[min(fixed, len(rest)):], 0)
		if end < 0 {
			visit(e)
			return
		}
		length := (fixed + end + 8) &^ 7
		if version >= pathsAreShort {
			length = fixed + shortPath(rest[fixed:])
		}
		e.path = rest[fixed:min(length, len(rest))]
		visit(e)
		if length > len(rest) {
			return
		}
		rest = rest[length:]
	}
}

// Index describes what git's index says is to be committed: the same text for two that say the same, whatever they
// remember of times; "" where there is no index, or one that is too large.
func (k *Keeper) Index() string {
	index, err := durable.ReadRegular(k.gitIndex(), maxIndex)
	if err != nil {
		return ""
	}
	sum := sha256.New()
	eachEntry(index, k.options.NewBlobHash(0).Size(), func(e indexEntry) {
		for _, part := range [][]byte{e.mode, e.id, {e.stage}, e.path, {0}} {
			sum.Write(part)
		}
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// IndexWritten tells one state of the file with the index from every other, without reading it.
func (k *Keeper) IndexWritten() string {
	info, err := os.Lstat(k.gitIndex())
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// shortPath is the length of a path of version 4: how much of the one before falls away, and text up to a NUL.
func shortPath(rest []byte) int {
	n := 0
	for n < len(rest) && rest[n]&0x80 != 0 {
		n++
	}
	n++
	end := bytes.IndexByte(rest[min(n, len(rest)):], 0)
	if end < 0 {
		return len(rest) + 1
	}
	return n + end + 1
}
