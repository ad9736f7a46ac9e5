package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// LostLine is a ledger line that a commit has and the work tree has not.
type LostLine struct {
	mend.Line
	Hash   record.Hash
	Commit string // one that has it
}

// LostSeal is a seal that a commit has and the work tree has not, or has with another content.
type LostSeal struct {
	File    string // relative to .orchestration
	Content []byte
	Commit  string // one that has it
}

// Visit gets what was lost. A nil field is not looked for.
type Visit struct {
	Line func(LostLine) error // the line is valid during the call
	Seal func(LostSeal) error
}

// Lost calls visit for each ledger line and each seal of the given revisions and all commits before them that the work
// tree does not have, each once, those of the newest commits first; without a revision those of HEAD. It holds a hash
// for each line of the ledger, and reads every version of a segment that does not begin another one. Without git, a
// repository or a commit the error is ErrNoHistory.
func Lost(ctx context.Context, root *os.Root, revisions []string, visit Visit) error {
	w, err := newWalk(ctx, root, Options{})
	if err != nil {
		return err
	}
	defer w.close()
	selection := []string{"--end-of-options"}
	for _, revision := range revisions {
		commit, err := w.resolve(ctx, revision)
		if err != nil {
			return err
		}
		selection = append(selection, commit)
	}
	if len(revisions) == 0 {
		selection = append(selection, w.head)
	}
	c, err := w.newCollection(ctx)
	if err == nil {
		err = c.collect(ctx, visit, selection...)
	}
	if err != nil {
		return fmt.Errorf("look for lost lines: %w", err)
	}
	return nil
}

// Elsewhere gives the lines that neither the work tree nor any commit of HEAD's history has, and another commit has that
// a ref or a reflog names. What HEAD's history has and the work tree has not was dropped, wherever else it stands.
// Without a history there are none.
func Elsewhere(root *os.Root) verify.Elsewhere {
	return func(ctx context.Context, visit func([]byte, string) error) error {
		w, err := newWalk(ctx, root, Options{})
		if err != nil {
			if errors.Is(err, ErrNoHistory) {
				err = nil
			}
			return err
		}
		defer w.close()
		c, err := w.newCollection(ctx)
		if err == nil {
			err = c.collect(ctx, Visit{Line: func(LostLine) error { return nil }}, "--end-of-options", w.head)
		}
		if err == nil {
			foreign := Visit{Line: func(l LostLine) error { return visit(l.Data, "commit "+short(l.Commit)) }}
			err = c.collect(ctx, foreign, "--all", "--reflog", "--not", w.head)
		}
		if err != nil {
			return fmt.Errorf("look at other branches: %w", err)
		}
		return nil
	}
}

// collection is what has been seen so far, over several walks.
type collection struct {
	*walk
	lines map[record.Hash]struct{}
	seen  map[string]bool // trees of .orchestration, versions of segments, and seals by name and id
}

func (w *walk) newCollection(ctx context.Context) (*collection, error) {
	c := &collection{walk: w, lines: map[record.Hash]struct{}{}, seen: map[string]bool{"": true}}
	if err := c.holdFiles(); err != nil {
		return nil, err
	}
	// What a rotation moved meanwhile stands in archives that were not listed.
	if err := w.list(w.files, segment.ArchiveDir); err != nil {
		return nil, err
	}
	if err := c.holdFiles(); err != nil {
		return nil, err
	}
	return c, w.linesBeside(ctx, func(hash record.Hash) { c.lines[hash] = struct{}{} })
}

// holdFiles takes in the lines of the work tree.
func (c *collection) holdFiles() error {
	for name, id := range c.files.segments {
		if c.seen[name] {
			continue
		}
		c.seen[name], c.seen[id] = true, true
		if err := c.eachNew(c.files, name, name, func(segment.RawLine) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// eachNew gives the lines of a segment that were not seen before. A content that others can be the beginning of is held.
func (c *collection) eachNew(of side, name, id string, visit func(segment.RawLine) error) error {
	content, err := of.open(name)
	if err == nil && !isArchive(name) {
		content, err = c.begins.hold(id, content)
	}
	if err != nil {
		return err
	}
	return segment.HashLines(content, func(l segment.RawLine) error {
		if _, seen := c.lines[l.Hash]; seen {
			return nil
		}
		c.lines[l.Hash] = struct{}{}
		return visit(l)
	})
}

func (c *collection) collect(ctx context.Context, visit Visit, selection ...string) error {
	return c.commits(ctx, func(commit string, _ []string) error {
		tree, err := c.homeTree(commit)
		if err != nil || c.seen[tree] {
			return err
		}
		c.seen[tree] = true
		has, err := c.sideOf(commit, tree)
		if err != nil {
			return err
		}
		for name := range has.segments {
			if err := c.segment(commit, name, has, visit.Line); err != nil {
				return err
			}
		}
		if visit.Seal == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(has.seals)) {
			if err := c.seal(commit, name, has.seals[name], visit.Seal); err != nil {
				return err
			}
		}
		return nil
	}, selection...)
}

// maxSeal bounds a file that is taken for a seal.
const maxSeal = 1 << 20

// seal looks at one file among the seals.
func (c *collection) seal(commit, name, id string, visit func(LostSeal) error) error {
	key := name + "\x00" + id
	if c.seen[key] || c.files.seals[name] == id {
		return nil
	}
	c.seen[key] = true
	content, err := c.objects.Blob(id, maxSeal)
	if err != nil || content == nil {
		return err
	}
	return visit(LostSeal{File: name, Content: content, Commit: commit})
}

// segment looks at one version of a segment.
func (c *collection) segment(commit, name string, of side, visit func(LostLine) error) error {
	id := of.segments[name]
	if c.seen[id] {
		return nil
	}
	c.seen[id] = true
	if known, err := c.begins.known(id); err != nil || known {
		return err
	}
	return c.eachNew(of, name, id, func(l segment.RawLine) error {
		return visit(LostLine{Line: mend.Line{Segment: name, Data: l.Data}, Hash: l.Hash, Commit: commit})
	})
}
