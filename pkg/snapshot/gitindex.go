package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const maxIndex = 256 << 20 // bytes

// gitIndex is the file with git's index, "" where there is none.
func (k *Keeper) gitIndex() string {
	dir := k.options.Root.Name()
	for {
		at := filepath.Join(dir, ".git")
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			return filepath.Join(at, "index")
		case err == nil && info.Mode().IsRegular() && info.Size() < 8<<10:
			text, _ := os.ReadFile(at)
			target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if !ok {
				return ""
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			return filepath.Join(target, "index")
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// gitHas gives what git seems to have of contents: those that its index names. It only saves keeping them twice, so
// nothing depends on its being true.
func (k *Keeper) gitHas() func(oid string) bool {
	none := func(string) bool { return false }
	name := k.gitIndex()
	if name == "" {
		return none
	}
	f, err := os.Open(name)
	if err != nil {
		return none
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return none
	}
	index, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return none
	}
	named := blobsOf(index, k.options.NewBlobHash(0).Size())
	return func(oid string) bool { return named[oid] }
}

// Where things stand in git's index, see gitformat-index(5).
const (
	indexHeader   = 12
	statLength    = 40
	extendedFlag  = 0x4000
	pathsAreShort = 4 // the version from which on paths are relative to the one before
)

// blobsOf reads the ids of an index; what cannot be read has none.
func blobsOf(index []byte, idLength int) map[string]bool {
	named := map[string]bool{}
	if len(index) < indexHeader || !bytes.HasPrefix(index, []byte("DIRC")) {
		return named
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	rest := index[indexHeader:]
	for range count {
		fixed := statLength + idLength + 2
		if len(rest) < fixed {
			break
		}
		id := rest[statLength : statLength+idLength]
		flags := binary.BigEndian.Uint16(rest[statLength+idLength:])
		if flags&extendedFlag != 0 && version >= 3 {
			fixed += 2
		}
		named[hex.EncodeToString(id)] = true
		end := bytes.IndexByte(rest[min(fixed, len(rest)):], 0)
		if end < 0 {
			break
		}
		length := (fixed + end + 8) &^ 7
		if version >= pathsAreShort {
			length = fixed + shortPath(rest[fixed:])
		}
		if length > len(rest) {
			break
		}
		rest = rest[length:]
	}
	return named
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
