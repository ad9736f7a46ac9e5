package gitref

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// Exported is what Export did.
type Exported struct {
	Commit  string `json:"commit"`  // that the ref names now; "" where there is nothing to carry
	Records int    `json:"records"` // lines that the ref did not have
}

// maxText bounds the lines of one segment, in bytes.
const maxText = 16 << 20

// Export adds what the ledger of the workspace at root has and the ref has not, and what the refs of the remotes have. Where
// nothing is new the ref stays. Of records that keep withholds, only what the chain needs goes along.
func Export(ctx context.Context, root *os.Root, keep Withheld) (Exported, error) {
	c, err := open(root)
	if err != nil {
		return Exported{}, err
	}
	if !locate.WillBeBeside(root, true) {
		return Exported{}, ErrInTree
	}
	for range maxRaces {
		done, err := c.export(ctx, keep)
		if !errors.Is(err, errMoved) {
			return done, err
		}
	}
	return Exported{}, fmt.Errorf("%s was moved again and again meanwhile; try again", Ref)
}

// maxRaces bounds how often others are waited for.
const maxRaces = 5

// errMoved: another process moved the ref.
var errMoved = errors.New("the ref was moved meanwhile")

func (c *carrier) export(ctx context.Context, keep Withheld) (Exported, error) {
	tips, err := c.tips(ctx)
	if err != nil {
		return Exported{}, err
	}
	all, err := c.union(ctx, tips)
	if err != nil {
		return Exported{}, err
	}
	own := ""
	if i := slices.IndexFunc(tips, func(t tip) bool { return t.ref == Ref }); i >= 0 {
		own = tips[i].commit
	}
	fresh, records, err := c.packNew(ctx, all, keep)
	if err != nil {
		return Exported{}, err
	}
	before := 0 // in the ref as it is
	for _, s := range all {
		if s.ref == Ref {
			before++
		}
	}
	maps.Copy(all, fresh)
	commit, err := c.commit(ctx, all, tips, fmt.Sprintf("Ledger: %d records", records))
	if err != nil || commit == own {
		return Exported{Commit: own}, err
	}
	if _, err := c.write(ctx, nil, "update-ref", "-m", "orchestra-mcp", Ref, commit, own); err != nil {
		if now, _ := c.git.Ask(ctx, "rev-parse", "--verify", "--quiet", Ref); now != own {
			return Exported{}, errMoved
		}
		return Exported{}, fmt.Errorf("move %s: %w", Ref, err)
	}
	if before/maxLoose != len(all)/maxLoose {
		c.packLoose(ctx)
	}
	return Exported{Commit: commit, Records: records}, nil
}

// maxLoose bounds the segments that stand as loose objects, each with its commit and trees. A file takes a block of the disk
// however small it is, and git itself packs only when there are thousands.
var maxLoose = 64

// packLoose packs what the ref has of loose objects. Where that fails nothing is lost but space: git packs them one day.
func (c *carrier) packLoose(ctx context.Context) {
	packs, err := c.git.Ask(ctx, "rev-parse", "--git-path", "objects/pack/pack")
	if err == nil {
		_, err = c.write(ctx, strings.NewReader(Ref+"\n"), "pack-objects", "--quiet", "--revs", "--unpacked", "--non-empty", packs)
	}
	if err == nil {
		_, _ = c.write(ctx, nil, "prune-packed", "--quiet")
	}
}

// union is what any of the tips has, and which of them first.
func (c *carrier) union(ctx context.Context, tips []tip) (all map[string]refSegment, err error) {
	all = map[string]refSegment{}
	for _, t := range tips {
		segments, _, err := c.list(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.ref, err)
		}
		for path, s := range segments {
			if other, there := all[path]; there {
				if other.blob == s.blob {
					continue
				}
				if is, err := c.isTrue(ctx, s); err != nil {
					return nil, err
				} else if !is {
					continue
				}
			}
			all[path] = s
		}
	}
	return all, nil
}

// isTrue tells which of two files under one name the name is true of.
func (c *carrier) isTrue(ctx context.Context, s refSegment) (bool, error) {
	objects, err := c.git.Objects(ctx, "--batch")
	if err != nil {
		return false, err
	}
	defer objects.Close()
	if _, err := objects.Open(s.blob); err != nil {
		return false, err
	}
	return s.isTrue(objects)
}

// packNew writes the lines that no segment has into new ones, as objects of git.
func (c *carrier) packNew(ctx context.Context, there map[string]refSegment, keep Withheld) (fresh map[string]refSegment, records int, err error) {
	sent, err := c.sent(ctx, there)
	if err != nil {
		return nil, 0, err
	}
	p := &packing{ctx: ctx, carrier: c, fresh: map[string]refSegment{}}
	_, err = locate.EachLine(ctx, c.root, func(line ledger.RawLine) error {
		if _, is := sent[line.Hash]; is || !line.Whole {
			return nil
		}
		sent[line.Hash] = struct{}{}
		records++
		return p.add(keep.of(line.Data))
	})
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("pack the records for %s: %w", Ref, err)
	}
	return p.fresh, records, nil
}

// sent are the lines that the segments of this workspace have.
func (c *carrier) sent(ctx context.Context, segments map[string]refSegment) (map[record.Hash]struct{}, error) {
	objects, err := c.git.Objects(ctx, "--batch")
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	sent := map[record.Hash]struct{}{}
	for path, s := range segments {
		if !strings.HasPrefix(path, c.key+"-") {
			continue
		}
		err := s.lines(objects, func(data []byte) error {
			line := segment.Line{Data: segment.TrimEnd(data), TooLong: len(data) >= segment.MaxLine}
			if id, _, kind := segment.ReadChain(line); kind.Linked() {
				sent[id] = struct{}{}
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, framed.ErrDamaged) { // of that one, what could be read counts
			return nil, err
		}
	}
	return sent, nil
}

// packing writes segments.
type packing struct {
	*carrier
	ctx   context.Context
	file  bytes.Buffer
	text  *segmentWriter
	size  int
	fresh map[string]refSegment
}

func (p *packing) add(line []byte) (err error) {
	if p.text != nil && p.size+len(line) > maxText {
		if err := p.end(); err != nil {
			return err
		}
	}
	if p.text == nil {
		p.file.Reset()
		p.size = 0
		if p.text, err = newSegmentWriter(&p.file); err != nil {
			return err
		}
	}
	p.size += len(line) + 1
	return p.text.add(line)
}

func (p *packing) end() error {
	if p.text == nil {
		return nil
	}
	if err := p.text.Close(); err != nil {
		return err
	}
	p.text = nil
	blob, err := p.write(p.ctx, bytes.NewReader(p.file.Bytes()), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(p.file.Bytes())
	hash := hex.EncodeToString(sum[:])
	path := p.key + "-" + hash[:2] + "/" + hash[2:] + segment.ArchiveSuffix
	p.fresh[path] = refSegment{path: path, blob: blob, hash: hash, ref: Ref}
	return nil
}

// commit gives a commit of segments that follows all tips: one of them, if it does and has them, else a new one; "" where
// there are no segments.
func (c *carrier) commit(ctx context.Context, segments map[string]refSegment, tips []tip, message string) (string, error) {
	if len(segments) == 0 {
		return "", nil
	}
	newest, err := c.newest(ctx, tips)
	if err != nil {
		return "", err
	}
	if len(newest) == 1 {
		there, aside, err := c.list(ctx, newest[0])
		if err != nil || len(aside) == 0 && maps.EqualFunc(there, segments, func(a, b refSegment) bool { return a.blob == b.blob }) {
			return newest[0].commit, err
		}
	}
	if err := locate.MakeBeside(c.root); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(c.home, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var entries bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(segments)) {
		fmt.Fprintf(&entries, "100644 %s\t%s\x00", segments[path].blob, path)
	}
	index := "GIT_INDEX_FILE=" + filepath.Join(dir, "index")
	if _, err := c.writeWith(ctx, []string{index}, &entries, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := c.writeWith(ctx, []string{index}, nil, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign", "-m", message}
	for _, t := range newest {
		args = append(args, "-p", t.commit)
	}
	return c.writeWith(ctx, []string{
		"GIT_AUTHOR_NAME=orchestra-mcp", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=orchestra-mcp", "GIT_COMMITTER_EMAIL=",
	}, nil, append(args, tree)...)
}

// newest are the tips that no other one follows.
func (c *carrier) newest(ctx context.Context, tips []tip) ([]tip, error) {
	if len(tips) == 0 {
		return nil, nil
	}
	args := []string{"merge-base", "--independent"}
	for _, t := range tips {
		args = append(args, t.commit)
	}
	text, err := c.git.Ask(ctx, args...)
	var newest []tip
	for commit := range strings.Lines(text) {
		newest = append(newest, tip{commit: strings.TrimSpace(commit)})
	}
	return newest, err
}

func (c *carrier) write(ctx context.Context, input io.Reader, args ...string) (string, error) {
	return c.writeWith(ctx, nil, input, args...)
}

// writeWith runs a git that writes objects or a ref, and runs nothing else.
func (c *carrier) writeWith(ctx context.Context, environ []string, input io.Reader, args ...string) (string, error) {
	if err := c.git.Plain(); err != nil {
		return "", err
	}
	cmd := c.git.Command(ctx, args...)
	cmd.Env = append(cmd.Env, environ...)
	cmd.Stdin = input
	out, err := gitread.Output(cmd, args[0])
	return strings.TrimSpace(out), err
}

// Withheld says what of the ledger stays on this machine.
type Withheld struct {
	Reads, Decisions, Lessons bool
	Marks                     bool // records that have marks of lines
}

// of is what goes out in the place of a line.
func (w Withheld) of(line []byte) []byte {
	if w == (Withheld{}) {
		return line
	}
	e, err := record.Parse(line)
	if err != nil {
		return line
	}
	switch {
	case w.Reads && e.Kind == record.KindRead,
		w.Decisions && e.Kind == record.KindDecision,
		w.Lessons && e.Kind == record.KindLifecycle && e.Call == "record_lesson",
		w.Marks && slices.ContainsFunc(e.Changes, func(c record.Change) bool { return len(c.Marks) > 0 }):
		return record.Withhold(line, e.Kind)
	}
	return line
}
