package blame

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// mark is a line on its way back: which line of the present file, and where it stands in the state at hand.
type mark struct {
	line     int // 0-based, in the present file
	at       int // 0-based, in the state at hand
	text     lineID
	lost     bool // the text is not known: the line stood in the place of another
	strength strength
	// escort: nobody asked for the line. It goes along up to the first gap, where it tells which branch a content is from.
	escort bool
}

// state is a content of a file. The content is nil until somebody asks for it.
type state struct {
	node
	oid     string
	content *cells
}

// tracer follows lines from a state to the steps that wrote them.
type tracer struct {
	*history
	ctx context.Context
	// found is told of each line that a step wrote. If it returns true, the line goes on to what it replaced.
	found func(mark, *step) bool
}

// walk follows marks, sorted by their places, back from a state over the steps before limit.
func (t *tracer) walk(at state, limit int, marks []mark) error {
	for len(marks) > 0 {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		i := t.maker(at.node, limit)
		if i < 0 {
			return t.cross(at, limit, marks)
		}
		s := &t.steps[i]
		if before, earlier, ok := t.restored(i, at); ok {
			at, limit = before, earlier
			continue
		}
		hunks, known := t.hunks(s, at)
		if !known {
			marks = t.backBlind(s, marks)
			return t.cross(state{node: node{path: s.from.path}}, i, marks)
		}
		if s.takesBack() {
			var err error
			if marks, err = t.backRestored(i, hunks, at, marks); err != nil {
				return err
			}
		}
		marks = t.back(s, hunks, marks)
		if s.from.hash == "" {
			return nil
		}
		at, limit = state{node: s.from, oid: s.change.Before.OID}, i
	}
	return nil
}

// hunks gives the hunks of a step. Where the record has none, or only one around all, they come from the contents.
func (t *tracer) hunks(s *step, at state) ([][4]int, bool) {
	c := s.change
	if !s.isOpaque() && !c.Coarse {
		if c.Op == change.Created && len(s.hunks) == 0 {
			return [][4]int{{0, 0, 1, maxLines}}, true
		}
		return s.hunks, true
	}
	before, known := t.blob(c.Before.OID, c.Before.Hash)
	after, knownToo := t.blob(c.After.OID, c.After.Hash)
	if !knownToo && at.content != nil && !t.anyVague(at.content.lines) {
		after, knownToo = at.content.lines, true
	}
	if !known || !knownToo {
		return s.hunks, !s.isOpaque()
	}
	return edit.IDHunks(before, after, len(t.all)), true
}

// back takes marks over the hunks of a step: to found if the step wrote them, else to the content before it. Those
// between two hunks go together.
func (t *tracer) back(s *step, hunks [][4]int, marks []mark) []mark {
	kept, next, shift := marks[:0], 0, 0
	keep := func(place int) { // the marks up to there; most stay as they stand
		rest := marks[next:]
		n := sort.Search(len(rest), func(i int) bool { return rest[i].at >= place })
		if shift == 0 {
			kept = append(kept, rest[:n]...)
		} else {
			for _, m := range rest[:n] {
				if m.at += shift; m.at >= 0 && m.at < maxLines {
					kept = append(kept, m)
				}
			}
		}
		next += n
	}
	for _, h := range hunks {
		keep(h[2] - min(h[3], 1))
		for ; next < len(marks) && marks[next].at+1 < h[2]+h[3]; next++ {
			if m := marks[next]; t.found(m, s) && h[1] > 0 {
				m.at, m.lost = h[0]-1+min(m.at+1-h[2], h[1]-1), true
				kept = append(kept, m)
			}
		}
		shift += h[1] - h[3]
	}
	keep(maxLines)
	return kept
}

// backBlind takes marks over a step that says at most which lines it wrote. Where the others stood before is not known.
func (t *tracer) backBlind(s *step, marks []mark) []mark {
	return slices.DeleteFunc(marks, func(m mark) bool {
		for _, r := range s.change.Ranges {
			if m.at+1 >= r.StartLine && m.at+1 <= r.EndLine {
				t.found(m, s)
				return true
			}
		}
		return m.lost
	})
}

// cross takes marks over a gap: a state that no step before limit made. A state that a step started from is older than
// that step.
func (t *tracer) cross(at state, limit int, marks []mark) error {
	if first, known := t.started[at.node]; known {
		limit = min(limit, first)
	}
	leaves := t.leaves(at.path, limit)
	if len(leaves) == 0 || len(marks) == 0 {
		return nil
	}
	now := t.contentOf(at, marks)
	if !t.canMatch(leaves, now, marks) {
		return nil
	}
	matches := t.compareAll(at.node, now, leaves, marks)
	marks = slices.DeleteFunc(marks, func(m mark) bool { return m.escort })
	for i, m := range matches {
		through := make([]mark, 0, len(marks))
		var strong []bool
		if i > 0 || t.foreign {
			strong = m.strong()
		}
		marks = slices.DeleteFunc(marks, func(k mark) bool {
			from := m.from[k.at]
			if from < 0 || strong != nil && !strong[k.at] {
				return false
			}
			k.at, k.strength = from, max(k.strength, m.kind[k.at])
			k.text, k.lost = m.old.lines[from], false
			through = append(through, k)
			return true
		})
		sortByPlace(through)
		made := &t.steps[m.step]
		from := state{made.to, made.change.After.OID, m.old}
		if err := t.walk(from, m.step+1, through); err != nil {
			return err
		}
	}
	return nil
}

func sortByPlace(marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
}

// canMatch reports whether a comparison with leaves could find a line that somebody asked for. Most lines that nobody
// recorded are in none, nor begin one that was broken into several.
func (t *tracer) canMatch(leaves []int, now *cells, marks []mark) bool {
	if slices.ContainsFunc(leaves, func(leaf int) bool { return t.anyVague(t.after(leaf).lines) }) {
		return slices.ContainsFunc(marks, func(m mark) bool { return !m.escort })
	}
	some := func(is func(leaf int, id lineID) bool) bool {
		return slices.ContainsFunc(marks, func(m mark) bool {
			return !m.escort && slices.ContainsFunc(leaves, func(leaf int) bool { return is(leaf, now.lines[m.at]) })
		})
	}
	return some(func(leaf int, id lineID) bool { return t.isVague(id) || t.looseLines(leaf).has(t.lineTable.loose(id)) }) || some(t.beginsLine)
}

// beginsLine reports whether a line that is more than one of many alike begins a longer one that a step left, or may do so.
func (t *tracer) beginsLine(leaf int, id lineID) bool {
	if t.isVague(id) || t.weight(id) < strongWeight {
		return false
	}
	begin, tried := t.looseOf(id), 0
	left := t.looseLines(leaf)
	for old := range t.beginWith(begin) {
		if tried++; tried > maxAlike || left.has(old) && strings.HasPrefix(t.text(old), begin) {
			return true
		}
	}
	return false
}

// maxAlike bounds how many lines that begin in the same way are tried.
const maxAlike = 64

func (t *tracer) contentOf(at state, marks []mark) *cells {
	if at.content == nil {
		if lines, ok := t.blob(at.oid, at.hash); ok {
			at.content = &cells{lines: slices.Clone(lines)}
		}
	}
	if at.content == nil {
		at.content = sparseCells(marks)
	}
	at.content.reach(marks[len(marks)-1].at + 1)
	return at.content
}

// compareAll compares a state with the leaves that could explain it, the best match first.
func (t *tracer) compareAll(name node, now *cells, leaves []int, marks []mark) []match {
	matches := []match{t.compare(leaves[0], name, now)}
	left := matches[0].unmatched(marks)
	for _, leaf := range leaves[1:] {
		if !t.hasStrong(leaf, leaves[0], now, left) {
			continue
		}
		m := t.compare(leaf, name, now)
		if matches = append(matches, m); len(m.unmatched(marks)) < len(left) {
			last := len(matches) - 1
			matches[0], matches[last] = matches[last], matches[0]
			left = m.unmatched(marks)
		}
	}
	return matches
}

// compare compares the content of a state with what a leaf left: once, if all of both is known. Lines that git has from
// several commits meet the same gaps.
func (t *tracer) compare(leaf int, name node, now *cells) match {
	at := gapName{leaf, name}
	if m, known := t.crossed[at]; known && len(m.from) == len(now.lines) {
		return m
	}
	old := t.after(leaf)
	t.learn(leaf, now)
	t.compared += len(old.lines) + len(now.lines)
	m := compare(t.lineTable, old, now)
	m.step = leaf
	if name.hash != "" && !t.anyVague(old.lines) && !t.anyVague(now.lines) {
		t.crossed[at] = m
	}
	return m
}

// learn completes what is known of what a leaf left from a state.
func (t *tracer) learn(leaf int, now *cells) {
	if left := t.after(leaf); slices.ContainsFunc(left.lines, t.isLoose) {
		left.learn(t.lineTable, now, &t.budget)
		t.steps[leaf].left = nil
	}
}

// generousLines is how many lines are compared before it is asked more closely whether a comparison is worth it.
const generousLines = 30_000

// hasStrong reports whether a leaf knows a line that is left, and that is worth a comparison. After generousLines it is
// one that the first leaf has not: each change from outside leaves one more leaf, and most of them are no branches.
func (t *tracer) hasStrong(leaf, first int, now *cells, left []mark) bool {
	wanted := map[lineID]bool{}
	there, generous := t.looseLines(first), t.compared < generousLines
	for _, m := range left {
		if id := now.lines[m.at]; t.weight(id) >= strongWeight && (generous || !there.has(t.lineTable.loose(id))) {
			wanted[t.lineTable.loose(id)] = true
		}
	}
	if len(wanted) == 0 {
		return false
	}
	t.learn(leaf, now)
	loose := t.looseLines(leaf)
	for id := range wanted {
		if loose.has(id) {
			return true
		}
	}
	return false
}
