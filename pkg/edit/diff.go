package edit

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Hunks compares two texts by lines, terminators included, and gives for each difference {first line before, lines
// before, first line after, lines after}: the numbers of a unified diff without context. A side without lines names the
// line before the place. Taking the "after" lines of each hunk from after, and all others from before, gives after.
//
// Lines that occur once on both sides are matched first (Bram Cohen's patience diff), the rest by Myers' algorithm with
// bounded effort: on very different texts hunks can be larger than need be, never wrong.
func Hunks(before, after string) [][4]int {
	return hunksOf(diffLines(RawLines(before), RawLines(after)))
}

// IDHunks is Hunks of lines that stand as numbers, from 0 to below ids: equal numbers are equal lines.
func IDHunks(before, after []int32, ids int) [][4]int {
	return hunksOf(diffIDs(before, after, ids))
}

func hunksOf(diffs []lcs.Diff) [][4]int {
	hunks := [][4]int{}
	for _, d := range diffs {
		old, new := d.End-d.Start, d.ReplEnd-d.ReplStart
		hunks = append(hunks, [4]int{lineOf(d.Start, old), old, lineOf(d.ReplStart, new), new})
	}
	return hunks
}

// diffLines gives the differences of two lists of lines, ascending and apart.
func diffLines(before, after []string) []lcs.Diff {
	ids := make(map[string]int32)
	intern := func(line string) int32 { return idOf(ids, line) }
	a, b := each(before, intern), each(after, intern)
	return diffIDs(a, b, len(ids))
}

func diffIDs(a, b []int32, ids int) []lcs.Diff {
	d := &differ{a: a, b: b, rounds: 200, countA: make([]int32, ids), countB: make([]int32, ids), placeB: make([]int32, ids)}
	d.compare(0, len(a), 0, len(b), 0)
	return d.diffs
}

// differ compares two lists of line ids.
type differ struct {
	a, b           []rune
	countA, countB []int32 // scratch, by id: occurrences in the range at hand
	placeB         []int32 // scratch, by id: a place in b
	rounds         int     // how often Myers' algorithm may go on where it gave up
	diffs          []lcs.Diff
}

// maxDepth bounds the recursion of the patience step: each level looks at every line once.
const maxDepth = 32

// compare adds the differences between a[a0:a1] and b[b0:b1].
func (d *differ) compare(a0, a1, b0, b1, depth int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 {
		d.add(a0, a1, b0, b1)
		return
	}
	var anchors []anchor
	if depth < maxDepth {
		anchors = d.anchors(a0, a1, b0, b1)
	}
	if len(anchors) == 0 {
		d.myers(a0, a1, b0, b1)
		return
	}
	for _, at := range anchors {
		d.compare(a0, at.a, b0, at.b, depth+1)
		a0, b0 = at.a+1, at.b+1
	}
	d.compare(a0, a1, b0, b1, depth+1)
}

// add notes a difference, joined to the one before if they touch.
func (d *differ) add(a0, a1, b0, b1 int) {
	if a0 == a1 && b0 == b1 {
		return
	}
	if n := len(d.diffs); n > 0 && d.diffs[n-1].End == a0 && d.diffs[n-1].ReplEnd == b0 {
		d.diffs[n-1].End, d.diffs[n-1].ReplEnd = a1, b1
		return
	}
	d.diffs = append(d.diffs, lcs.Diff{Start: a0, End: a1, ReplStart: b0, ReplEnd: b1})
}

// anchor is a line that both sides have.
type anchor struct{ a, b int }

// anchors gives the longest ascending chain of lines that occur exactly once in both ranges.
func (d *differ) anchors(a0, a1, b0, b1 int) []anchor {
	for _, id := range d.a[a0:a1] {
		d.countA[id]++
	}
	for i, id := range d.b[b0:b1] {
		d.countB[id]++
		d.placeB[id] = int32(b0 + i)
	}
	var common []anchor
	for i, id := range d.a[a0:a1] {
		if d.countA[id] == 1 && d.countB[id] == 1 {
			common = append(common, anchor{a0 + i, int(d.placeB[id])})
		}
	}
	for _, id := range slices.Concat(d.a[a0:a1], d.b[b0:b1]) {
		d.countA[id], d.countB[id] = 0, 0
	}
	return ascending(common)
}

// ascending picks the longest subsequence that ascends in b, by patience sorting.
func ascending(common []anchor) []anchor {
	var tops []int // tops[k] ends the best subsequence of length k+1
	previous := make([]int, len(common))
	for i, c := range common {
		k := sort.Search(len(tops), func(k int) bool { return common[tops[k]].b > c.b })
		previous[i] = -1
		if k > 0 {
			previous[i] = tops[k-1]
		}
		if k == len(tops) {
			tops = append(tops, i)
		} else {
			tops[k] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	chain := make([]anchor, len(tops))
	i := tops[len(tops)-1]
	for k := range slices.Backward(chain) {
		chain[k], i = common[i], previous[i]
	}
	return chain
}

// maxDistance is the number of differing lines up to which the library's
// algorithm is exact. Beyond, it leaves a gap in the middle.
const maxDistance = 100

// myers compares ranges without anchors; while rounds remain, a gap is compared again.
func (d *differ) myers(a0, a1, b0, b1 int) {
	for _, part := range lcs.DiffRunes(d.a[a0:a1], d.b[b0:b1]) {
		s, e, rs, re := a0+part.Start, a0+part.End, b0+part.ReplStart, b0+part.ReplEnd
		gap := e > s && re > rs && e-s+re-rs > maxDistance
		smaller := e-s < a1-a0 || re-rs < b1-b0
		if gap && smaller && d.rounds > 0 {
			d.rounds--
			d.compare(s, e, rs, re, maxDepth)
			continue
		}
		d.add(s, e, rs, re)
	}
}

// Unified renders the difference of two texts as a unified diff with context lines around each hunk; "" if they are
// equal. Lines stand as they are, also with carriage returns, so that [ApplyDiff] gives after again.
func Unified(pathBefore, pathAfter, before, after string, context int) string {
	return UnifiedHunks(pathBefore, pathAfter, before, after, Hunks(before, after), context)
}

// UnifiedHunks is [Unified] where the hunks of the two texts are known already.
func UnifiedHunks(pathBefore, pathAfter, before, after string, hunks [][4]int, context int) string {
	if len(hunks) == 0 {
		return ""
	}
	u := unifiedWriter{before: RawLines(before), after: RawLines(after), context: max(context, 0)}
	fmt.Fprintf(&u.out, "--- %s\n+++ %s\n", headerName(pathBefore), headerName(pathAfter))
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n][0]-(hunks[n-1][0]+hunks[n-1][1]) <= 2*u.context {
			n++
		}
		u.group(hunks[:n])
		hunks = hunks[n:]
	}
	return u.out.String()
}

// headerName quotes a name that would break the header line.
func headerName(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

type unifiedWriter struct {
	before, after []string
	context       int
	out           strings.Builder
}

// group writes hunks whose context lines meet as one.
func (u *unifiedWriter) group(hunks [][4]int) {
	from := max(0, begin(hunks[0])-u.context)
	last := hunks[len(hunks)-1]
	to := min(len(u.before), begin(last)+last[1]+u.context)
	added := 0
	for _, h := range hunks {
		added += h[3] - h[1]
	}
	afterFrom := startOf(hunks[0][2], hunks[0][3]) - (begin(hunks[0]) - from)
	fmt.Fprintf(&u.out, "@@ -%s +%s @@\n", rangeOf(from, to-from), rangeOf(afterFrom, to-from+added))
	at := from
	for _, h := range hunks {
		u.lines(' ', u.before[at:begin(h)])
		at = begin(h) + h[1]
		u.lines('-', u.before[begin(h):at])
		if h[3] > 0 {
			u.lines('+', u.after[h[2]-1:h[2]-1+h[3]])
		}
	}
	u.lines(' ', u.before[at:to])
}

// begin is the 0-based line before which a hunk begins in the text before.
func begin(h [4]int) int { return startOf(h[0], h[1]) }

// startOf is the 0-based start of a side of a hunk, and lineOf the other way round.
func startOf(line, lines int) int { return line - min(lines, 1) }

func lineOf(start, lines int) int { return start + min(lines, 1) }

// rangeOf renders one side of a hunk header from a 0-based start.
func rangeOf(start, count int) string {
	if count == 1 {
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", lineOf(start, count), count)
}

func (u *unifiedWriter) lines(mark byte, lines []string) {
	for _, line := range lines {
		u.out.WriteByte(mark)
		u.out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			u.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
