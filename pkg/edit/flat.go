package edit

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// flat reports whether all lines of the block have the same indentation, so
// that it does not tell which of them stands inside which.
func (in *reindenter) flat() bool {
	return in.allFlat() && len(in.p.new) > 1 && len(in.base)+len(in.p.new) > 2
}

func (in *reindenter) allFlat() bool {
	level := in.base[0].search
	return !in.any(func(b indents) bool { return b.search != level }) &&
		!slices.ContainsFunc(in.news, func(j int) bool { return in.wanted(j) != level })
}

// searchFlat reports whether the search has lost its indentation and the replacement has not.
func (in *reindenter) searchFlat() bool {
	first := in.base[0]
	return !in.allFlat() && in.any(first.otherLevel) && !in.any(func(b indents) bool { return b.search != first.search })
}

// otherLevel reports whether another line stands at another level of the file.
func (b indents) otherLevel(other indents) bool { return b.file != other.file }

// hidesBlocks reports whether a new line can be inside another where the flat
// indentation of the block does not show it.
func (in *reindenter) hidesBlocks(found []string) bool {
	if o := in.outline(); !o.regular {
		return o.rises && slices.ContainsFunc(in.runs, func(r lcs.Diff) bool { return r.ReplEnd-r.ReplStart > r.End-r.Start })
	}
	if in.appendsToBlock(found) {
		return true
	}
	news := in.news
	for n, j := range news {
		below, fresh := in.lineFrom(in.p.stop()), !in.same(j)
		deeper := len(indentOf(below)) > len(found[j])
		if n+1 < len(news) {
			below, deeper = in.p.new[news[n+1]], false
			fresh = fresh || !in.same(news[n+1])
		}
		if fresh && opens(in.p.new[j]) >= likely && !deeper && closing(below) == no {
			return true
		}
	}
	return false
}

// appendsToBlock reports whether lines are put below the last one of a block
// that ends with its indentation: they can be inside it or behind it.
func (in *reindenter) appendsToBlock(found []string) bool {
	last := len(in.p.new) - 1
	if len(in.runs) == 0 || in.p.stop() == in.len() || in.same(last) || isBlank(in.p.new[last]) {
		return false
	}
	r, below := in.runs[len(in.runs)-1], in.text[in.p.stop()]
	return r.ReplEnd-r.ReplStart > r.End-r.Start && !isBlank(below) && len(indentOf(below)) < len(found[last]) && closing(below) == no
}

// baresBlock refuses to take away the line that opens a block and to leave the lines in it, where the flat indentation
// of the block does not tell whether they are to move.
func (in *reindenter) baresBlock() error {
	if len(in.base) == 0 || !in.allFlat() || !in.any(in.base[0].otherLevel) {
		return nil
	}
	for _, r := range in.runs {
		for j := r.ReplStart; j < r.ReplEnd; j++ {
			if in.kept[j] >= 0 { // only a diff writes a line that stays as one that goes and comes
				return in.doubt("it moves the line %q, but its flat lines do not tell where to", short(in.p.new[j]))
			}
		}
		opener := in.lineBefore(in.p.start + r.End)
		if r.Start == r.End || isBlank(in.text[in.p.start+r.End-1]) || r.End == len(in.p.old) ||
			len(indentOf(in.lineFrom(in.p.start+r.End))) <= len(indentOf(opener)) {
			continue
		}
		if r.ReplStart == r.ReplEnd || in.outline().regular && opens(in.p.new[r.ReplEnd-1]) == no {
			return in.doubt("it takes the line %q away, but its flat lines do not tell where those below it belong then", short(opener))
		}
	}
	return nil
}
