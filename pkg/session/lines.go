package session

import "slices"

// maxRanges bounds the line ranges kept of one file. What does not fit is not counted as seen.
const maxRanges = 64

// addLines returns the sorted, disjoint, non-adjacent ranges that cover lines and from..to. The given
// slice is left alone: views that were handed out keep theirs.
func addLines(lines [][2]int, from, to int) [][2]int {
	first := 0
	for first < len(lines) && lines[first][1] < from-1 {
		first++
	}
	last := first
	for last < len(lines) && lines[last][0] <= to+1 {
		from, to = min(from, lines[last][0]), max(to, lines[last][1])
		last++
	}
	if last == first && len(lines) >= maxRanges {
		return lines
	}
	return slices.Concat(lines[:first], [][2]int{{from, to}}, lines[last:])
}
