package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/kept"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxContent bounds a file that is still compared, in bytes.
const maxContent = 8 << 20

// Contents finds what files held at some time: what is kept, the files as they are, and git. Only bytes with a record's own
// hash are believed. It is for one goroutine.
type Contents struct {
	files   *workspace.Workspace
	kept    func(oid string) ([]byte, bool)
	objects *blame.Objects
}

// Contents opens what contents are found in.
func (w *Workspace) Contents(ctx context.Context) (*Contents, error) {
	files, err := workspace.Open(w.Dir)
	if err != nil {
		return nil, err
	}
	return &Contents{files: files, kept: kept.Open(w.Root, kept.Options{}).Get, objects: blame.OpenObjects(ctx, w.Dir)}, nil
}

// Close gives everything back.
func (c *Contents) Close() {
	c.objects.Close()
	c.files.Close()
}

// Texts are the texts of a file before and after a change. The error says which of them is not available, and why.
func (c *Contents) Texts(change record.Change) (before, after string, err error) {
	if before, err = c.text(change.Before.Hash, change.Before.OID, cmp.Or(change.From, change.Path)); err != nil {
		return "", "", fmt.Errorf("the content before %w", err)
	}
	if after, err = c.text(change.After.Hash, change.After.OID, change.Path); err != nil {
		return "", "", fmt.Errorf("the content after %w", err)
	}
	return before, after, nil
}

var (
	errNotKept  = errors.New("is neither kept nor in git, and the file has changed since")
	errNotText  = errors.New("is not text")
	errTooLarge = errors.New("is too large")
)

// text gives the content with a hash as text. No hash is no file, which is empty.
func (c *Contents) text(hash, oid, path string) (string, error) {
	if hash == "" {
		return "", nil
	}
	for _, source := range []func() ([]byte, bool){
		func() ([]byte, bool) { return c.kept(oid) }, func() ([]byte, bool) { return c.now(path) }, func() ([]byte, bool) { return c.objects.Content(oid) },
	} {
		found, ok := source()
		if !ok || !hasHash(found, hash) {
			continue
		}
		if len(found) > maxContent {
			return "", errTooLarge
		}
		text, err := workspace.Decode(found)
		if err != nil {
			return "", errNotText
		}
		return text.String, nil
	}
	return "", errNotKept
}

// now reads the file as it is, if it is one.
func (c *Contents) now(path string) ([]byte, bool) {
	target, err := c.files.Resolve(path)
	if err != nil {
		return nil, false
	}
	defer target.Close()
	found, err := target.Read(maxContent)
	if err != nil {
		return nil, false
	}
	return found.Bytes, true
}

func hasHash(found []byte, hash string) bool { return string(workspace.HashOf(found)) == hash }

// Blame answers who wrote the lines of the workspace's files.
func (w *Workspace) Blame() blame.Workspace {
	return blame.Workspace{Root: w.Root, Ledger: w.Ledger, Kept: kept.Open(w.Root, kept.Options{}).Get}
}
