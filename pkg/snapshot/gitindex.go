package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
)

const maxIndex = 256 << 20 // bytes

// gitIndex is the file with git's index, "" where there is none.
func (k *Keeper) gitIndex() string {
	for dir := k.options.Root.Name(); ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			return filepath.Join(at, "index")
		case err == nil && info.Mode().IsRegular():
			if own := gitdir.Pointed(at, "gitdir: "); own != "" {
				return filepath.Join(own, "index")
			}
			return ""
		case filepath.Dir(dir) == dir:
			return ""
		}
	}
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
