// Package gitref carries the ledger with git: in a ref of its own, refs/orchestra/ledger, that no branch has.
//
// # Form
//
// The ref names a commit. Its tree has segments, each by the 64 hex digits of its SHA-256 behind the key of the workspace's
// path (see [locate.Beside]): KEY-ab/cdef….jsonl.zst. A segment is lines of the ledger, compressed as those of an archive but
// with a dictionary, which the frames name by its id. Segments are only ever added, so that the union of two trees is the
// union of two histories, in any order and without a conflict. There is one directory level, because each commit of a few
// records writes all trees above them anew.
//
// The same of each remote stands in refs/orchestra/remotes/NAME/ledger, where every git fetch puts it once [Follow] has
// added that to what the remote's fetches bring. Fetching never moves the local ref, and does not fail where the remote has
// none.
//
// # Promise
//
// What [Import] adds to the ledger are lines that hash to what later lines name, or stand alone; nothing is taken out or
// changed. A file that is not what its name says, that cannot be decompressed within bounds, that has a line which is none,
// or a record under the id of another one, is set aside as a whole, by name, and the rest goes in. Memory is bounded by the
// number of lines.
//
// # Non-promise
//
// Whoever can push to the ref can add records that say anything. What a commit names in its trailer is what it relied on.
package gitref

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
)

// The refs.
const (
	Ref     = "refs/orchestra/ledger"
	remotes = "refs/orchestra/remotes/"
)

// ErrInTree: the ledger does not stand beside the tree, so it does not travel in a ref.
var ErrInTree = errors.New("the ledger is in the tree, and travels with its commits; orchestra-mcp ledger move takes it out")

// ErrNoRepository: there is no git repository, or no git.
var ErrNoRepository = errors.New("there is no git repository here")

// Aside is a file of the ref that was not believed.
type Aside struct {
	Path   string `json:"path"` // in the ref's tree
	Ref    string `json:"ref"`
	Reason string `json:"reason"`
}

// carrier is the repository with the ledger of one workspace.
type carrier struct {
	git  gitread.Repository
	root *os.Root // of the workspace
	key  string   // of its segments
	home string   // the directory that Beside names
}

func open(root *os.Root) (*carrier, error) {
	beside := locate.Beside(root.Name())
	if beside == "" {
		return nil, ErrNoRepository
	}
	return &carrier{git: gitread.Repository{Dir: root.Name()}, root: root, key: filepath.Base(beside), home: beside}, nil
}

// tip is one version of the ref.
type tip struct{ ref, commit string }

// tips are what this clone has of the ref: its own and that of each remote.
func (c *carrier) tips(ctx context.Context) ([]tip, error) {
	if may, err := c.mayHaveRefs(); !may || err != nil {
		return nil, err
	}
	text, err := c.git.Ask(ctx, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", Ref, remotes)
	if err != nil {
		return nil, err
	}
	var found []tip
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[1] == "commit" && (fields[2] == Ref || strings.HasSuffix(fields[2], "/ledger")) {
			found = append(found, tip{ref: fields[2], commit: fields[0]})
		}
	}
	return found, nil
}

// maxPackedRefs bounds what is read of git's list of refs, in bytes.
const maxPackedRefs = 256 << 20

// mayHaveRefs looks whether one of the refs can be there, without git: most clones have none, and git reads every ref to say so.
// It waits for no pipe that stands among them, as git would.
func (c *carrier) mayHaveRefs() (bool, error) {
	common := filepath.Dir(filepath.Dir(c.home))
	if _, err := os.Lstat(filepath.Join(common, "reftable")); err == nil {
		return true, nil
	}
	packed, err := durable.ReadRegular(filepath.Join(common, "packed-refs"), maxPackedRefs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read git's refs: %w", err)
	}
	entries, err := durable.ReadDirectory(filepath.Join(common, "refs"))
	if err != nil {
		return false, fmt.Errorf("read git's refs: %w", err)
	}
	may := bytes.Contains(packed, []byte(" refs/orchestra/"))
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() {
			return false, fmt.Errorf("read git's refs: %w: refs/%s is neither a file nor a directory", gitread.ErrOdd, e.Name())
		}
		may = may || e.Name() == "orchestra"
	}
	return may, nil
}

// segmentPath is the one form of a segment's path.
var segmentPath = lazy.Regexp(`^[0-9a-f]{16}-([0-9a-f]{2})/([0-9a-f]{62})\.jsonl\.zst$`)

// refSegment is a file of the ref.
type refSegment struct {
	path string
	blob string
	hash string // of its bytes, as its name says
	ref  string // that has it
}

// isTrue reports whether the content of the object that was opened last is what the name says.
func (s refSegment) isTrue(content io.Reader) (bool, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, content)
	return hex.EncodeToString(sum.Sum(nil)) == s.hash, err
}

// maxListed bounds the files of one tree, and maxTree the bytes of their list.
const (
	maxListed = 1 << 18
	maxTree   = 64 << 20
)

// list gives the segments of a commit, those of all workspaces, by path, and what else stands there.
func (c *carrier) list(ctx context.Context, t tip) (segments map[string]refSegment, aside []Aside, err error) {
	text, err := c.git.Ask(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", t.commit)
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxTree {
		return nil, []Aside{{Path: "", Ref: t.ref, Reason: "it has too many files"}}, nil
	}
	segments = map[string]refSegment{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		about, path, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		parts := segmentPath().FindStringSubmatch(path)
		switch {
		case len(fields) != 3 || fields[0] != "100644" || fields[1] != "blob" || parts == nil:
			if len(aside) < maxAside {
				aside = append(aside, Aside{Path: path, Ref: t.ref, Reason: "it is not the name of a segment"})
			}
		case len(segments) == maxListed:
			return segments, append(aside, Aside{Path: path, Ref: t.ref, Reason: "it and all behind it are too many files"}), nil
		default:
			segments[path] = refSegment{path: path, blob: fields[2], hash: parts[1] + parts[2], ref: t.ref}
		}
	}
	return segments, aside, nil
}

// maxAside bounds what is told of one ref.
const maxAside = 20
