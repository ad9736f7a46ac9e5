package edit

import (
	"fmt"
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

// place finds the one place of a change with lines to search for. The order is: for each reading of the change, literal
// first, the tiers from strict to loose; then similarity.
func (p *placer) place(ch change) (placement, *FailedBlock) {
	readings := variants(ch)
	for _, v := range readings {
		for _, t := range p.tiers {
			starts := p.candidates(t, v, leadingBlanks(ch.old)-leadingBlanks(v.old))
			if len(starts) == 1 {
				return p.found(v, starts[0], t.how), nil
			}
			if len(starts) > 1 {
				return placement{}, ambiguous(v, starts, 1)
			}
		}
	}
	if p.opt.fuzzy() {
		return p.similar(readings)
	}
	return placement{}, p.missing(ch, "the text is not in the file.")
}

// candidates lists the equally good places at a tier: the one that the start
// line names exactly; else all. skipped blank lines at the top of the search can
// have been left out of the reading. A loose match must be near its start line.
func (p *placer) candidates(t tier, v change, skipped int) []int {
	if v.hint == 0 {
		return p.find(t, v.old, 0, p.len(), maxCandidates+1)
	}
	at := v.hint - 1
	if skipped <= 0 && t.how == Exact && p.has(v.old, at) {
		return []int{at}
	}
	var named []int
	for _, line := range []int{at, at + max(skipped, 0)} {
		if here := p.find(t, v.old, line, line, 1); here != nil && !slices.Contains(named, line) {
			named = append(named, line)
		}
	}
	if named != nil {
		return named
	}
	all := p.find(t, v.old, 0, p.len(), maxCandidates+1)
	switch {
	case t.how != Exact && len(all) == 1 && abs(all[0]-at) > p.opt.buffer():
		return nil
	case t.how == Exact && len(all) == 1:
		// The line named can hold the text in other indentation.
		loose := p.tiers[len(p.tiers)-1]
		if here := p.find(loose, v.old, at, at, 1); here != nil {
			all = append(all, at)
			slices.Sort(all)
		}
	}
	return all
}

func leadingBlanks(lines []string) int {
	first := slices.IndexFunc(lines, func(line string) bool { return !isBlank(line) })
	if first < 0 {
		return len(lines)
	}
	return first
}

func (p *placer) found(v change, start int, how How) placement {
	pl := placement{change: v, start: start, how: how}
	for _, n := range v.repairs {
		pl.note("%s", n)
	}
	if v.hint > 0 && start+1 != v.hint {
		pl.note("found at line %d, not at line %d", start+1, v.hint)
	}
	if how == Whitespace {
		pl.note("matched apart from whitespace or typographic punctuation; indentation follows the file")
	}
	return pl
}

func (p *placement) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf("block %d: ", p.index)+fmt.Sprintf(format, args...))
}

// similar places a change by similarity: in the reading that comes closest,
// and only if no other place reaches the threshold, or the start line decides.
func (p *placer) similar(readings []change) (placement, *FailedBlock) {
	var best change
	var windows []scored
	for _, v := range readings {
		if len(v.old) > p.len() {
			continue
		}
		found, complete := p.compare(v.old).above(p.opt.Threshold)
		if !complete {
			return placement{}, p.missing(v, "the text is not in the file, and file and text are too large to look for a similar one.")
		}
		if len(found) > 0 && (len(windows) == 0 || found[0].score > windows[0].score) {
			best, windows = v, found
		}
	}
	if len(windows) == 0 {
		return placement{}, p.missing(readings[0], fmt.Sprintf("no text of the file is similar enough (%d%% needed).", int(p.opt.Threshold*100)))
	}
	for i, w := range windows {
		if w.start+1 == best.hint && w.score == windows[0].score {
			windows[0], windows[i] = w, windows[0]
		}
	}
	if rivals := contenders(windows, best); len(rivals) > 1 {
		return placement{}, ambiguous(best, rivals, windows[0].score)
	}
	if p.shifted(best.old, windows[0].start) {
		return placement{}, p.missing(best, "the most similar text does not have its lines in the same order or number, so which of them are meant is not certain.")
	}
	pl := p.found(best, windows[0].start, Fuzzy)
	pl.note("matched by similarity, %d%%", int(windows[0].score*100))
	return pl, nil
}

// contenders are the starts among which the choice is unclear. Windows come best first; those that overlap the best one
// are the same place seen askew, unless they are as good. A start line decides if it names the best one.
func contenders(windows []scored, v change) []int {
	top := windows[0]
	starts := []int{top.start}
	for _, w := range windows[1:] {
		apart := abs(w.start-top.start) >= len(v.old)
		if (apart && v.hint != top.start+1 || w.score == top.score && v.hint != top.start+1) && len(starts) <= maxCandidates {
			starts = append(starts, w.start)
		}
	}
	slices.Sort(starts)
	return starts
}

// shifted reports whether a line of the search reads more like a line beside the one that it would be compared with.
func (p *placer) shifted(search []string, start int) bool {
	loose := p.loose()
	for i, line := range search {
		pattern := newPattern(loosen(line))
		here := 0.0
		if at := start + i; at < len(loose) {
			here = pattern.similarity(loose[at])
		}
		for _, at := range []int{start + i - 1, start + i + 1} {
			if at >= 0 && at < len(loose) && pattern.similarity(loose[at]) > here {
				return true
			}
		}
	}
	return false
}
