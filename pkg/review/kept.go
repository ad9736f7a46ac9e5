package review

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// kept tells, mostly without reading them, that HEAD has all that the ledgers of the range's commits and their parents
// have. A ledger grows at its end, so nearly every older segment is the beginning of one that is at hand, and its blob id
// says whether it is: hashing is several times faster than having git unpack it.
type kept struct {
	*review
	ids   *ledger.Git
	files []string        // contents at hand, all of whose lines HEAD has
	seen  map[string]bool // blobs
}

// errNotKept ends the look at the commits: which line is missing, package history finds out.
var errNotKept = errors.New("HEAD lacks something")

// maxContents bounds the contents that are unpacked to be compared with. Each branch that was merged brings one.
const maxContents = 16

// keepsAll is true only if nothing is missing.
func (r *review) keepsAll() (bool, error) {
	k := &kept{review: r, ids: ledger.NewGit(r.root.Name()), seen: map[string]bool{}}
	for path := range r.head.ids {
		if name := strings.TrimPrefix(path, home+"/"); isSegment(name) {
			k.files = append(k.files, filepath.Join(r.head.root.Name(), filepath.FromSlash(path)))
		}
	}
	out, err := r.git.ask("rev-list", "--parents", "--topo-order", r.head.commit, "^"+r.base.commit)
	if err != nil {
		return false, err
	}
	commits := map[string]bool{}
	for _, id := range strings.Fields(out) { // children first: the longest contents come first
		if !commits[id] {
			commits[id] = true
			err := k.commit(id)
			if errors.Is(err, errNotKept) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func isSegment(name string) bool {
	return name == "agent_trace.jsonl" || strings.HasPrefix(name, "trace/") && strings.HasSuffix(name, ".jsonl")
}

func (k *kept) commit(id string) error {
	entries, err := k.git.list(id, k.prefix+home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := strings.TrimPrefix(e.path, k.prefix)
		if k.head.ids[path] == e.id || k.seen[e.id] {
			continue
		}
		name := strings.TrimPrefix(path, home+"/")
		switch {
		case isSegment(name) && isRegular(e.mode):
			if err := k.segment(e); err != nil {
				return err
			}
			k.seen[e.id] = true
		case isSegment(name), strings.HasPrefix(name, "seals/") && strings.HasSuffix(name, ".note"), strings.HasPrefix(name, "archive/"):
			return errNotKept
		}
	}
	return nil
}

func (k *kept) segment(e treeEntry) error {
	for _, name := range k.files {
		begins, err := k.begins(name, e)
		if begins || err != nil {
			return err
		}
	}
	if len(k.files) >= maxContents+len(k.head.ids) {
		return errNotKept
	}
	return k.unpack(e)
}

// begins reports whether the blob is the beginning of a file.
func (k *kept) begins(name string, e treeEntry) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() < e.size {
		return false, err
	}
	hash := k.ids.NewBlobHash(e.size)
	if _, err := io.CopyN(hash, file, e.size); err != nil {
		return false, err
	}
	return hex.EncodeToString(hash.Sum(nil)) == e.id, nil
}

// unpack looks for each line of a blob in HEAD, and keeps the content at hand for those that it began as.
func (k *kept) unpack(e treeEntry) error {
	name := filepath.Join(k.scratch, "segment-"+e.id)
	kind, _, err := k.objects.open(e.id)
	if err != nil {
		return err
	}
	if kind != "blob" {
		return fmt.Errorf("%w: %s", ErrPartial, e.path)
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := k.objects.copyTo(file); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	k.files = append(k.files, name)
	return ledger.HashLines(file, func(line ledger.HashedLine) error {
		if _, ok := k.lines[line.Hash]; !ok {
			return errNotKept
		}
		return nil
	})
}
