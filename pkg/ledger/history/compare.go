package history

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
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
	old, now side
	begins   *beginnings
	limit    int
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
		if err := c.segment(name, kept); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) segment(name string, kept bool) error {
	var same shared
	if kept {
		if grew, err := c.grew(name); err != nil || grew {
			return err
		}
		before, err := c.old.open(name)
		if err != nil {
			return err
		}
		after, err := c.now.open(name)
		if err != nil {
			return err
		}
		if same, err = sharedLines(before, after); err != nil || same.all {
			return err
		}
	}
	before, err := c.old.open(name)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, before, same.bytes); err != nil {
		return err
	}
	c.wanted = map[record.Hash]dropped{}
	err = segment.HashLines(before, func(line ledger.HashedLine) error {
		c.wanted[line.Hash] = dropped{segment: name, line: same.lines + line.Number, from: c.old.name, into: c.now.name}
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

var errFound = errors.New("nothing is wanted any more")

// search takes out of wanted what a side has. It looks into the first ones first, as far as the side has them.
func search(in side, first []string, wanted map[record.Hash]dropped) error {
	names := slices.Sorted(maps.Keys(in.segments))
	slices.SortStableFunc(names, func(a, b string) int { return rankIn(first, a) - rankIn(first, b) })
	for _, name := range names {
		if len(wanted) == 0 {
			return nil
		}
		content, err := in.open(name)
		if err != nil {
			return err
		}
		err = segment.HashLines(content, func(line ledger.HashedLine) error {
			delete(wanted, line.Hash)
			if len(wanted) == 0 {
				return errFound
			}
			return nil
		})
		if err != nil && !errors.Is(err, errFound) {
			return err
		}
	}
	return nil
}

func rankIn(first []string, name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// shared is how much two segments have in common from the start, in whole lines.
type shared struct {
	bytes int64
	lines int
	all   bool // the whole of the first
}

func sharedLines(before, after io.Reader) (same shared, err error) {
	a, b := bufio.NewReaderSize(before, blockSize), bufio.NewReaderSize(after, blockSize)
	var partial int64 // equal bytes behind the last newline
	for {
		x, errA := a.Peek(1)
		if errors.Is(errA, io.EOF) {
			same.all = partial == 0
			return same, nil
		}
		y, errB := b.Peek(1)
		if err := errors.Join(realError(errA), realError(errB)); err != nil || len(y) == 0 {
			return same, err
		}
		n := min(a.Buffered(), b.Buffered())
		x, _ = a.Peek(n)
		y, _ = b.Peek(n)
		equal := commonPrefix(x, y)
		if end := bytes.LastIndexByte(x[:equal], '\n'); end >= 0 {
			same.bytes += partial + int64(end) + 1
			same.lines += bytes.Count(x[:end+1], []byte("\n"))
			partial = int64(equal - end - 1)
		} else {
			partial += int64(equal)
		}
		if equal < n {
			return same, nil
		}
		a.Discard(n)
		b.Discard(n)
	}
}

const blockSize = 128 << 10

func realError(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func commonPrefix(x, y []byte) int {
	if bytes.Equal(x, y) {
		return len(x)
	}
	for i := range x {
		if x[i] != y[i] {
			return i
		}
	}
	return len(x)
}
