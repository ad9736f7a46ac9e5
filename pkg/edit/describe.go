package edit

import (
	"fmt"
	"slices"
)

// How much of the file an error shows.
const (
	linesAround   = 3   // above and below a place
	maxLinesShown = 60  // of one place
	maxLineShown  = 300 // bytes of one line
	maxShown      = 3   // candidates of an ambiguity
)

// ambiguous reports a change that fits several places equally well.
func ambiguous(ch change, starts []int, score float64) *FailedBlock {
	f := failure(ch, ErrAmbiguous, "")
	f.BestStart, f.BestEnd, f.Score = starts[0]+1, starts[0]+len(ch.old), score
	f.list(starts)
	list := listLines(f.Candidates, len(starts))
	switch {
	case ch.hint == 0:
		f.Reason = fmt.Sprintf("the text stands at lines %s. Say which with a start line, or give more lines of context.", list)
	case slices.Contains(starts, ch.hint-1):
		f.Reason = fmt.Sprintf("the text fits at lines %s, and not best at line %d, which its start line names. Give more lines of context, with the indentation of the file.", list, ch.hint)
	default:
		f.Reason = fmt.Sprintf("the text stands at lines %s, none of them line %d. Give the exact start line or more lines of context.", list, ch.hint)
	}
	return f
}

// missing reports a change without a place, with the most similar text.
func (p *placer) missing(ch change, reason string) *FailedBlock {
	f := failure(ch, ErrNoMatch, "%s", reason)
	if ch.hint > p.len() {
		f.Reason = fmt.Sprintf("%s The start line is %d, the file has %d lines.", reason, ch.hint, p.len())
	}
	p.describe(f, ch.old)
	return f
}

// list notes the places among which the choice is unclear.
func (f *FailedBlock) list(starts []int) {
	f.Candidates = each(starts[:min(len(starts), maxCandidates)], func(start int) int { return start + 1 })
}

func failure(ch change, kind error, reason string, args ...any) *FailedBlock {
	return &FailedBlock{Index: ch.index, DiffLine: ch.diffLine, Err: kind, Reason: fmt.Sprintf(reason, args...),
		StartLine: ch.hint, Search: excerpt(ch.old)}
}

// describe adds the best match to f and shows it, or the start line where nothing is similar.
func (p *placer) describe(f *FailedBlock, search []string) {
	if len(search) > 0 {
		if best, ok := p.compare(search).nearest(); ok {
			f.BestStart, f.BestEnd = best.start+1, min(p.len(), best.start+len(search))
			f.Score = best.score
			f.Difference = p.difference(search, best.start, false)
			f.Surroundings = p.around(best.start, f.BestEnd)
			return
		}
	}
	p.show(f)
}

// show adds the lines around the places that f names.
func (p *placer) show(f *FailedBlock) {
	switch {
	case len(f.Candidates) > 0:
		for i, line := range f.Candidates[:min(len(f.Candidates), maxShown)] {
			if i > 0 {
				f.Surroundings += "…\n"
			}
			f.Surroundings += p.around(line-1, line)
		}
	case f.StartLine > 0:
		f.Surroundings = p.around(f.StartLine-1, f.StartLine)
	}
}

// around shows the lines [from, to) and some above and below, numbered; "" where the file has none.
func (c *corpus) around(from, to int) string {
	from, to = max(0, from-linesAround), min(c.len(), to+linesAround)
	if from >= to {
		return ""
	}
	to = min(to, from+maxLinesShown)
	return Numbered(each(c.text[from:to], func(line string) string { return shorten(line, maxLineShown) }), from+1)
}
