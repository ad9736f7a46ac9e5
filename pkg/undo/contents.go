package undo

import (
	"context"
	"errors"
	"fmt"
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

// contentOf gives a content whose SHA-256 was compared with the record's. A blob id alone proves too little: it is SHA-1 in most
// repositories, and commands of agents can write to the cache.
func (d *disk) contentOf(v change.Version) ([]byte, error) {
	if content, ok := d.known[v.Hash]; ok {
		return content, nil
	}
	if v.OID == "" {
		return nil, errNoID
	}
	for _, find := range []func(string) ([]byte, bool){d.Contents, d.fromGit} {
		if find == nil {
			continue
		}
		if content, ok := find(v.OID); ok && workspace.HashOf(content) == v.Hash {
			return content, d.know(v.Hash, content)
		}
	}
	return nil, d.notKept()
}

// notKept says why a content is not there. It is never still to come: a record stands in the ledger only once what it names
// is kept.
func (d *disk) notKept() error {
	if d.Kept == "" {
		return errors.New("was not kept (undo.keep_size is 0), and git does not have it either")
	}
	return fmt.Errorf("is no longer kept, and git does not have it either (kept are %s)", d.Kept)
}

func (d *disk) know(hash string, content []byte) error {
	if _, ok := d.known[hash]; ok {
		return nil
	}
	if d.size += int64(len(content)); d.size > maxKnown {
		return errTooMuch
	}
	d.known[hash] = content
	return nil
}

// fromGit asks the repository for a blob.
func (d *disk) fromGit(oid string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(d.ctx, 30*time.Second)
	defer cancel()
	objects, err := gitread.Repository{Dir: d.Files.Dir()}.Objects(ctx, "--batch")
	if err != nil {
		return nil, false
	}
	defer objects.Close()
	content, err := objects.Blob(oid, d.Largest)
	return content, err == nil && content != nil
}
