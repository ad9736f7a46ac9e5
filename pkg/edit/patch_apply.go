package edit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	file "github.com/intentgov/orchestra-mcp/pkg/change"
)

// Apply gives the file as the section leaves it: the content of an added file, the edited text of an updated or moved
// one, "" for a deleted one. original is the text of the file before; to create or delete one nobody looks at it. Of
// several sections on one file, each is applied to the result of the one before.
//
// The error is a [*MatchError] with the section's path.
func (s *Section) Apply(original string, opt Options) (Result, error) {
	switch s.Op {
	case file.Created:
		return Result{Text: strings.Join(slices.Concat(s.Content, []string{""}), "\n")}, nil
	case file.Deleted:
		return Result{}, nil
	}
	seek := &seeker{placer: &placer{corpus: newCorpus(original), tiers: allTiers(), opt: opt}, hunks: s.Hunks}
	changes := make([]change, len(s.Hunks))
	for i, h := range s.Hunks {
		changes[i] = changeOf(i+1, h.Line, h.Lines)
	}
	result, _, err := seek.run(changes, seek.hunk)
	if match, failed := errors.AsType[*MatchError](err); failed {
		match.Path = s.Path
	}
	return result, err
}

// seeker places the hunks of one section. Their order is that of the file: each is looked for below the one before.
type seeker struct {
	*placer
	hunks  []PatchHunk
	cursor int // where the next hunk may begin

	blockEnds []int // see ends
}

func (s *seeker) hunk(ch change) (placement, *FailedBlock) {
	h := s.hunks[ch.index-1]
	pl, failed := s.seek(ch, h)
	if failed == nil && len(ch.old) > 0 {
		s.cursor = pl.stop()
	}
	return pl, failed
}

func (s *seeker) seek(ch change, h PatchHunk) (placement, *FailedBlock) {
	anchors, header := splitAnchors(h.Anchors)
	if header != nil && len(ch.old) > 0 {
		ch.hint = max(1, number(header[1], 1))
		return s.place(ch)
	}
	froms, failed := s.anchor(ch, anchors)
	switch {
	case failed != nil:
		return placement{}, failed
	case len(ch.old) == 0:
		return s.insert(ch, anchors, froms)
	}
	readings := variants(ch)
	for _, v := range readings {
		for _, t := range s.tiers {
			switch starts := s.below(t, v, h, anchors, froms); len(starts) {
			case 0:
			case 1:
				return s.found(v, starts[0], t.how), nil
			default:
				return placement{}, ambiguousHunk(v, starts)
			}
		}
	}
	return s.elsewhere(ch, h, readings)
}

// splitAnchors separates the texts of @@ lines from the numbers that some write there, as in a unified diff.
func splitAnchors(anchors []string) (texts, header []string) {
	for _, a := range anchors {
		if m := hunkHeader().FindStringSubmatch("@@ " + a); m != nil {
			header = m
			continue
		}
		texts = append(texts, a)
	}
	return texts, header
}

// anchor gives the lines from which a hunk is looked for: the cursor, or every line where its anchors end.
func (s *seeker) anchor(ch change, anchors []string) ([]int, *FailedBlock) {
	froms := []int{s.cursor}
	for i, text := range anchors {
		first := froms[0]
		lines := s.anchorLines(text, first)
		if i == 0 {
			froms = lines
		} else {
			froms = s.inside(lines, froms, 1)
		}
		if len(froms) == 0 {
			f := failure(ch, ErrNoMatch, "no line %q, which its @@ line names, stands below line %d. Anchors are whole lines of the file.", shorten(text, 200), first)
			s.describe(f, []string{text})
			return nil, f
		}
	}
	return froms, nil
}

// anchorLines finds an anchor at the strictest tier that has it, at last as the beginning of a line.
func (s *seeker) anchorLines(text string, from int) []int {
	for _, wanted := range []string{text, strings.TrimSpace(strings.TrimSuffix(text, "@@"))} {
		if wanted == "" {
			continue
		}
		for _, t := range s.tiers {
			if lines := s.find(t, []string{wanted}, from, s.len(), math.MaxInt); len(lines) > 0 {
				return lines
			}
		}
	}
	var lines []int
	prefix := loosen(text)
	for i, line := range s.loose()[min(from, s.len()):] {
		if prefix != "" && strings.HasPrefix(line, prefix) {
			lines = append(lines, from+i)
		}
	}
	return lines
}

// inside gives, for each of froms, those of sorted that are at least by greater and that its line can mean: the one
// right below it, else those in its block, else all. Without repetitions, ascending.
func (s *seeker) inside(sorted, froms []int, by int) []int {
	var all []int
	for _, from := range froms {
		i, _ := slices.BinarySearch(sorted, from+by)
		below := sorted[i:]
		if len(below) == 0 {
			break
		}
		end, _ := slices.BinarySearch(below, s.ends()[from])
		switch {
		case below[0] <= from+1:
			end = 1
		case end == 0:
			end = len(below)
		}
		all = append(all, below[:min(end, maxCandidates+1)]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ends gives for each line the first one below it that is not deeper, blank lines apart.
func (s *seeker) ends() []int {
	if s.blockEnds != nil {
		return s.blockEnds
	}
	s.blockEnds = make([]int, s.len())
	var open []int
	for i := s.len() - 1; i >= 0; i-- {
		s.blockEnds[i] = s.len()
		if isBlank(s.text[i]) {
			continue
		}
		for len(open) > 0 && len(indentOf(s.text[open[len(open)-1]])) > len(indentOf(s.text[i])) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			s.blockEnds[i] = open[len(open)-1]
		}
		open = append(open, i)
	}
	return s.blockEnds
}

// below lists the places among which the choice is unclear: with anchors, those
// that they can mean; without, all places below the cursor.
func (s *seeker) below(t tier, v change, h PatchHunk, anchors []string, froms []int) []int {
	if h.EndOfFile {
		last := s.len() - len(v.old)
		return s.find(t, v.old, last, last, 1)
	}
	if len(anchors) == 0 {
		return s.find(t, v.old, s.cursor, s.len(), maxCandidates+1)
	}
	return s.inside(s.find(t, v.old, s.cursor, s.len(), math.MaxInt), froms, 0)
}

// insert places a hunk that only adds lines: below its anchor, else at the end of the file.
func (s *seeker) insert(ch change, anchors []string, froms []int) (placement, *FailedBlock) {
	pl := placement{change: ch, start: s.len(), how: Inserted}
	if len(anchors) == 0 {
		pl.note("it has no context, so its lines were added at the end of the file")
		return pl, nil
	}
	if len(froms) != 1 {
		return pl, ambiguousHunk(ch, froms)
	}
	pl.start = froms[0] + 1
	pl.note("it has no context, so its lines were added below line %d", pl.start)
	return pl, nil
}

// elsewhere takes the only place above the cursor, or a similar one, where the
// hunk leaves no doubt; else it says what is wrong.
func (s *seeker) elsewhere(ch change, h PatchHunk, readings []change) (placement, *FailedBlock) {
	if len(h.Anchors) == 0 && !h.EndOfFile {
		if starts := s.find(s.tiers[0], ch.old, 0, s.len(), 2); len(starts) == 1 {
			pl := s.found(readings[0], starts[0], Exact)
			pl.note("found above the hunk before it")
			return pl, nil
		}
		if s.opt.fuzzy() {
			return s.similar(readings)
		}
	}
	reason := "its lines are not in the file."
	switch {
	case h.EndOfFile:
		reason = fmt.Sprintf("its lines are not at the end of the file, as %q demands.", endOfFile)
	case len(h.Anchors) > 0:
		reason = "its lines do not stand below its @@ line."
	case s.cursor > 0:
		reason = fmt.Sprintf("its lines are not in the file below line %d, where the hunk before it ends.", s.cursor)
	}
	return placement{}, s.missing(ch, reason)
}

func ambiguousHunk(ch change, starts []int) *FailedBlock {
	f := ambiguous(ch, starts, 1)
	f.Reason = fmt.Sprintf("it fits at lines %s. Add lines of context, or an @@ line with the class or function that it is in.",
		listLines(f.Candidates, len(starts)))
	return f
}
