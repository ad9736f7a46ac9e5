package blame

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

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
	if c := h.pieced[i]; c != nil {
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
		} else if s.previous >= 0 && h.pieced[s.previous] != nil {
			c = h.pieced[s.previous].clone()
		} else if s.previous < 0 {
			c = &cells{open: s.change.Before.Hash != ""}
		}
	}
	for _, at := range slices.Backward(chain) {
		c.apply(h.lineTable, &h.steps[at])
	}
	h.pieced[i] = c
	return c
}

func (c *cells) clone() *cells {
	return &cells{lines: slices.Clone(c.lines), blocks: slices.Clone(c.blocks), open: c.open}
}

// apply changes the content as a record says. Of new lines at most the marks are known.
func (c *cells) apply(t *lineTable, s *step) {
	if s.isOpaque() {
		c.lines, c.blocks, c.open = nil, nil, true
	}
	var out []lineID
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
	c.lines = append(out, c.lines[min(from, len(c.lines)):]...)
	if s.marks() != nil { // they tell more than the hash of a range
		c.learnAnchors(t, s.change.Anchors)
		return
	}
	for _, r := range s.change.Ranges {
		if r.ContentHash != "" && r.StartLine >= 1 && r.EndLine >= r.StartLine && r.EndLine <= maxLines {
			c.reach(r.EndLine)
			c.blocks = append(c.blocks, block{r.StartLine - 1, r.EndLine - r.StartLine + 1, r.ContentHash})
		}
	}
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

// learn finds blocks of unknown text in a later content by their hashes, and takes their texts from there. A block that
// has been reformatted since is guessed in its likely earlier forms; the hash says which guess is right.
//
// Each line that is hashed takes from budget; when it is used up, the rest stays unknown.
func (c *cells) learn(t *lineTable, later *cells, budget *int) {
	c.resolve(t)
	wanted := c.unknownBlocks(t)
	if len(wanted) == 0 {
		return
	}
	runs := later.knownRuns(t)
	for i := 0; i < len(reformattings) && len(wanted) > 0 && *budget > 0; i++ {
		lengths := map[int]bool{}
		for _, blocks := range wanted {
			lengths[blocks[0].lines] = true
		}
		for _, run := range runs {
			c.learnFrom(t, mapped(t.textsOf(run), reformattings[i]), slices.Sorted(maps.Keys(lengths)), wanted, budget)
		}
	}
}

// hashBudget is how many lines one question may hash to recognise blocks: some 20 ms.
const hashBudget = 200_000

// unknownBlocks gives the blocks with unknown lines by their hash.
func (c *cells) unknownBlocks(t *lineTable) map[lineHash][]block {
	wanted := map[lineHash][]block{}
	for _, b := range c.blocks {
		if b.start+b.lines <= len(c.lines) && slices.ContainsFunc(c.lines[b.start:b.start+b.lines], t.isLoose) {
			if hash, ok := parseLineHash(b.hash); ok {
				wanted[hash] = append(wanted[hash], b)
			}
		}
	}
	return wanted
}

// lineHash is what [edit.HashLines] writes in hexadecimal.
type lineHash [sha256.Size]byte

func parseLineHash(text string) (hash lineHash, ok bool) {
	digits, ok := strings.CutPrefix(text, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(hash)) {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(digits))
	return hash, err == nil
}

// learnFrom takes from wanted what stands in texts.
func (c *cells) learnFrom(t *lineTable, texts []string, lengths []int, wanted map[lineHash][]block, budget *int) {
	joined := make([]byte, 0, 64*len(texts))
	starts := make([]int, len(texts)+1) // in joined; behind each line stands one byte
	for i, text := range texts {
		joined = append(append(joined, text...), '\n')
		starts[i+1] = len(joined)
	}
	for _, n := range lengths {
		for start := 0; start+n <= len(texts) && len(wanted) > 0 && *budget > 0; start++ {
			*budget -= n
			hash := lineHash(sha256.Sum256(joined[starts[start] : starts[start+n]-1]))
			blocks, found := wanted[hash]
			if !found {
				continue
			}
			for _, b := range blocks {
				for k, text := range texts[start : start+n] {
					c.lines[b.start+k] = t.id(text)
				}
			}
			delete(wanted, hash)
		}
	}
}

func mapped(lines []string, change func(string) string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = change(line)
	}
	return out
}

// reformattings undo what people and formatters do to whole blocks.
var reformattings = [...]func(string) string{
	func(s string) string { return s },
	indented("\t"), indented("    "), indented("  "),
	outdented("\t"), outdented("    "), outdented("  "),
	indentedBy("    ", "\t"), indentedBy("\t", "    "), indentedBy("  ", "\t"), indentedBy("\t", "  "),
}

func indented(unit string) func(string) string {
	return func(s string) string {
		if s == "" {
			return s
		}
		return unit + s
	}
}

func outdented(unit string) func(string) string {
	return func(s string) string { return strings.TrimPrefix(s, unit) }
}

// indentedBy exchanges the units that a line's indentation is made of.
func indentedBy(old, new string) func(string) string {
	return func(s string) string {
		n := 0
		for strings.HasPrefix(s[n*len(old):], old) {
			n++
		}
		return strings.Repeat(new, n) + s[n*len(old):]
	}
}

// knownRuns gives the maximal runs of known lines.
func (c *cells) knownRuns(t *lineTable) (runs [][]lineID) {
	for first := 0; first < len(c.lines); {
		last := first
		for last < len(c.lines) && !t.isVague(c.lines[last]) {
			last++
		}
		if last > first {
			runs = append(runs, c.lines[first:last])
		}
		first = last + 1
	}
	return runs
}

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
