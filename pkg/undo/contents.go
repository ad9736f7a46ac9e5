package undo

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

var (
	errNotKept = errors.New("is no longer kept, and git does not have it either")
	errNoID    = errors.New("is not named in the ledger")
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
	return &contents{ctx: ctx, source: s, known: map[string][]byte{"": nil, string(workspace.HashOf(nil)): {}}}
}

// of gives a content whose SHA-256 was compared with the record's. A blob id alone proves too little: it is SHA-1 in most
// repositories, and commands of agents can write to the cache.
func (c *contents) of(v version) ([]byte, error) {
	if content, ok := c.known[v.hash]; ok {
		return content, nil
	}
	if v.oid == "" {
		return nil, errNoID
	}
	for _, find := range []func(string) ([]byte, bool){c.source.Images, c.fromGit} {
		if find == nil {
			continue
		}
		if content, ok := find(v.oid); ok && string(workspace.HashOf(content)) == v.hash {
			return content, c.add(v.hash, content)
		}
	}
	return nil, errNotKept
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

// fromGit asks the repository for a blob. It runs nothing that the repository's configuration names, and fetches nothing.
func (c *contents) fromGit(oid string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(c.ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "--no-replace-objects", "cat-file", "blob", oid)
	cmd.Dir = c.source.Files.Dir()
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(out, c.source.Largest+1))
	if err != nil || int64(len(content)) > c.source.Largest {
		cancel()
		_ = cmd.Wait()
		return nil, false
	}
	return content, cmd.Wait() == nil
}
