package blame

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// addWrapped finds lines that were broken into several: between the same neighbours, with the same text but for white space.
func (m *match) addWrapped() {
	if m.vague {
		m.addBroken()
	}
	from, to := 0, 0
	for now := 0; now <= len(m.from); now++ {
		old := len(m.old.lines)
		if now < len(m.from) {
			old = m.from[now]
		}
		if old < 0 {
			continue
		}
		if from < old && to < now {
			m.wrap(span{to, now}, span{from, old})
		}
		from, to = old+1, now+1
	}
}

// span is the lines from first to before last.
type span struct{ first, last int }

// maxParts bounds into how many lines one is broken.
const maxParts = 64

// wrap finds runs of parts, newer lines without partner, that make one of whole, the older ones in their place.
func (m *match) wrap(parts, whole span) {
	var long []int
	for i := whole.first; i < whole.last; i++ {
		if m.weight(m.old.lines[i]) >= strongWeight && !m.mayBeTwin(m.old.lines[i]) {
			long = append(long, i)
		}
	}
	text := func(i int) string { return m.looseOf(m.old.lines[i]) }
	slices.SortStableFunc(long, func(a, b int) int { return strings.Compare(text(a), text(b)) })
	used := map[int]bool{}
	for first := parts.first; first < parts.last; first++ {
		part := m.looseOf(m.now.lines[first])
		if part == "" {
			continue
		}
		at, _ := slices.BinarySearchFunc(long, part, func(i int, part string) int { return strings.Compare(text(i), part) })
		for tried := 0; at < len(long) && tried < maxPlaces; at, tried = at+1, tried+1 {
			i := long[at]
			if !strings.HasPrefix(text(i), part) {
				break
			}
			if last := m.partsEnd(first, parts.last, text(i)); last > first+1 && !used[i] {
				for k := first; k < last; k++ {
					m.from[k], m.kind[k] = i, reformatted
				}
				used[i], first = true, last-1
				break
			}
		}
	}
}

// partsEnd gives the end of the run of lines from first that is text, or 0.
func (m *match) partsEnd(first, limit int, text string) int {
	for k := first; k < min(limit, first+maxParts); k++ {
		rest, ok := strings.CutPrefix(text, m.looseOf(m.now.lines[k]))
		if m.isVague(m.now.lines[k]) || !ok {
			return 0
		}
		if text = rest; text == "" {
			return k + 1
		}
	}
	return 0
}

// addBroken finds lines that were broken into several and are known by their marks alone.
func (m *match) addBroken() {
	for from, id := range m.old.lines {
		if t := m.all[id]; t.mark == nil || t.twin {
			continue
		}
		parts, found := m.now.broken(m.lineTable)[m.all[id].mark.Bare()]
		if !found || slices.ContainsFunc(m.from[parts.first:parts.last], func(from int) bool { return from >= 0 }) {
			continue
		}
		for k := parts.first; k < parts.last; k++ {
			m.from[k], m.kind[k] = from, reformatted
		}
	}
}

// broken gives what could have been one line, by the mark that it would have: some lines that are indented more than the one
// above them, and the next one behind them. What a line that opens a block has below it is the block.
func (c *cells) broken(t *lineTable) map[[5]byte]span {
	if c.joined != nil {
		return c.joined
	}
	c.joined = map[[5]byte]span{}
	for first := range c.lines {
		if t.isVague(c.lines[first]) || t.weight(c.lines[first]) == 0 || t.opensBlock(c.lines[first]) {
			continue
		}
		whole, indent := t.looseOf(c.lines[first]), t.indent(c.lines[first])
		for k := first + 1; k < min(len(c.lines), first+maxParts) && !t.isVague(c.lines[k]); k++ {
			deeper := t.indent(c.lines[k]) > indent
			if !deeper && k == first+1 {
				break
			}
			whole += t.looseOf(c.lines[k])
			if t.weight(c.lines[first])+t.weight(c.lines[k]) >= strongWeight {
				c.joined[record.MarkOf(whole).Bare()] = span{first, k + 1}
			}
			if !deeper {
				break
			}
		}
	}
	return c.joined
}

func (t *lineTable) opensBlock(id lineID) bool {
	text := t.looseOf(id)
	return strings.HasSuffix(text, "{") || strings.HasSuffix(text, ":")
}

// indent counts the blanks that a line begins with.
func (t *lineTable) indent(id lineID) int {
	return len(t.text(id)) - len(strings.TrimLeft(t.text(id), " \t"))
}
