package blame

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// node names a state of a file.
type node struct{ path, hash string }

// gapName names what is compared to cross a gap: what a step left, and the state behind the gap.
type gapName struct {
	step int
	to   node
}

// step is what one record did to one file.
type step struct {
	entry    *record.Entry
	change   *record.Change
	hunks    [][4]int // of the change, if they are sound
	from, to node     // by present names; from has no hash where there was no file
	previous int      // the index of the step that made the content before this one; -1 if none is known

	pieced *cells  // see after
	left   lineSet // see looseLines
}

// isOpaque reports that the step changed the content and does not say where.
func (s *step) isOpaque() bool {
	c := s.change
	return len(s.hunks) == 0 && c.Before.Hash != c.After.Hash && c.Op != change.Created
}

// marks are those of the lines that the hunks added, or nil.
func (s *step) marks() record.LineMarks {
	n := 0
	for _, h := range s.hunks {
		n += h[3]
	}
	if n != len(s.change.Marks) {
		return nil
	}
	return s.change.Marks
}

// history is the graph of states, with its steps in the order in which they happened.
type history struct {
	steps    []step
	made     map[node][]int // the steps that ended in a state, ascending
	started  map[node]int   // the first step that started from a state
	crossed  map[gapName]match
	byPath   map[string][]int
	contents Contents
	blobs    map[string][]lineID // contents by their hashes; nil if not known
	spare    []lineID            // room, see cells.apply
	budget   int                 // of hashing lines, see cells.learn
	compared int                 // lines, see hasStrong
	renamed  map[string]string   // older names that no record tells of, to the present one
	foreign  bool                // of another file than the one asked about: its lines are taken where they stand for themselves
	*lineTable
}

// newHistory is the history of a file by its records, whose path was another one before: older names are those of which they
// do not tell.
func newHistory(path string, records []record.Entry, contents Contents, older ...string) *history {
	h := &history{
		renamed: map[string]string{}, made: map[node][]int{}, started: map[node]int{}, crossed: map[gapName]match{}, byPath: map[string][]int{},
		contents: contents, blobs: map[string][]lineID{}, lineTable: newLineTable(), budget: hashBudget,
	}
	for _, name := range older {
		h.renamed[name] = path
	}
	records = record.Ordered(records)
	for i := range records {
		e := &records[i]
		for j := range e.Changes {
			c := &e.Changes[j]
			if c.Op != change.Unchanged && c.After.Hash != "" {
				h.steps = append(h.steps, step{
					entry: e, change: c, hunks: sound(c.Hunks), previous: -1,
					from: node{h.name(c.Source()), c.Before.Hash}, to: node{h.name(c.Path), c.After.Hash},
				})
			}
		}
	}
	h.steps = afterCauses(h.steps)
	for i := range h.steps {
		s := &h.steps[i]
		if s.from.hash != "" {
			s.previous = h.maker(s.from, i)
			if _, known := h.started[s.from]; !known {
				h.started[s.from] = i
			}
		}
		h.made[s.to] = append(h.made[s.to], i)
		h.byPath[s.to.path] = append(h.byPath[s.to.path], i)
	}
	return h
}

// sound gives hunks that ascend on both sides and stay within maxLines, or none: a ledger line can say anything.
func sound(hunks [][4]int) [][4]int {
	from, to := 0, 0
	for _, h := range hunks {
		begin, start := h[0]-min(h[1], 1), h[2]-min(h[3], 1)
		if h[1] < 0 || h[3] < 0 || begin < from || start < to || max(begin, h[1], start, h[3]) > maxLines {
			return nil
		}
		from, to = begin+h[1], start+h[3]
	}
	return hunks
}

// name gives the present name for an older one that no record tells of.
func (h *history) name(path string) string {
	if now, ok := h.renamed[path]; ok {
		return now
	}
	return path
}

// maker gives the newest step before limit that ended in the state, or -1.
func (h *history) maker(at node, limit int) int {
	made := h.made[at]
	if n, _ := slices.BinarySearch(made, limit); n > 0 {
		return made[n-1]
	}
	return -1
}

// hasGaps reports whether somebody changed the file whose change is not in the records.
func (h *history) hasGaps(path string, now []byte) bool {
	return h.maker(node{path, string(workspace.HashOf(now))}, len(h.steps)) < 0 ||
		slices.ContainsFunc(h.steps, func(s step) bool { return s.from.hash != "" && s.previous < 0 })
}

// maxCandidates bounds the states that one gap is compared with. More branches than that are not merged at once; but
// where contents are not known, each change by hand parts the records before it from those after it.
const (
	maxCandidates      = 8
	maxVagueCandidates = 64
)

// leaves gives the newest steps before limit on a path such that none led to another, the newest first.
func (h *history) leaves(path string, limit int) []int {
	var leaves []int
	vague := 0
	covered := map[int]bool{}
	steps := h.byPath[path]
	n, _ := slices.BinarySearch(steps, limit)
	for _, i := range slices.Backward(steps[:n]) {
		if covered[i] {
			continue
		}
		leaves = append(leaves, i)
		if h.anyVague(h.after(i).lines) {
			vague++
		}
		if len(leaves)-vague == maxCandidates || vague == maxVagueCandidates {
			break
		}
		for at := i; at >= 0 && !covered[at]; at = h.steps[at].previous {
			covered[at] = true
		}
	}
	return leaves
}

// blob gives the lines of a content, if it is known. What goes by the blob id and has not the hash that the record has
// is another content: a collision of SHA-1, or somebody wrote to where contents are kept.
func (h *history) blob(oid, hash string) ([]lineID, bool) {
	if oid == "" || hash == "" || h.contents == nil {
		return nil, false
	}
	lines, asked := h.blobs[hash]
	if !asked {
		if content, ok := h.contents(oid); ok && string(workspace.HashOf(content)) == hash {
			lines = h.linesOf(content, hash)
		}
		h.blobs[hash] = lines
	}
	return lines, lines != nil
}

// linesOf gives the lines of a content by its hash; nil for what has none. What was read once, from wherever, is not taken
// apart again.
func (h *history) linesOf(content []byte, hash string) []lineID {
	lines := h.blobs[hash]
	if lines == nil {
		if texts, err := textLines(content); err == nil {
			lines = h.idsOf(texts)
			h.blobs[hash] = lines
		}
	}
	return lines
}

// lineSet has a place for each id that there was when it was made.
type lineSet []bool

func (s lineSet) has(id lineID) bool { return int(id) < len(s) && s[id] }

// looseLines are the known lines that a step left, without white space.
func (h *history) looseLines(i int) lineSet {
	s := &h.steps[i]
	if s.left == nil {
		left := h.after(i).lines
		s.left = make(lineSet, len(h.all))
		for _, id := range left {
			if !h.isVague(id) {
				s.left[h.loose(id)] = true
			}
		}
	}
	return s.left
}
