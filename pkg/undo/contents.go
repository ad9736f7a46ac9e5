package undo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var (
	errNoID    = errors.New("was not read when the change was recorded, so it was never kept")
	errTooMuch = errors.New("is too much to undo at once together with the other files; undo fewer records, newest first")
)

// maxKnown bounds the contents of one plan together, in bytes.
const maxKnown = 1 << 30

// contents finds contents by what a record says of them.
type contents struct {
	ctx    context.Context
	source Source
	known  map[string][]byte // by SHA-256
	size   int64             // of these
}

func newContents(ctx context.Context, s Source) *contents {
	return &contents{ctx: ctx, source: s, known: map[string][]byte{"": nil, workspace.HashOf(nil): {}}}
}

// of gives a content whose SHA-256 was compared with the record's. A blob id alone proves too little: it is SHA-1 in most
// repositories, and commands of agents can write to the cache.
func (c *contents) of(v change.Version) ([]byte, error) {
	if content, ok := c.known[v.Hash]; ok {
		return content, nil
	}
	if v.OID == "" {
		return nil, errNoID
	}
	for _, find := range []func(string) ([]byte, bool){c.source.Contents, c.fromGit} {
		if find == nil {
			continue
		}
		if content, ok := find(v.OID); ok && workspace.HashOf(content) == v.Hash {
			return content, c.add(v.Hash, content)
		}
	}
	return nil, c.notKept()
}

// notKept says why a content is not there. It is never still to come: a record stands in the ledger only once what it names
// is kept.
func (c *contents) notKept() error {
	if c.source.Kept == "" {
		return errors.New("was not kept (undo.keep_size is 0), and git does not have it either")
	}
	return fmt.Errorf("is no longer kept, and git does not have it either (kept are %s)", c.source.Kept)
}

func (c *contents) add(hash string, content []byte) error {
	if _, ok := c.known[hash]; ok {
		return nil
	}
	if c.size += int64(len(content)); c.size > maxKnown {
		return errTooMuch
	}
	c.known[hash] = content
	return nil
}

// fromGit asks the repository for a blob.
func (c *contents) fromGit(oid string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	objects, err := gitread.Repository{Dir: c.source.Files.Dir()}.Objects(ctx, "--batch")
	if err != nil {
		return nil, false
	}
	defer objects.Close()
	found, err := objects.Open(oid)
	if err != nil || found.Kind != "blob" || found.Size > c.source.Largest {
		return nil, false
	}
	content := make([]byte, found.Size)
	_, err = io.ReadFull(objects, content)
	return content, err == nil
}
