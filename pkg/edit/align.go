package edit

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// runs gives the differences between the old and the new lines, ascending: as the marks of a diff tell them, else as few as
// possible.
func (ch change) runs() []lcs.Diff {
	if marked, ok := ch.marked(); ok {
		return marked
	}
	return lcs.DiffLines(ch.old, ch.new)
}

// marked reads the runs off the marks; ok is false if there are none, or if a repair has changed the lines since.
func (ch change) marked() (list []lcs.Diff, ok bool) {
	var r lcs.Diff
	flush := func() {
		if r.Start < r.End || r.ReplStart < r.ReplEnd {
			list = append(list, r)
		}
		r.Start, r.ReplStart = r.End, r.ReplEnd
	}
	for _, mark := range ch.marks {
		switch mark {
		case '-':
			r.End++
		case '+':
			r.ReplEnd++
		default:
			flush()
			if r.End >= len(ch.old) || r.ReplEnd >= len(ch.new) || ch.old[r.End] != ch.new[r.ReplEnd] {
				return nil, false
			}
			r = lcs.Diff{Start: r.End + 1, End: r.End + 1, ReplStart: r.ReplEnd + 1, ReplEnd: r.ReplEnd + 1}
		}
	}
	flush()
	return list, ch.marks != "" && r.End == len(ch.old) && r.ReplEnd == len(ch.new)
}

// standsFor gives for each new line the old one that it keeps or replaces, -1 for none.
func standsFor(runs []lcs.Diff, old, new int) []int {
	list := make([]int, 0, new)
	at := 0
	for _, r := range append(runs, lcs.Diff{Start: old, End: old, ReplStart: new, ReplEnd: new}) {
		for ; at < r.Start; at++ {
			list = append(list, at)
		}
		for range r.ReplEnd - r.ReplStart {
			if at < r.End {
				list = append(list, at)
				at++
			} else {
				list = append(list, -1)
			}
		}
		at = r.End
	}
	return list
}

// keptLines gives for each new line the old line that has its text: the same
// line outside of the runs, one that differs at most in indentation inside.
func keptLines(old, new []string, runs []lcs.Diff) []int {
	kept := standsFor(runs, len(old), len(new))
	for _, r := range runs {
		for j := r.ReplStart; j < r.ReplEnd; j++ {
			kept[j] = -1
		}
		moved(old, new, r, kept)
	}
	return kept
}

// moved finds the lines of a run that differ only in indentation.
func moved(old, new []string, r lcs.Diff, kept []int) {
	trim := func(line string) string { return strings.TrimLeft(line, " \t") }
	a, b := each(old[r.Start:r.End], trim), each(new[r.ReplStart:r.ReplEnd], trim)
	at, next := 0, 0
	for _, d := range append(lcs.DiffLines(a, b), lcs.Diff{Start: len(a), ReplStart: len(b)}) {
		for ; at < d.Start; at, next = at+1, next+1 {
			if a[at] != "" {
				kept[r.ReplStart+next] = r.Start + at
			}
		}
		at, next = d.End, d.ReplEnd
	}
}
