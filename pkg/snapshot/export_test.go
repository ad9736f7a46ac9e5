package snapshot

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
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
	n.listed = n.listed.Add(time.Hour)
	for i := range n.entries {
		if dir := n.entries[i].dir; dir != nil {
			dir.age()
		}
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
		if e.content != nil && e.content.open {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}
