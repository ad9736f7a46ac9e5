package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// budget bounds what one walk reads and holds. Workers share it.
type budget struct {
	// read is how many bytes may still be read, file how large one file may be.
	read atomic.Int64
	file int64
	// hold is how many bytes of contents may still be held in memory, held how large one of them may be.
	hold atomic.Int64
	held int64
}

func newBudget(read, file, hold, held int64) *budget {
	b := &budget{file: file, held: held}
	b.read.Store(read)
	b.hold.Store(hold)
	return b
}

// take reports whether size bytes may be read.
func (b *budget) take(size int64) bool {
	// An empty file costs a look too.
	return size <= b.file && b.read.Add(-size-64) >= 0
}

var errChanging = errors.New("it changed while it was read")

// reader reads the contents of entries. A worker has one.
type reader struct {
	newBlobHash func(size int64) hash.Hash
	budget      *budget
	unseen      int64 // see walk
	buf         []byte
}

// content reads that of an entry that has just been described; of what is secret it holds no bytes. Without an error and a digest, the budget did not let
// it. The stat is brought up to date if the entry changed meanwhile.
func (r *reader) content(at *handle, name string, st *stat, secret bool) (*digest, []byte, error) {
	switch st.kind() {
	case Link:
		text, err := at.Readlink(name)
		if err != nil {
			return nil, nil, err
		}
		content := []byte(text)
		d := r.digest(content)
		d.text = text
		return d, content, nil
	case File:
		return r.file(at, name, st, secret)
	}
	return nil, nil, nil
}

func (r *reader) file(at *handle, name string, st *stat, secret bool) (*digest, []byte, error) {
	if !r.budget.take(st.size) {
		return nil, nil, nil
	}
	f, err := at.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	for range 3 {
		var opened, after stat
		if err := fstat(f, &opened); err != nil {
			return nil, nil, err
		}
		if opened.kind() != File || opened.size > r.budget.file {
			return nil, nil, errChanging
		}
		open := opened.changed() >= r.unseen && !closed(f) // asked before it is read: who opens it later changes its times
		d, content, err := r.read(f, opened.size, !secret)
		if err == nil {
			err = fstat(f, &after)
		}
		if err != nil && !errors.Is(err, errChanging) {
			return nil, nil, err
		}
		if err == nil && after == opened {
			*st, d.open = opened, open
			return d, content, nil
		}
	}
	return nil, nil, errChanging
}

// read gives a content of a known size, and with hold its bytes, if there is room for them.
func (r *reader) read(f *os.File, size int64, hold bool) (*digest, []byte, error) {
	whole := sha256.New()
	blob := r.newBlobHash(size)
	var held *bytes.Buffer
	sinks := []io.Writer{whole, blob}
	if hold && size <= r.budget.held && r.budget.hold.Add(-size) >= 0 {
		held = bytes.NewBuffer(make([]byte, 0, size))
		sinks = append(sinks, held)
	}
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	// One byte more than the size sees that it grew.
	n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(sinks...)}, onlyReader{io.NewSectionReader(f, 0, size+1)}, r.buf)
	if err != nil {
		return nil, nil, err
	}
	if n != size {
		return nil, nil, errChanging
	}
	d := &digest{hash: "sha256:" + hex.EncodeToString(whole.Sum(nil)), oid: hex.EncodeToString(blob.Sum(nil)), size: size}
	if held == nil {
		return d, nil, nil
	}
	return d, held.Bytes(), nil
}

// digest of a content in memory.
func (r *reader) digest(content []byte) *digest {
	blob := r.newBlobHash(int64(len(content)))
	blob.Write(content)
	return &digest{hash: string(workspace.HashOf(content)), oid: hex.EncodeToString(blob.Sum(nil)), size: int64(len(content))}
}

// onlyReader and onlyWriter keep io.CopyBuffer from going around the buffer.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
