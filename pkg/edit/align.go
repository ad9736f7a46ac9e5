package edit

import (
	"slices"
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

// maxTwins bounds the table by which twins are told apart.
const maxTwins = 1 << 18

// otherTwin refuses a kept line that could as well be another line of the search that reads the same, where the two
// have different indentation in the file.
func (in *reindenter) otherTwin() error {
	if _, marked := in.p.marked(); marked {
		return nil
	}
	places := make(map[string][]int)
	for i, line := range in.p.old {
		if !isBlank(line) {
			places[line] = append(places[line], i)
		}
	}
	differ := func(line string) bool {
		twins := places[line]
		return slices.ContainsFunc(twins, func(i int) bool {
			return indentOf(in.file(i)) != indentOf(in.file(twins[0]))
		})
	}
	if !slices.ContainsFunc(in.p.new, differ) {
		return nil
	}
	if len(in.p.old)*len(in.p.new) > maxTwins {
		return in.doubt("it is too long to tell which of its equal lines stay")
	}
	before := common(in.p.old, in.p.new)
	after := common(reversed(in.p.old), reversed(in.p.new))
	n, m := len(in.p.old), len(in.p.new)
	for j, line := range in.p.new {
		if !differ(line) {
			continue
		}
		level, found := "", false
		for _, i := range places[line] {
			if before[i][j]+1+after[n-i-1][m-j-1] < before[n][m] {
				continue
			}
			if here := indentOf(in.file(i)); found && here != level {
				return in.doubt("the line %q stands there more than once, so it is not certain which of them stays", short(line))
			} else {
				level, found = here, true
			}
		}
	}
	return nil
}

// common gives the length of the longest common subsequence of each pair of beginnings.
func common(a, b []string) [][]int32 {
	table := make([][]int32, len(a)+1)
	table[0] = make([]int32, len(b)+1)
	for i, x := range a {
		table[i+1] = make([]int32, len(b)+1)
		for j, y := range b {
			if x == y {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table
}

func reversed(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}
