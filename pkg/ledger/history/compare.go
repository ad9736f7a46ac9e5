package history

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// maxHeld bounds how many lines are held to be looked for. A test sets it lower.
const maxHeld = 1 << 18

// dropped is a line or a seal that one side has and the next has not.
type dropped struct {
	segment    string
	line       int
	from, into string // who has it, and who dropped it
	reverted   bool   // by taking back the commit that it came with
}

type droppedSeal struct {
	dropped
	id string
}

// comparison looks for the lines of old in now.
type comparison struct {
	*walk
	old, now side
	found    func(record.Hash, dropped) error // for each line that is missing
	wanted   map[record.Hash]dropped
}

// lines compares all segments. One that is the same object on both sides, or that was only appended to, costs no hash.
func (c *comparison) lines() error {
	for _, name := range slices.Sorted(maps.Keys(c.old.segments)) {
		id, kept := c.now.segments[name]
		if kept && id != "" && id == c.old.segments[name] {
			continue
		}
		if kept {
			if grew, err := c.grew(name); err != nil {
				return err
			} else if grew {
				continue
			}
		}
		if err := c.segment(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) segment(name string) error {
	before, err := c.old.open(name)
	if err != nil {
		return err
	}
	c.wanted = map[record.Hash]dropped{}
	err = segment.HashLines(before, func(line segment.RawLine) error {
		c.wanted[line.Hash] = dropped{segment: name, line: line.Number, from: c.old.name, into: c.now.name}
		if len(c.wanted) < c.limit {
			return nil
		}
		return c.look(name)
	})
	if err != nil {
		return err
	}
	return c.look(name)
}

// grew tells cheaply that a segment was only appended to: where the new version is the beginning of a later one that is
// held, or can be held itself, the old one need not be read.
func (c *comparison) grew(name string) (bool, error) {
	if isArchive(name) {
		return false, nil
	}
	old, now := c.old.segments[name], c.now.segments[name]
	if now == "" {
		now = name
	}
	if grew, err := c.begins.grew(old, now); err != nil || grew {
		return grew, err
	}
	if size, err := c.begins.size(now); err != nil || size > maxContent {
		return false, err
	}
	content, err := c.now.open(name)
	if err != nil {
		return false, err
	}
	if _, err := io.Copy(io.Discard, c.begins.keep(now, content)); err != nil {
		return false, err
	}
	return c.begins.grew(old, now)
}

// look goes through the other side for what is wanted, and reports the rest. The segment of the same name comes first,
// then those that are new: a rotation moves lines into them.
func (c *comparison) look(name string) error {
	first := []string{name}
	for _, other := range slices.Sorted(maps.Keys(c.now.segments)) {
		if _, had := c.old.segments[other]; !had {
			first = append(first, other)
		}
	}
	if err := search(c.now, first, c.wanted); err != nil {
		return err
	}
	for hash, d := range c.wanted {
		if err := c.found(hash, d); err != nil {
			return err
		}
	}
	clear(c.wanted)
	return nil
}

// search takes out of wanted what a side has. It looks into the first ones first, as far as the side has them.
func search(in side, first []string, wanted map[record.Hash]dropped) error {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(in.segments)), func(name string) bool { return slices.Contains(first, name) })
	for _, name := range slices.Concat(first, others) {
		if _, has := in.segments[name]; !has || len(wanted) == 0 {
			continue
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
