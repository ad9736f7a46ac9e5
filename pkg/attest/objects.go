package attest

import (
	"bytes"
	"context"
	"crypto/sha1" // git's own
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// The errors of reading a repository. The first says that it is not what it claims, the other that it cannot be told.
var (
	// ErrDamaged: an object of the repository does not have the content that its id says.
	ErrDamaged = errors.New("the repository is damaged, or was changed")
	// ErrNotHere: the repository lacks what the statement is about.
	ErrNotHere = errors.New("the repository does not have what the statement is about")
)

const (
	maxHeld    = 64 << 20 // bytes of a commit, or of a directory
	maxText    = 8 << 20  // bytes of a file that is replayed
	maxDepth   = 200      // directories in directories
	maxEntries = 2_000_000
)

// objects reads git's objects, and believes none whose bytes do not hash to its id.
type objects struct {
	from *gitread.Objects
	sums map[string]string // the SHA-256 of blobs by id
}

func openObjects(ctx context.Context, dir string) (*objects, error) {
	from, err := gitread.Repository{Dir: dir}.Objects(ctx, "--batch")
	if err != nil {
		return nil, err
	}
	return &objects{from: from, sums: map[string]string{}}, nil
}

func (o *objects) close() { o.from.Close() }

// newHash is the one that made an id of so many digits, begun for an object of a kind and a size.
func newHash(digits int, kind string, size int64) hash.Hash {
	sum := sha1.New()
	if digits == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "%s %d\x00", kind, size)
	return sum
}

// idOf is the id of an object with a content.
func idOf(content []byte, kind string, digits int) string {
	sum := newHash(digits, kind, int64(len(content)))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// copy writes an object of a kind, and errs unless it is the one.
func (o *objects) copy(to io.Writer, id, kind string, limit int64) error {
	if !gitread.IsID(id) {
		return fmt.Errorf("%w: %.80q is no id of an object", ErrDamaged, id)
	}
	found, err := o.from.Open(id)
	switch {
	case err != nil:
		return err
	case found.Kind == "":
		return fmt.Errorf("%w: the %s %s; fetch the whole repository, with its history and without a filter", ErrNotHere, kind, id)
	case found.Kind != kind:
		return fmt.Errorf("%w: %s is a %s, and should be a %s", ErrDamaged, id, found.Kind, kind)
	case found.Size > limit:
		return fmt.Errorf("%w: the %s %s has %d bytes, and at most %d are read", ErrNotHere, kind, id, found.Size, limit)
	}
	sum := newHash(len(id), kind, found.Size)
	if _, err := io.Copy(io.MultiWriter(sum, to), o.from); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != id {
		return fmt.Errorf("%w: the %s %s has other bytes than its id says", ErrDamaged, kind, id)
	}
	return nil
}

func (o *objects) read(id, kind string, limit int64) ([]byte, error) {
	var content bytes.Buffer
	err := o.copy(&content, id, kind, limit)
	return content.Bytes(), err
}

// sum is the hex SHA-256 of a blob.
func (o *objects) sum(id string) (string, error) {
	if known, ok := o.sums[id]; ok {
		return known, nil
	}
	sum := sha256.New()
	if err := o.copy(sum, id, "blob", 1<<62); err != nil {
		return "", err
	}
	o.sums[id] = hex.EncodeToString(sum.Sum(nil))
	return o.sums[id], nil
}

// treeOf is the id of a commit's tree.
func (o *objects) treeOf(commit string) (string, error) {
	content, err := o.read(commit, "commit", maxHeld)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	id, ok := strings.CutPrefix(line, "tree ")
	if !ok || len(id) != len(commit) {
		return "", fmt.Errorf("%w: commit %s names no tree", ErrDamaged, commit)
	}
	return id, nil
}
