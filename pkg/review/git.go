package review

import (
	"context"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// repository asks git about commits.
type repository struct {
	gitread.Repository
	ctx context.Context
}

func (r repository) ask(args ...string) (string, error) { return r.Ask(r.ctx, args...) }

func (r repository) commit(revision string) (string, error) {
	id, err := r.ask("rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil && r.ctx.Err() != nil {
		return "", r.ctx.Err()
	}
	return id, err
}

// The modes of tree entries that matter here.
const (
	modeNone       = "000000"
	modeExecutable = "100755"
	modeLink       = "120000"
	modeCommit     = "160000" // a submodule's commit
)

func isRegular(mode string) bool { return strings.HasPrefix(mode, "100") }

// difference is one entry of git's raw output. Paths are of the repository.
type difference struct {
	oldMode, newMode string
	oldID, newID     string
	oldPath, newPath string // the same but for renames
}

// treeEntry is a file of a commit.
type treeEntry struct {
	mode, id, path string
}

// list gives the files of a commit at or below some paths.
func (r repository) list(commit string, paths ...string) ([]treeEntry, error) {
	out, err := r.ask(append([]string{"ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit}, paths...)...)
	if err != nil {
		return nil, err
	}
	var found []treeEntry
	for _, line := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(head); ok && len(fields) == 3 {
			found = append(found, treeEntry{fields[0], fields[2], name})
		}
	}
	return found, nil
}

// blobs keeps the contents that are asked for again and again.
type blobs struct {
	objects *gitread.Objects
	known   map[string][]byte
	held    int
	err     error // git failed, and every answer after it is nothing
}

const (
	maxText = 8 << 20   // of a file that is compared by lines
	maxHeld = 256 << 20 // of contents
)

// content gives a blob of at most maxText bytes by its id.
func (b *blobs) content(id string) ([]byte, bool) {
	if content, known := b.known[id]; known {
		return content, content != nil
	}
	if !gitread.IsID(id) || b.err != nil {
		return nil, false
	}
	content, err := b.objects.Blob(id, maxText)
	if err != nil {
		b.err = err
		return nil, false
	}
	if b.held += len(content); b.held > maxHeld {
		clear(b.known)
		b.held = len(content)
	}
	b.known[id] = content
	return content, content != nil
}

// isZero tells git's id for nothing.
func isZero(id string) bool { return strings.Trim(id, "0") == "" }
