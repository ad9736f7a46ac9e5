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
				return placement{}, ambiguous(v.change, starts)
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
		return placement{}, ambiguous(best.change, rivals)
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

func ambiguous(ch change, starts []int) *FailedBlock {
	f := failure(ch, ErrAmbiguous)
	for _, s := range starts[:min(len(starts), maxCandidates)] {
		f.Candidates = append(f.Candidates, s+1)
	}
	list := listLines(f.Candidates, len(starts))
	if ch.hint > 0 {
		f.Reason = fmt.Sprintf("the text stands at lines %s, equally far from line %d. Give the exact start line or more lines of context.", list, ch.hint)
	} else {
		f.Reason = fmt.Sprintf("the text stands at lines %s. Say which with a start line, or give more lines of context.", list)
	}
	return f
}

// missing reports a change without a place, with the most similar text.
func (p *placer) missing(ch change, reason string) *FailedBlock {
	f := failure(ch, ErrNoMatch)
	f.Reason = reason
	if ch.hint > p.len() {
		f.Reason = fmt.Sprintf("%s The start line is %d, the file has %d lines.", reason, ch.hint, p.len())
	}
	p.describe(f, ch.old)
	return f
}

func failure(ch change, kind error) *FailedBlock {
	return &FailedBlock{Index: ch.index, DiffLine: ch.diffLine, Err: kind, StartLine: ch.hint, Search: excerpt(ch.old)}
}

// describe adds the best match to f, and the lines around it, or around the
// start line where nothing is similar.
func (p *placer) describe(f *FailedBlock, search []string) {
	const around, maxLines, maxLine = 3, 60, 300
	from, to := f.StartLine-1, f.StartLine
	if best, ok := p.compare(search).nearest(span{0, p.len()}); ok {
		from, to = best.start, min(p.len(), best.start+len(search))
		f.BestStart, f.BestEnd, f.Score = from+1, to, best.score
	}
	from, to = max(0, from-around), min(p.len(), to+around)
	if f.BestStart == 0 && f.StartLine == 0 || from >= to {
		return
	}
	to = min(to, from+maxLines)
	lines := make([]string, 0, to-from)
	for _, line := range p.text[from:to] {
		lines = append(lines, shorten(line, maxLine))
	}
	f.Surroundings = Numbered(lines, from+1)
}
