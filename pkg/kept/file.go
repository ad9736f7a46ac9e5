package kept

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

const (
	suffix    = ".zst"
	rulesFile = "rules"
	newPrefix = ".new-"
	// overhead is more than compression can add to a content.
	overhead = 1 << 20
)

// validID: git's ids are lower-case hexadecimal, of SHA-1 or SHA-256.
func validID(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && (len(id) == 2*sha1.Size || len(id) == 2*sha256.Size) && id == strings.ToLower(id)
}

// matches reports whether content is the blob that id names.
func matches(id string, content []byte) bool {
	var h hash.Hash = sha1.New()
	if len(id) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil)) == id
}

// fileOf is the name of a content's file in the store's directory.
func fileOf(id string) string { return id + suffix }

// Get gives a content, if it is kept and is what its id says. It must not be changed.
func (s *Store) Get(id string) ([]byte, bool) {
	if !validID(id) {
		return nil, false
	}
	if matches(id, nil) {
		return []byte{}, true // it needs no keeping
	}
	packed, err := s.read(id)
	if err != nil {
		return nil, false
	}
	content, err := s.unpack(packed)
	if err != nil || !matches(id, content) {
		return nil, false
	}
	return content, true
}

func (s *Store) read(id string) ([]byte, error) {
	dir, done, err := s.dir.Open(false)
	if err != nil {
		return nil, err
	}
	defer done()
	return durable.ReadRegularIn(dir, fileOf(id), s.options.Largest+overhead)
}

// pathsOf are the paths that a content's file names.
func pathsOf(dir *os.Root, name string) paths {
	file, _, err := durable.OpenRegularIn(dir, name, os.O_RDONLY)
	if err != nil {
		return unknown
	}
	defer file.Close()
	return readPaths(file)
}

// unpack never gives, and never holds, more than the largest content: the file is not to be trusted.
func (s *Store) unpack(packed []byte) ([]byte, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(s.options.Largest)+1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(decoder, s.options.Largest+1))
	if err == nil && n > s.options.Largest {
		err = errors.New("the content is larger than any that is kept")
	}
	return content.Bytes(), err
}
