package workspace

import (
	"context"
	"slices"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

var _ mutation.OtherFiles = otherFiles{}

// otherFiles shows the judge of a change the files around it.
type otherFiles struct {
	w      *Workspace
	secret func(path string) bool
}

// OtherFiles are the workspace's files as they stand when they are asked for. What secret names is not read, and counts
// as a file that could have any name; nil for none.
func (w *Workspace) OtherFiles(secret func(path string) bool) mutation.OtherFiles {
	own := sync.OnceValue(func() []Place { // only when asked: most changes are judged by themselves, and this looks at the disk
		return slices.DeleteFunc(w.Inside(), func(p Place) bool { return p.Protection != ProtectOwn })
	})
	return otherFiles{w, func(path string) bool {
		return len(own()) > 0 && ProtectIn(own(), path) == ProtectOwn || secret != nil && secret(path)
	}}
}

func (s otherFiles) Mention(ctx context.Context, words *mutation.Words, skip func(string) bool) (*mutation.Mention, error) {
	found, err := s.w.Search(ctx, Search{Find: words.Find, Overlap: words.Longest(), Skip: skip, Secret: s.secret})
	if found == nil {
		return nil, err
	}
	return &mutation.Mention{Path: found.Path, Line: found.Line, Word: found.What}, err
}

// smallFile bounds what Read reads, in bytes.
const smallFile = 1 << 20

func (s otherFiles) Read(path string) ([]byte, error) {
	if s.secret(path) {
		return nil, ErrSecret
	}
	t, err := s.w.Resolve(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	c, err := t.Read(smallFile)
	if err != nil {
		return nil, err
	}
	return c.Bytes, nil
}
