package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var errChanging = errors.New("it changed while it was read")

// content reads that of an entry that has just been described; of what is secret it holds no bytes. Without an error and a
// digest, the budget did not let it. The stat is brought up to date if the entry changed meanwhile.
func (l *worker) content(at *handle, name string, st *stat, secret bool) (*digest, []byte, error) {
	switch st.kind() {
	case Link:
		text, err := at.Readlink(name)
		if err != nil {
			return nil, nil, err
		}
		content := []byte(text)
		d := l.digest(content)
		d.text = text
		return d, content, nil
	case File:
		return l.file(at, name, st, secret)
	}
	return nil, nil, nil
}

func (l *worker) file(at *handle, name string, st *stat, secret bool) (*digest, []byte, error) {
	if st.size > readFile || l.left.Add(-st.size-64) < 0 { // an empty file costs a look too
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
		if opened.kind() != File || opened.size > readFile {
			return nil, nil, errChanging
		}
		open := opened.changed() >= l.unseen && !closed(f) // asked before it is read: who opens it later changes its times
		d, content, err := l.whole(f, opened.size, !secret)
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

// whole gives a content of a known size, and with hold its bytes, if there is room for them.
func (l *worker) whole(f *os.File, size int64, hold bool) (*digest, []byte, error) {
	whole := sha256.New()
	blob := l.keeper.options.NewBlobHash(size)
	var held *bytes.Buffer
	sinks := []io.Writer{whole, blob}
	if hold && size <= max(l.keeper.options.Largest, keepImage) && l.hold.Add(-size) >= 0 {
		held = bytes.NewBuffer(make([]byte, 0, size))
		sinks = append(sinks, held)
	}
	if l.copying == nil {
		l.copying = make([]byte, 64<<10)
	}
	// One byte more than the size sees that it grew.
	n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(sinks...)}, onlyReader{io.NewSectionReader(f, 0, size+1)}, l.copying)
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
func (l *worker) digest(content []byte) *digest {
	blob := l.keeper.options.NewBlobHash(int64(len(content)))
	blob.Write(content)
	return &digest{hash: string(workspace.HashOf(content)), oid: hex.EncodeToString(blob.Sum(nil)), size: int64(len(content))}
}

// onlyReader and onlyWriter keep io.CopyBuffer from going around the buffer.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }
