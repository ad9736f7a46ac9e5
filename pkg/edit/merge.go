package edit

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Clash is a place where both sides of a merge changed the same lines, or lines next to each other, in different ways.
type Clash struct {
	// BaseLine is the first line of the place in the base, 1-based; where the base has no line there, the line
	// before. OursLine is the same in ours.
	BaseLine, OursLine int
	// Base, Ours and Theirs are the lines of the place, terminators included.
	Base, Ours, Theirs []string
}

// merge brings the changes from base to theirs into ours, by lines, terminators included, as diff3 does (Khanna, Kunal,
// Pierce, "A Formal Investigation of Diff3", 2007). A place that only one side changed gets that side's lines, and so
// does one that both changed alike. Changes that overlap or touch are a Clash, and then no text is given: nothing is
// decided that nobody has looked at. Every line that ours has and base has not is in the result.
func merge(base, ours, theirs string) (merged string, clashes []Clash) {
	m := merger{base: RawLines(base), ours: RawLines(ours), theirs: RawLines(theirs)}
	m.run(diffLines(m.base, m.ours), diffLines(m.base, m.theirs))
	if len(m.clashes) > 0 {
		return "", m.clashes
	}
	return strings.Join(m.out, ""), nil
}

// merger walks the base once. shift is how much further down a line of the base stands in a side.
type merger struct {
	base, ours, theirs     []string
	at                     int // lines of base that are dealt with
	shiftOurs, shiftTheirs int
	free                   int // the first line of base behind a place that either side changed
	next                   int // the first one of the next place
	loose                  *loose
	out                    []string
	clashes                []Clash
}

// span is a range of lines.
type span struct{ from, to int }

func (m *merger) run(ours, theirs []lcs.Diff) {
	for len(ours) > 0 || len(theirs) > 0 {
		n, k := group(ours, theirs)
		m.next = len(m.base)
		for _, rest := range [][]lcs.Diff{ours[n:], theirs[k:]} {
			if len(rest) > 0 {
				m.next = min(m.next, rest[0].Start)
			}
		}
		m.place(ours[:n], theirs[:k])
		ours, theirs = ours[n:], theirs[k:]
	}
	m.keep(len(m.base))
}

// group counts the first differences of both sides that overlap or touch each other.
func group(ours, theirs []lcs.Diff) (n, k int) {
	end := -1
	for {
		switch {
		case n < len(ours) && (end < 0 && (len(theirs) == 0 || ours[0].Start <= theirs[0].Start) || end >= 0 && ours[n].Start <= end):
			end = max(end, ours[n].End)
			n++
		case k < len(theirs) && (end < 0 || theirs[k].Start <= end):
			end = max(end, theirs[k].End)
			k++
		default:
			return n, k
		}
	}
}

// keep copies lines that no side changed.
func (m *merger) keep(until int) {
	m.out = append(m.out, m.ours[m.at+m.shiftOurs:until+m.shiftOurs]...)
	m.at = until
}

// place merges one group.
func (m *merger) place(ours, theirs []lcs.Diff) {
	start, end := extent(slices.Concat(ours, theirs))
	m.free = m.at
	m.keep(start)
	oursStart, theirsStart := start+m.shiftOurs, start+m.shiftTheirs
	m.shiftOurs += growth(ours)
	m.shiftTheirs += growth(theirs)
	a, b := m.ours[oursStart:end+m.shiftOurs], m.theirs[theirsStart:end+m.shiftTheirs]
	m.at = end
	lines, ok := a, true
	switch {
	case len(theirs) == 0 || slices.Equal(a, b):
	case len(ours) == 0:
		lines, ok = m.carry(span{start, end}, oursStart, b)
	default:
		ok = m.loose != nil && m.loose.alike(a, b)
	}
	m.out = append(m.out, lines...)
	if !ok {
		m.clashes = append(m.clashes, Clash{
			BaseLine: lineOf(start, end-start), OursLine: lineOf(oursStart, len(a)), Base: m.base[start:end], Ours: a, Theirs: b,
		})
	}
}

func extent(diffs []lcs.Diff) (start, end int) {
	start = diffs[0].Start
	for _, d := range diffs {
		start, end = min(start, d.Start), max(end, d.End)
	}
	return start, end
}

// growth is how many lines more the side has behind the differences.
func growth(diffs []lcs.Diff) (lines int) {
	for _, d := range diffs {
		lines += d.ReplEnd - d.ReplStart - (d.End - d.Start)
	}
	return lines
}
