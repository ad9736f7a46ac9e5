package blame

import (
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// block is a run of lines of which the hash is known.
type block struct {
	start, lines int // start is 0-based
	hash         string
}

// cells is what is known of a state's content. The end may be missing.
type cells struct {
	lines  []lineID
	blocks []block
	open   bool             // the end is missing
	adrift bool             // it is of another file than the older one: where that begins in it is not known
	places map[lineID][]int // see placesOf
	joined map[[5]byte]span // see broken
}

// sparseCells knows of a state only the lines that are being followed.
func sparseCells(marks []mark) *cells {
	c := &cells{}
	for _, m := range marks {
		c.reach(m.at + 1)
		if !m.lost {
			c.lines[m.at] = m.text
		}
	}
	return c
}

// reach makes the content at least n lines long. maxLines keeps a forged line number from taking the memory.
func (c *cells) reach(n int) {
	if more := min(n, maxLines) - len(c.lines); more > 0 {
		c.lines = append(c.lines, make([]lineID, more)...)
	}
}

const maxLines = 1 << 21

// after pieces together the content that a step left.
func (h *history) after(i int) *cells {
	if c := h.steps[i].pieced; c != nil {
		return c
	}
	var chain []int
	var c *cells
	for at := i; c == nil; at = h.steps[at].previous {
		chain = append(chain, at)
		s := &h.steps[at]
		if lines, ok := h.blob(s.change.After.OID, s.change.After.Hash); ok {
			c, chain = &cells{lines: slices.Clone(lines)}, chain[:len(chain)-1]
		} else if lines, ok := h.blob(s.change.Before.OID, s.change.Before.Hash); ok {
			c = &cells{lines: slices.Clone(lines)}
		} else if s.previous >= 0 && h.steps[s.previous].pieced != nil {
			c = h.steps[s.previous].pieced.clone()
		} else if s.previous < 0 {
			c = &cells{open: s.from.hash != ""}
		}
	}
	for _, at := range slices.Backward(chain) {
		h.spare = c.apply(h.lineTable, &h.steps[at], h.spare)
	}
	h.steps[i].pieced = c
	return c
}

func (c *cells) clone() *cells {
	return &cells{lines: slices.Clone(c.lines), blocks: slices.Clone(c.blocks), open: c.open}
}

// apply changes the content as a record says. Of new lines at most the marks are known. It takes room for lines that nobody
// uses, and leaves other such room.
func (c *cells) apply(t *lineTable, s *step, spare []lineID) []lineID {
	if s.isOpaque() {
		c.lines, c.blocks, c.open = nil, nil, true
	}
	out := spare[:0]
	from, marks := 0, s.marks()
	for _, h := range s.hunks {
		begin := h[0] - min(h[1], 1)
		if begin+h[1] > maxLines || len(out)+h[3] > maxLines {
			break
		}
		c.reach(begin + h[1])
		out = append(out, c.lines[from:begin]...)
		if marks == nil {
			out = append(out, make([]lineID, h[3])...)
		} else {
			for _, m := range marks[:h[3]] {
				out = append(out, t.byMark(m))
			}
			marks = marks[h[3]:]
		}
		from = begin + h[1]
	}
	c.moveBlocks(s.hunks)
	spare, c.lines = c.lines, append(out, c.lines[min(from, len(c.lines)):]...)
	if s.marks() != nil { // they tell more than the hash of a range
		c.learnAnchors(t, s.change.Anchors)
		return spare
	}
	for _, r := range s.change.Ranges {
		if r.ContentHash != "" && r.StartLine >= 1 && r.EndLine >= r.StartLine && r.EndLine <= maxLines {
			c.reach(r.EndLine)
			c.blocks = append(c.blocks, block{r.StartLine - 1, r.EndLine - r.StartLine + 1, r.ContentHash})
		}
	}
	return spare
}

// learnAnchors takes over what a record says of lines beside its own.
func (c *cells) learnAnchors(t *lineTable, anchors []record.Anchor) {
	for _, a := range anchors {
		if a.Line < 1 || a.Line > maxLines {
			continue
		}
		if c.reach(a.Line); c.lines[a.Line-1] == unknown {
			c.lines[a.Line-1] = t.byMark(a.Mark)
		}
	}
}

// moveBlocks drops the blocks that a hunk breaks, and gives the others their new place.
func (c *cells) moveBlocks(hunks [][4]int) {
	c.blocks = slices.DeleteFunc(c.blocks, func(b block) bool {
		return slices.ContainsFunc(hunks, func(h [4]int) bool {
			if h[1] == 0 {
				return h[0] > b.start && h[0] < b.start+b.lines
			}
			return h[0]-1 < b.start+b.lines && h[0]-1+h[1] > b.start
		})
	})
	for i := range c.blocks {
		shift := 0
		for _, h := range hunks {
			if h[0] <= c.blocks[i].start {
				shift += h[3] - h[1]
			}
		}
		c.blocks[i].start += shift
	}
}

// resolve puts texts that became known meanwhile in the place of marks.
func (c *cells) resolve(t *lineTable) {
	for i, id := range c.lines {
		c.lines[i] = t.resolve(id)
	}
}

// learn finds blocks of unknown text in a later content by their hashes. Each line that is hashed takes from budget; when it
// is used up, the rest stays unknown.
func (c *cells) learn(t *lineTable, later *cells, budget *int) {
	c.resolve(t)
	wanted, lengths := map[string][]block{}, map[int]bool{}
	for _, b := range c.blocks {
		if b.start+b.lines <= len(c.lines) && slices.ContainsFunc(c.lines[b.start:b.start+b.lines], t.isLoose) {
			wanted[b.hash], lengths[b.lines] = append(wanted[b.hash], b), true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(lengths)) {
		for start := 0; start+n <= len(later.lines) && len(wanted) > 0 && *budget > 0; start++ {
			run := later.lines[start : start+n]
			if vague := slices.IndexFunc(run, t.isVague); vague >= 0 {
				start += vague // each block up to there has the line, too
				continue
			}
			*budget -= n
			hash := edit.HashLines(t.textsOf(run))
			for _, b := range wanted[hash] {
				copy(c.lines[b.start:], run)
			}
			delete(wanted, hash)
		}
	}
}

// hashBudget is how many lines one question may hash to recognise blocks: some 30 ms.
const hashBudget = 200_000

// placesOf gives where the known lines stand, ascending, by their loose id.
func (c *cells) placesOf(t *lineTable) map[lineID][]int {
	if c.places == nil {
		c.places = map[lineID][]int{}
		for i, id := range c.lines {
			if id != unknown {
				c.places[t.loose(id)] = append(c.places[t.loose(id)], i)
			}
		}
	}
	return c.places
}

// occurrences counts the known lines by their id and by their loose id, for all ids of the table.
func (c *cells) occurrences(t *lineTable) []int32 {
	n := make([]int32, len(t.all))
	for _, id := range c.lines {
		if id == unknown {
			continue
		}
		if n[id]++; t.loose(id) != id {
			n[t.loose(id)]++
		}
	}
	return n
}
