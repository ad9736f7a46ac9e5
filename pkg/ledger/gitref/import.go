package gitref

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/union"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Imported is what Import did.
type Imported struct {
	Records int     `json:"records"` // lines that are new here
	Aside   []Aside `json:"set_aside,omitempty"`
}

// Import brings what the ref has, this clone's and each remote's, into the ledger of the workspace at root. Where nothing
// has changed since the last time that is a look at the refs.
func Import(ctx context.Context, root *os.Root) (Imported, error) {
	c, err := open(root)
	if err != nil {
		return Imported{}, err
	}
	return c.bringIn(ctx, c.readSeen())
}

// Restore is Import of all that the refs have, also of what was brought in before: the ledger may have lost it since.
func Restore(ctx context.Context, root *os.Root) (Imported, error) {
	c, err := open(root)
	if err != nil {
		return Imported{}, err
	}
	return c.bringIn(ctx, map[string]bool{})
}

// bringIn leaves out the commits and segments that were seen.
func (c *carrier) bringIn(ctx context.Context, seen map[string]bool) (Imported, error) {
	tips, err := c.tips(ctx)
	if err != nil || !slices.ContainsFunc(tips, func(t tip) bool { return !seen[t.commit] }) {
		return Imported{}, err
	}
	var result Imported
	fresh := map[string]refSegment{}
	for _, t := range tips {
		if seen[t.commit] {
			continue
		}
		segments, aside, err := c.list(ctx, t)
		if err != nil {
			return Imported{}, fmt.Errorf("read %s: %w", t.ref, err)
		}
		result.Aside = append(result.Aside, aside...)
		for path, s := range segments {
			if strings.HasPrefix(path, c.key+"-") && !seen[s.hash] {
				fresh[path] = s
			}
		}
	}
	if len(fresh) > 0 {
		if err := locate.MakeBeside(c.root); err != nil {
			return Imported{}, err
		}
		in := &importer{carrier: c, result: &result, left: importBudget}
		if err := in.run(ctx, fresh); err != nil {
			return Imported{}, fmt.Errorf("bring in the records of %s: %w", Ref, err)
		}
	}
	if len(result.Aside) == 0 {
		for _, t := range tips {
			seen[t.commit] = true
		}
	}
	for _, s := range fresh {
		if !slices.ContainsFunc(result.Aside, func(a Aside) bool { return a.Path == s.path }) {
			seen[s.hash] = true
		}
	}
	return result, c.writeSeen(seen, tips)
}

// budget bounds what one import takes in: each line costs memory until it is in the ledger.
type budget struct {
	lines int
	text  int64 // bytes
}

// importBudget is three times the ledger of a million records.
var importBudget = budget{lines: 4 << 20, text: 4 << 30}

// errBudget: the rest comes with the next import, or is too much.
var errBudget = errors.New("it is more than is taken in at once")

type importer struct {
	*carrier
	objects *gitread.Objects
	result  *Imported
	left    budget
}

func (in *importer) run(ctx context.Context, fresh map[string]refSegment) (err error) {
	if in.objects, err = in.git.Objects(ctx, "--batch"); err != nil {
		return err
	}
	defer in.objects.Close()
	root, leave, err := locate.Stands(in.root)
	if err != nil {
		return err
	}
	defer leave()
	u, err := union.Begin(ctx, root)
	if err != nil {
		return err
	}
	defer u.Discard()
	for _, path := range slices.Sorted(maps.Keys(fresh)) {
		s := fresh[path]
		lines := func(yield func([]byte) error) error {
			return s.lines(in.objects, func(line []byte) error {
				if len(line) > segment.MaxLine {
					return bufio.ErrTooLong
				}
				return yield(bytes.TrimSuffix(line, []byte("\r")))
			})
		}
		reason, err := in.check(s, u.Check, lines)
		if err != nil {
			return err
		}
		if reason != "" {
			in.result.Aside = append(in.result.Aside, Aside{Path: s.path, Ref: s.ref, Reason: reason})
			continue
		}
		if err := lines(u.Add); err != nil {
			return err
		}
	}
	in.result.Records, err = u.Publish(ctx)
	return err
}

// maxSegment bounds the bytes of a segment; what we write is a hundredth of it.
const maxSegment = 256 << 20

// check gives the reason why a segment is not believed, "" if there is none.
func (in *importer) check(s refSegment, check func(union.Lines) error, lines union.Lines) (reason string, err error) {
	found, err := in.objects.Open(s.blob)
	switch {
	case err != nil:
		return "", err
	case found.Kind == "":
		return "git does not have it here; orchestra-mcp sync fetches it", nil
	case found.Kind != "blob" || found.Size > maxSegment:
		return "it is no file of a segment's size", nil
	}
	if is, err := s.isTrue(in.objects); err != nil || !is {
		return "its SHA-256 is not what its name says", err
	}
	left := in.left
	err = check(func(yield func([]byte) error) error {
		return lines(func(line []byte) error {
			left.lines--
			left.text -= int64(len(line))
			if left.lines < 0 || left.text < 0 {
				return errBudget
			}
			return yield(line)
		})
	})
	if err == nil {
		in.left = left
	}
	conflict := (*union.IDConflictError)(nil)
	if errors.As(err, &conflict) || errors.Is(err, framed.ErrDamaged) || errors.Is(err, record.ErrMalformed) || errors.Is(err, bufio.ErrTooLong) || errors.Is(err, errBudget) {
		return err.Error(), nil
	}
	return "", err
}

// lines gives the lines of a segment.
func (s refSegment) lines(objects *gitread.Objects, yield func([]byte) error) error {
	if _, err := objects.Open(s.blob); err != nil {
		return err
	}
	return eachLine(objects, yield)
}

// seenName is a note of what was imported: ids of the refs' commits, and hashes of segments. It can be lost.
const seenName = ".orchestration/state/imported"

const maxSeen = 64 << 20

func (c *carrier) readSeen() map[string]bool {
	seen := map[string]bool{}
	text, err := durable.ReadRegular(filepath.Join(c.home, filepath.FromSlash(seenName)), maxSeen)
	if err != nil {
		return seen
	}
	for name := range strings.FieldsSeq(string(text)) {
		seen[name] = true
	}
	return seen
}

// writeSeen forgets commits that no ref names any more.
func (c *carrier) writeSeen(seen map[string]bool, tips []tip) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		isTip := slices.ContainsFunc(tips, func(t tip) bool { return t.commit == name })
		if isTip || len(name) == 2*sha256.Size {
			text.WriteString(name + "\n")
		}
	}
	home, err := os.OpenRoot(c.home)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing of this workspace is there to import
	}
	if err != nil {
		return err
	}
	defer home.Close()
	if err := home.MkdirAll(".orchestration/state", 0o700); err != nil {
		return err
	}
	return home.WriteFile(seenName, []byte(text.String()), 0o600)
}
