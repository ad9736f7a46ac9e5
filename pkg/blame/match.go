package blame

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const (
	strongWeight = record.StrongWeight
	// blockLines and blockWeight make a block: git blame -M too wants 20 letters and digits of a moved block.
	blockLines  = 3
	blockWeight = 20
	// weakWeight is the most that a brace, a blank line and their like have.
	weakWeight = 2
	// maxPlaces bounds how many places of a line are tried for a block.
	maxPlaces = 16
)

// match says where the lines of a newer content stand in an older one.
type match struct {
	*lineTable
	step     int // that made the older content
	old, now *cells
	from     []int // by line of the newer content; -1 if it is not there
	kind     []strength
	vague    bool   // not all of the older content is known
	sure     []bool // by line of the newer content: its neighbours decided where it comes from
}

// compare matches two contents.
func compare(t *lineTable, old, now *cells) match {
	m := align(t, old, now)
	if m.vague = old.open || t.anyVague(old.lines); m.vague {
		m.chooseAlike()
	}
	m.dropIslands()
	m.addWrapped()
	m.addMoved()
	return m
}

// dropIslands parts what only looks equal: a few lines without substance, amid lines that are new or after lines that
// are gone, are like those that stood there because all braces are.
func (m *match) dropIslands() {
	var old, now []int32
	for first := 0; first < len(m.from); {
		last := m.runEnd(first)
		light := first < last && m.weightOf(first, last) < blockWeight
		if light && old == nil {
			old, now = m.old.occurrences(m.lineTable), m.now.occurrences(m.lineTable)
		}
		if light && !slices.Contains(m.sure[first:last], true) && !m.isUnique(first, last, old, now) {
			for k := first; k < last; k++ {
				m.from[k] = -1
			}
		}
		first = max(last, first+1)
	}
}

// isUnique reports whether some line from first to before last is there once on each side, and more than a brace.
func (m *match) isUnique(first, last int, old, now []int32) bool {
	for k := first; k < last; k++ {
		if m.weight(m.now.lines[k]) > weakWeight && m.standsOnce(k, old, now) {
			return true
		}
	}
	return false
}

// standsOnce reports whether nothing but its partner can be meant by a line that has one: neither side has it more often
// than the other, as far as that is known.
func (m *match) standsOnce(k int, old, now []int32) bool {
	id := m.idOf(k)
	if m.isVague(m.old.lines[m.from[k]]) {
		return true // it has the other's mark
	}
	if !m.vague {
		return old[id] == 1 && now[id] == 1
	}
	return old[id] == now[id] && (old[id] > 1 || !m.mayBeTwin(id))
}

// mayBeTwin reports whether the older content can have had the line elsewhere, where it is not known.
func (m *match) mayBeTwin(id lineID) bool { return m.vague && m.all[m.loose(id)].twin }

// idOf gives what a matched line has in common with its partner: its text, or that without white space.
func (m *match) idOf(now int) lineID {
	if id := m.now.lines[now]; m.old.lines[m.from[now]] == id {
		return id
	}
	return m.loose(m.now.lines[now])
}

// runEnd gives the end of the run of matches, side by side in both contents, that begins at first. The parts of a line that
// was broken stand side by side.
func (m *match) runEnd(first int) int {
	last := first
	for last < len(m.from) && m.from[last] >= 0 && (last == first || m.from[last] == m.from[last-1]+1 || m.from[last] == m.from[last-1]) {
		last++
	}
	return last
}

func (m *match) weightOf(first, last int) (sum int) {
	for k := first; k < last; k++ {
		sum += m.weight(m.now.lines[k])
	}
	return sum
}

// align matches by the longest common sequence of the lines, without their white space.
func align(t *lineTable, old, now *cells) match {
	m := match{lineTable: t, old: old, now: now, from: make([]int, len(now.lines)), kind: make([]strength, len(now.lines)), sure: make([]bool, len(now.lines))}
	for to := range m.from {
		m.from[to] = -1
	}
	a, b, ids := common(t, old.lines, now.lines)
	i, j := 0, 0
	same := func(n int) {
		for ; j < n; i, j = i+1, j+1 {
			m.pair(a.at[i], b.at[j])
		}
	}
	for _, h := range edit.IDHunks(a.ids, b.ids, ids) {
		same(h[2] - min(h[3], 1))
		i, j = i+h[1], j+h[3]
	}
	same(len(b.ids))
	return m
}

// subsequence is some lines of a content, with their places.
type subsequence struct {
	ids []lineID
	at  []int
}

// common leaves out what the other side has not: it cannot be matched, and what is not known is much of some contents.
// In the place of each run stands one line that is like nothing else. It gives how many ids there are then.
func common(t *lineTable, old, now []lineID) (a, b subsequence, ids int) {
	inOld, inNow := make([]bool, len(t.all)), make([]bool, len(t.all))
	for _, id := range old {
		inOld[t.loose(id)] = id != unknown
	}
	for _, id := range now {
		inNow[t.loose(id)] = true
	}
	ids = len(t.all)
	pick := func(lines []lineID) (s subsequence) {
		s.ids, s.at = make([]lineID, 0, len(lines)), make([]int, 0, len(lines))
		left := false
		for i, id := range lines {
			id = t.loose(id)
			kept := inOld[id] && inNow[id]
			if !kept && left {
				continue
			}
			if left = !kept; left {
				id = lineID(ids)
				ids++
			}
			s.ids, s.at = append(s.ids, id), append(s.at, i)
		}
		return s
	}
	a, b = pick(old), pick(now)
	return a, b, ids
}

func (m *match) pair(from, to int) {
	m.from[to] = from
	switch {
	case m.old.lines[from] != m.now.lines[to]:
		m.kind[to] = reformatted
	case from != to:
		m.kind[to] = shifted
	}
}

func (m *match) unmatched(marks []mark) (left []mark) {
	for _, k := range marks {
		if m.from[k.at] < 0 {
			left = append(left, k)
		}
	}
	return left
}

// addMoved finds blocks that stand out of order: without partner, but for weak lines that the alignment may have given
// to their like elsewhere.
func (m *match) addMoved() {
	f := blockFinder{match: m, used: make([]bool, len(m.old.lines)), places: map[lineID][]int{}}
	for _, from := range m.from {
		if from >= 0 {
			f.used[from] = true
		}
	}
	for i, used := range f.used {
		if id := m.old.lines[i]; !used && m.weight(id) > weakWeight {
			key := m.loose(id)
			f.places[key] = append(f.places[key], i)
		}
	}
	if len(f.places) == 0 {
		return
	}
	for to := 0; to < len(m.from); to++ {
		if m.from[to] >= 0 {
			continue
		}
		if b := f.best(to); b.lines >= blockLines && b.weight >= blockWeight && f.isAlone(b) {
			for k := range b.lines {
				m.from[b.to+k], m.kind[b.to+k] = b.from+k, moved
				f.used[b.from+k] = true
			}
			to = b.to + b.lines - 1
		}
	}
}

type blockFinder struct {
	*match
	used   []bool
	places map[lineID][]int // of lines without partner, by their loose text
	counts []int32          // of the newer content's lines
}

// isAlone reports whether a block has a line that the newer content has once. What it has twice may be a copy.
func (f *blockFinder) isAlone(b movedBlock) bool {
	if f.counts == nil {
		f.counts = f.now.occurrences(f.lineTable)
	}
	for k := range b.lines {
		if id := f.now.lines[b.to+k]; f.weight(id) > weakWeight && f.counts[id] == 1 && !f.mayBeTwin(id) {
			return true
		}
	}
	return false
}

type movedBlock struct{ from, to, lines, weight int }

// best gives the longest block that has line to.
func (f *blockFinder) best(to int) (best movedBlock) {
	if id := f.now.lines[to]; id != unknown {
		places := f.places[f.loose(id)]
		for _, from := range places[:min(len(places), maxPlaces)] {
			if b := f.extend(from, to); b.lines > best.lines {
				best = b
			}
		}
	}
	return best
}

func (f *blockFinder) extend(from, to int) movedBlock {
	first, last := 0, 0
	for f.fits(from+first-1, to+first-1) {
		first--
	}
	for f.fits(from+last+1, to+last+1) {
		last++
	}
	for first < 0 && f.isTaken(from+first, to+first) {
		first++
	}
	for last > 0 && f.isTaken(from+last, to+last) {
		last--
	}
	return movedBlock{from + first, to + first, last - first + 1, f.weightOf(to+first, to+last+1)}
}

// isTaken reports whether a line has a partner already: a brace at the edge of a block stays with its own neighbours.
func (f *blockFinder) isTaken(from, to int) bool { return f.used[from] || f.from[to] >= 0 }

func (f *blockFinder) fits(from, to int) bool {
	if from < 0 || to < 0 || from >= len(f.old.lines) || to >= len(f.now.lines) {
		return false
	}
	a, b := f.old.lines[from], f.now.lines[to]
	if a == unknown || b == unknown || f.loose(a) != f.loose(b) {
		return false
	}
	return !f.used[from] && f.from[to] < 0 || f.weight(b) <= weakWeight
}

// strong tells which matches stand for themselves: in a block, or beside a line that each side has once.
func (m *match) strong() []bool {
	strong := make([]bool, len(m.from))
	old, now := m.old.occurrences(m.lineTable), m.now.occurrences(m.lineTable)
	for first := 0; first < len(m.from); {
		last, lone := m.runEnd(first), false
		for k := first; k < last; k++ {
			lone = lone || m.sure[k] || m.weight(m.now.lines[k]) >= strongWeight && m.standsOnce(k, old, now)
		}
		if lone || last-first >= blockLines && m.weightOf(first, last) >= blockWeight {
			for k := first; k < last; k++ {
				strong[k] = true
			}
		}
		first = max(last, first+1)
	}
	return strong
}
