package blame

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

const (
	// strongWeight is the number of letters and digits from which a line is no longer one of many alike.
	strongWeight = 8
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
	step     int // that made the older content
	old, now *cells
	from     []int // by line of the newer content; -1 if it is not there
	kind     []strength
}

// compare matches two contents.
func compare(old, now *cells) match {
	m := align(old, now, func(c *cell) string { return c.text })
	if m.isReformatted() {
		if loose := align(old, now, func(c *cell) string { return c.loose }); loose.count() > m.count() {
			m = loose
		}
	}
	m.dropIslands()
	m.addWrapped()
	m.addMoved()
	return m
}

// dropIslands parts what only looks equal: a few lines without substance, amid lines that are new or after lines that
// are gone, are like those that stood there because all braces are.
func (m *match) dropIslands() {
	var old, now map[string]int
	for first := 0; first < len(m.from); {
		last := m.runEnd(first)
		light := first < last && m.weightOf(first, last) < blockWeight
		if light && old == nil {
			old, now = m.old.occurrences(), m.now.occurrences()
		}
		if light && !m.isUnique(first, last, old, now) {
			for k := first; k < last; k++ {
				m.from[k] = -1
			}
		}
		first = max(last, first+1)
	}
}

// isUnique reports whether some line from first to before last is there once on each side, and more than a brace.
func (m *match) isUnique(first, last int, old, now map[string]int) bool {
	for k := first; k < last; k++ {
		c := &m.now.lines[k]
		if c.weight > weakWeight && old[c.text] == 1 && now[c.text] == 1 {
			return true
		}
	}
	return false
}

// runEnd gives the end of the run of matches, side by side in both contents, that begins at first.
func (m *match) runEnd(first int) int {
	last := first
	for last < len(m.from) && m.from[last] >= 0 && (last == first || m.from[last] == m.from[last-1]+1) {
		last++
	}
	return last
}

func (m *match) weightOf(first, last int) (sum int) {
	for k := first; k < last; k++ {
		sum += m.now.lines[k].weight
	}
	return sum
}

// align matches by the longest common sequence of what key makes of the lines.
func align(old, now *cells, key func(*cell) string) match {
	m := match{old: old, now: now, from: make([]int, len(now.lines)), kind: make([]strength, len(now.lines))}
	from, to := 0, 0
	same := func(n int) {
		for ; to < n; from, to = from+1, to+1 {
			m.pair(from, to)
		}
	}
	for _, h := range edit.Hunks(keyed(old, key, 'o'), keyed(now, key, 'n')) {
		begin := h[2] - 1
		if h[3] == 0 {
			begin = h[2]
		}
		same(begin)
		for range h[3] {
			m.from[to] = -1
			to++
		}
		from += h[1]
	}
	same(len(now.lines))
	return m
}

func (m *match) pair(from, to int) {
	m.from[to] = from
	switch {
	case m.old.lines[from].text != m.now.lines[to].text:
		m.kind[to] = reformatted
	case from != to:
		m.kind[to] = shifted
	}
}

// keyed writes a content with one line for each of its lines. What is not known is like nothing else: no text has NUL.
func keyed(c *cells, key func(*cell) string, side byte) string {
	var b strings.Builder
	for i := range c.lines {
		if line := &c.lines[i]; line.known {
			b.WriteString(key(line))
		} else {
			fmt.Fprintf(&b, "\x00%c%d", side, i)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// squeeze drops white space.
func squeeze(text string) string {
	if strings.IndexFunc(text, unicode.IsSpace) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// weight counts letters and digits, as git does to tell a line worth following from a brace.
func weight(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

func (m *match) count() (n int) {
	for _, from := range m.from {
		if from >= 0 {
			n++
		}
	}
	return n
}

func (m *match) unmatched(marks []mark) (left []mark) {
	for _, k := range marks {
		if m.from[k.at] < 0 {
			left = append(left, k)
		}
	}
	return left
}

// used tells which lines of the older content have a partner.
func (m *match) used() []bool {
	used := make([]bool, len(m.old.lines))
	for _, from := range m.from {
		if from >= 0 {
			used[from] = true
		}
	}
	return used
}

// isReformatted reports whether lines without partner differ only in their white space.
func (m *match) isReformatted() bool {
	loose := map[string]bool{}
	for i, from := range m.from {
		if c := m.now.lines[i]; from < 0 && c.known && c.weight > weakWeight {
			loose[c.loose] = true
		}
	}
	if len(loose) == 0 {
		return false
	}
	for i, used := range m.used() {
		if c := m.old.lines[i]; !used && c.known && loose[c.loose] {
			return true
		}
	}
	return false
}

// addMoved finds blocks that stand out of order: without partner, but for weak lines that the alignment may have given
// to their like elsewhere.
func (m *match) addMoved() {
	f := blockFinder{match: m, used: m.used(), places: map[string][]int{}}
	for i, used := range f.used {
		if c := m.old.lines[i]; !used && c.known && c.weight > weakWeight {
			key := c.loose
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
	places map[string][]int
	counts map[string]int // of the newer content's lines
}

// isAlone reports whether a block has a line that the newer content has once. What it has twice may be a copy.
func (f *blockFinder) isAlone(b movedBlock) bool {
	if f.counts == nil {
		f.counts = f.now.occurrences()
	}
	for k := range b.lines {
		if c := &f.now.lines[b.to+k]; c.weight > weakWeight && f.counts[c.text] == 1 {
			return true
		}
	}
	return false
}

type movedBlock struct{ from, to, lines, weight int }

// best gives the longest block that has line to.
func (f *blockFinder) best(to int) (best movedBlock) {
	if c := f.now.lines[to]; c.known {
		places := f.places[c.loose]
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
	a, b := &f.old.lines[from], &f.now.lines[to]
	if !a.known || !b.known || a.loose != b.loose {
		return false
	}
	return !f.used[from] && f.from[to] < 0 || b.weight <= weakWeight
}

// strong tells which matches stand for themselves: in a block, or beside a line that each side has once.
func (m *match) strong() []bool {
	strong := make([]bool, len(m.from))
	old, now := m.old.occurrences(), m.now.occurrences()
	for first := 0; first < len(m.from); {
		last, lone := m.runEnd(first), false
		for k := first; k < last; k++ {
			c := &m.now.lines[k]
			lone = lone || c.weight >= strongWeight && old[c.text] == 1 && now[c.text] == 1
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
