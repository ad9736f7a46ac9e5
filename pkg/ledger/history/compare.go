package history

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// dropped is a line or a seal that one side has and the next has not.
type dropped struct {
	segment    string
	line       int    // 0 for a seal
	id         string // of a seal
	from, into string // who has it, and who dropped it
	reverted   bool   // by taking back the commit that it came with
}

// missing gives the lines that old has and now has not. A segment that is the same object on both sides, or that was only
// appended to, costs no hash.
func (w *walk) missing(old, now side) (map[record.Hash]dropped, error) {
	lines := map[record.Hash]dropped{}
	for _, name := range slices.Sorted(maps.Keys(old.segments)) {
		if same(name, old, now) {
			continue
		}
		if grew, err := w.grew(name, old, now); err != nil {
			return nil, err
		} else if grew {
			continue
		}
		content, err := old.open(name)
		if err != nil {
			return nil, err
		}
		if err := segment.HashLines(content, func(line segment.RawLine) error {
			lines[line.Hash] = dropped{segment: name, line: line.Number, from: old.name, into: now.name}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return lines, search(now, old, lines)
}

// same tells that a segment is one object on both sides. What a file of the work tree has is not known before it is read.
func same(name string, old, now side) bool {
	return now.segments[name] != "" && now.segments[name] == old.segments[name]
}

// grew tells cheaply that a segment was only appended to: where the new version is the beginning of a later one that is
// held, or can be held itself, the old one need not be read.
func (w *walk) grew(name string, old, now side) (bool, error) {
	if _, kept := now.segments[name]; !kept || isArchive(name) {
		return false, nil
	}
	before, after := old.segments[name], cmp.Or(now.segments[name], name)
	if grew, err := w.begins.grew(before, after); err != nil || grew {
		return grew, err
	}
	if fits, err := w.begins.fits(before, after); err != nil || !fits {
		return false, err
	}
	content, err := now.open(name)
	if err != nil {
		return false, err
	}
	if _, err := w.begins.hold(after, content); err != nil {
		return false, err
	}
	return w.begins.grew(before, after)
}

// search takes out of wanted what a side has. What it has otherwise than the old side comes first: a rotation moves lines there.
func search(in, old side, wanted map[record.Hash]dropped) error {
	late := func(name string) int {
		if same(name, old, in) {
			return 1
		}
		return 0
	}
	for _, name := range slices.SortedFunc(maps.Keys(in.segments), func(a, b string) int { return cmp.Or(late(a)-late(b), strings.Compare(a, b)) }) {
		if len(wanted) == 0 {
			return nil
		}
		content, err := in.open(name)
		if err != nil {
			return err
		}
		err = segment.HashLines(content, func(line segment.RawLine) error {
			delete(wanted, line.Hash)
			if len(wanted) == 0 {
				return segment.ErrEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, segment.ErrEnough) {
			return err
		}
	}
	return nil
}
