package blame

import (
	"bufio"
	"bytes"
	"io"
)

// ParsePorcelain reads the output of git blame for a workspace at prefix in its repository.
func ParsePorcelain(prefix string, out []byte) (map[int]*Commit, error) {
	return (&git{prefix: prefix}).parsePorcelain(out)
}

// ReadBlob reads one answer of git cat-file --batch.
func ReadBlob(out []byte) (content []byte, found bool, rest int, err error) {
	r := bytes.NewReader(out)
	b := &blobs{out: bufio.NewReaderSize(r, 16)}
	content, found, err = b.answer()
	left, _ := io.Copy(io.Discard, b.out)
	return content, found, int(left), err
}
