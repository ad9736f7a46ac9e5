package edit

import (
	"fmt"
	"math"
	"slices"
)

// maxCandidates is how many places an ambiguity lists.
const maxCandidates = 20

// placer finds the places of changes in one text.
type placer struct {
	*corpus
	tiers []tier
	opt   Options
}

// place finds the one place of a change with lines to search for. The order is:
// for each reading of the change, literal first, the tiers from strict to
// loose; then similarity.
func (p *placer) place(ch change) (placement, *FailedBlock) {
	readings := variants(ch)
	for _, v := range readings {
		for _, t := range p.tiers {
			starts := p.candidates(t, v)
			if len(starts) == 1 {
				return p.found(v, starts[0], t.how), nil
			}
			if len(starts) > 1 {
				return placement{}, ambiguous(v.change, starts, 1)
			}
		}
		if at := p.onlyPlace(v); at >= 0 {
			return p.found(v, at, Exact), nil
		}
	}
	if p.opt.fuzzy() {
		return p.similar(readings)
	}
	return placement{}, p.missing(ch, "the text is not in the file.")
}

// candidates lists the equally good places at a tier: all, without a start
// line; with one, the place at that line, else the nearest within the buffer.
func (p *placer) candidates(t tier, v variant) []int {
	if v.hint == 0 {
		return p.find(t, v.old, 0, p.len(), maxCandidates+1)
	}
	at, buffer := v.hint-1, p.opt.buffer()
	if t.how == Exact && p.has(v.old, at) {
		return []int{at}
	}
	if here := p.find(t, v.old, at, at, 1); here != nil {
		return here
	}
	return closest(p.find(t, v.old, at-buffer, at+buffer, math.MaxInt), at)
}

// closest keeps the starts with the least distance to at: one, or two.
func closest(starts []int, at int) []int {
	least := math.MaxInt
	for _, s := range starts {
		least = min(least, abs(s-at))
	}
	return slices.DeleteFunc(starts, func(s int) bool { return abs(s-at) != least })
}

// onlyPlace is where the text stands exactly and once, however far from its
// start line; -1 if there is no such place. Text that stands more than once far
// away says nothing.
func (p *placer) onlyPlace(v variant) int {
	if v.hint == 0 {
		return -1
	}
	starts := p.find(p.tiers[0], v.old, 0, p.len(), 2)
	if len(starts) != 1 {
		return -1
	}
	return starts[0]
}

func (p *placer) found(v variant, start int, how How) placement {
	pl := placement{change: v.change, start: start, how: how}
	for _, n := range v.notes {
		pl.note("%s", n)
	}
	if v.hint > 0 && start+1 != v.hint {
		pl.note("found at line %d, not at line %d", start+1, v.hint)
	}
	switch how {
	case Trailing:
		pl.note("matched apart from trailing whitespace")
	case Indented:
		pl.note("matched apart from indentation, which follows the file")
	case Whitespace:
		pl.note("matched apart from whitespace or typographic punctuation; indentation follows the file")
	}
	return pl
}

func (p *placement) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf("block %d: ", p.index)+fmt.Sprintf(format, args...))
}

// similar places a change by similarity: in the reading that comes closest,
// and only if no other place reaches the threshold, or the start line decides.
func (p *placer) similar(readings []variant) (placement, *FailedBlock) {
	var best variant
	var windows []scored
	for _, v := range readings {
		found, complete := p.compare(v.old).above(p.window(v), p.opt.Threshold)
		if !complete {
			return placement{}, p.missing(v.change, "the text is not in the file, and file and text are too large to look for a similar one.")
		}
		if len(found) > 0 && (len(windows) == 0 || found[0].score > windows[0].score) {
			best, windows = v, found
		}
	}
	if len(windows) == 0 {
		return placement{}, p.missing(readings[0].change, fmt.Sprintf("no text of the file is similar enough (%d%% needed).", int(p.opt.Threshold*100)))
	}
	rivals := contenders(windows, best)
	if len(rivals) > 1 {
		return placement{}, ambiguous(best.change, rivals, windows[0].score)
	}
	pl := p.found(best, rivals[0], Fuzzy)
	pl.note("matched by similarity, %d%%", int(windows[0].score*100))
	return pl, nil
}

// span is a range of window starts.
type span struct{ from, to int }

// window is where a change may be placed by similarity.
func (p *placer) window(v variant) span {
	last := p.len() - len(v.old)
	if v.hint == 0 {
		return span{0, last}
	}
	at, buffer := v.hint-1, p.opt.buffer()
	return span{max(0, at-buffer), min(last, at+buffer)}
}

// contenders are the starts among which the choice is unclear. Windows come
// best first; those that overlap the best one are the same place seen askew.
func contenders(windows []scored, v variant) []int {
	top := windows[0]
	if v.hint > 0 {
		var level []int
		for _, w := range windows {
			if w.score == top.score {
				level = append(level, w.start)
			}
		}
		return closest(level, v.hint-1)
	}
	starts := []int{top.start}
	for _, w := range windows[1:] {
		if abs(w.start-top.start) >= len(v.old) && len(starts) <= maxCandidates {
			starts = append(starts, w.start)
		}
	}
	slices.Sort(starts)
	return starts
}
