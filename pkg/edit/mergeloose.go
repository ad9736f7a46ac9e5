package edit

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// MergeLoosely is merge in which lines of base and ours are the same if key gives the same for them; it drops what does
// not count, such as white space. So the changes to theirs come into a text that has been indented anew, or has got other
// line endings.
//
// What ours has stays as it is. A line that comes from theirs gets the line ending of those around it, and its indentation
// is carried over as [ApplyDiff] does it: where the lines around it tell one way in which they were indented anew. If they
// tell none, lines of the same indentation elsewhere do, if they agree; else it stays. Where the lines around it disagree, and
// where both sides changed nothing but what does not count, in different ways, it is a clash, unless merge has none.
func MergeLoosely(base, ours, theirs string, key func(line string) string) (merged string, clashes []Clash) {
	m := merger{base: RawLines(base), ours: RawLines(ours), theirs: RawLines(theirs), loose: &loose{ours: newCorpus(ours), key: key}}
	differences := diffLines(m.loose.keys(m.base), m.loose.keys(m.ours))
	m.loose.learn(m.base, m.ours, differences)
	m.run(differences, diffLines(m.base, m.theirs))
	if len(m.clashes) == 0 {
		return m.loose.join(m.out), nil
	}
	if merged, exact := merge(base, ours, theirs); len(exact) == 0 {
		return merged, nil
	}
	return "", m.clashes
}

// loose is what a merge needs that does not compare lines as they are.
type loose struct {
	ours    *corpus
	key     func(line string) string
	indents map[string]string
}

func (l *loose) keys(lines []string) []string { return each(lines, l.key) }

func (l *loose) alike(a, b []string) bool { return slices.Equal(l.keys(a), l.keys(b)) }

// join makes a proper text of lines that may lack their ends.
func (l *loose) join(lines []string) string {
	out := split("")
	for _, line := range lines {
		out.addAll(split(line))
	}
	out.complete(l.ours.endsWithNewline())
	return out.String()
}

// around are the numbers of lines on either side by which the indentation of new ones is found. With more of them more is
// told, and with fewer of them less of it can disagree.
var around = []int{8, 3, 1}

// carry gives the lines of theirs as they stand at a place of base whose lines begin at from in ours.
func (m *merger) carry(at span, from int, lines []string) ([]string, bool) {
	if m.loose == nil || len(lines) == 0 {
		return lines, true
	}
	same := m.loose.alike(m.base[at.from:at.to], lines)
	for _, n := range around {
		up, down := min(n, at.from-m.free), min(n, m.next-at.to)
		there := m.ours[from-up : from+at.to-at.from+down]
		if around := m.base[at.from-up : at.to+down]; slices.Equal(around, there) {
			return m.elsewhere(around, lines), true
		}
		if same { // only what does not count is to change, and somebody has changed just that
			continue
		}
		if found, ok := m.indented(at, from, up, down, lines); ok {
			return found, true
		}
	}
	return nil, false
}

// elsewhere gives lines the indentation that the rest of the text tells, where the lines around them have none of the kind.
func (m *merger) elsewhere(around, lines []string) []string {
	found := slices.Clone(lines)
	for i, line := range lines {
		indent := indentOf(line)
		known := slices.ContainsFunc(around, func(other string) bool { return indentOf(other) == indent })
		if to, one := m.loose.indents[indent]; one && !known && !isBlank(line) {
			found[i] = to + line[len(indent):]
		}
	}
	return found
}

// learn notes what became of each indentation of base in ours, where that is the same everywhere.
func (l *loose) learn(base, ours []string, differences []lcs.Diff) {
	l.indents = map[string]string{}
	several := map[string]bool{}
	at, shift := 0, 0
	for _, d := range append(differences, lcs.Diff{Start: len(base), End: len(base)}) {
		for ; at < d.Start; at++ {
			from, to := indentOf(base[at]), indentOf(ours[at+shift])
			if was, known := l.indents[from]; known && was != to {
				several[from] = true
			}
			if !isBlank(base[at]) {
				l.indents[from] = to
			}
		}
		at, shift = d.End, shift+d.ReplEnd-d.ReplStart-(d.End-d.Start)
	}
	for indent := range several {
		delete(l.indents, indent)
	}
}

// indented carries the indentation over by some lines above and below the place.
func (m *merger) indented(at span, from, up, down int, lines []string) ([]string, bool) {
	above, below := bare(m.base[at.from-up:at.from]), bare(m.base[at.to:at.to+down])
	p := placement{start: from - up, how: Whitespace, change: change{
		old:   slices.Concat(above, bare(m.base[at.from:at.to]), below),
		new:   slices.Concat(above, bare(lines), below),
		marks: strings.Repeat(" ", up) + strings.Repeat("-", at.to-at.from) + strings.Repeat("+", len(lines)) + strings.Repeat(" ", down),
	}}
	var err error
	if p.lines, err = m.loose.ours.indent(p); err != nil {
		return nil, false
	}
	placed := m.loose.ours.replacement(p)
	var found []string
	for i := up; i < placed.len()-down; i++ {
		found = append(found, placed.text[i]+string(placed.end[i]))
	}
	return found, true
}

// bare gives lines without their terminators.
func bare(lines []string) []string {
	return each(lines, func(line string) string { return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") })
}
