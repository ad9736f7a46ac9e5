package edit

import (
	"fmt"
	"slices"
	"strings"
)

// ApplyDiff applies a diff to original. The diff is a sequence of search blocks or a unified diff of one file; which of
// them is found from its text. Either all blocks are applied or none.
//
// Errors are a [*SyntaxError] or a [*MatchError].
func ApplyDiff(original, diff string, opt Options) (Result, error) {
	diff = strings.TrimPrefix(diff, byteOrderMark)
	lines := Lines(diff)
	decoded := decodeAll(lines)
	switch {
	case strings.TrimSpace(diff) == "":
		return Result{}, &SyntaxError{Reason: "the diff is empty; " + blockFormat}
	case isUnified(lines):
		return applyUnified(original, diff, opt)
	case !slices.ContainsFunc(lines, opensBlock) && slices.ContainsFunc(decoded, opensBlock):
		result, err := applyBlocks(original, strings.Join(decoded, "\n"), opt)
		result.Notes = prepend(result.Notes, err, "HTML entities in the diff were decoded")
		return result, err
	case slices.ContainsFunc(lines, isBlockMarker):
		return applyBlocks(original, diff, opt)
	case slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, beginPatch) }):
		return Result{}, &SyntaxError{Reason: "this is a patch for apply_patch; send it there, or write search blocks: " + blockFormat}
	}
	return Result{}, &SyntaxError{Reason: "neither search blocks nor a unified diff; " + blockFormat}
}

// prepend puts a note first, unless there is no result to note it for.
func prepend(notes []string, err error, note string) []string {
	if err != nil {
		return notes
	}
	return slices.Insert(notes, 0, note)
}

func opensBlock(line string) bool { return isSearchMarker(trimMarker(line)) }

func isBlockMarker(line string) bool {
	trimmed := trimMarker(line)
	return isSearchMarker(trimmed) || trimmed == replaceMarker || trimmed == dividerMarker
}

// applyBlocks applies a diff of search blocks.
func applyBlocks(original, diff string, opt Options) (Result, error) {
	changes, syntax := parseBlocks(Lines(diff))
	if syntax != nil {
		return Result{}, syntax
	}
	p := &placer{corpus: newCorpus(original), tiers: allTiers(), opt: opt}
	result, _, err := p.run(changes, p.searchBlock)
	if err == nil {
		result.Notes = p.noteCRLF(result.Notes, diff)
	}
	return result, err
}

// searchBlock places a block, after refusing what cannot be meant.
func (p *placer) searchBlock(ch change) (placement, *FailedBlock) {
	if len(ch.old) == 0 {
		return placement{}, failure(ch, ErrEmptySearch, "its search part is empty. To insert lines, search for a line beside them "+
			"and repeat it in the replacement; to write a new or empty file, use write_to_file.")
	}
	if slices.Equal(ch.old, ch.new) {
		f := failure(ch, ErrNoChange, "search and replacement are identical, so nothing would change. Read the file again, or leave the block out.")
		p.describe(f, ch.old)
		return placement{}, f
	}
	if ch.ruled && len(ch.old) > 1 {
		return p.ruledBlock(ch)
	}
	return p.place(ch)
}

// ruledBlock places a block whose search begins with a rule under which no attribute stands: it can be a line of the
// file, or the separator of a head that is empty. The file decides.
func (p *placer) ruledBlock(ch change) (placement, *FailedBlock) {
	whole, failed := p.place(ch)
	if len(ch.new) > 0 && trimMarker(ch.new[0]) == headMarker {
		// Who puts a rule there means one of the file.
		return whole, failed
	}
	bare := ch
	bare.old = ch.old[1:]
	rest, other := p.place(bare)
	switch {
	case failed == nil && other == nil:
		f := failure(ch, ErrAmbiguous, "its first line, %q, can be a line of the file or the rule under an empty head, and the text is in the file both with and without it. "+
			"Put a start line and a rule before it (:start_line:%d, %s) if it is a line of the file, or leave it out.", headMarker, whole.start+1, headMarker)
		f.list([]int{whole.start, rest.start})
		return placement{}, f
	case failed != nil && failed.Err == ErrNoMatch && other == nil && !slices.Equal(bare.old, bare.new):
		return rest, nil
	}
	return whole, failed
}

// run places all changes and applies them, or lists those that fail.
func (p *placer) run(changes []change, place func(change) (placement, *FailedBlock)) (Result, []placement, error) {
	out, placed, err := p.placed(changes, place)
	if err != nil {
		return Result{}, nil, err
	}
	out.complete(p.endsWithNewline())
	return Result{Text: out.String(), Notes: notesOf(placed)}, placed, nil
}

func notesOf(placed []placement) (notes []string) {
	for _, pl := range placed {
		notes = append(notes, pl.notes...)
	}
	return notes
}

// placed gives the lines with all changes, whose ends can be missing.
func (p *placer) placed(changes []change, place func(change) (placement, *FailedBlock)) (out textLines, placed []placement, err error) {
	var failed []FailedBlock
	for _, ch := range changes {
		pl, failing := place(ch)
		if failing == nil {
			failing = pl.doubt(ch)
		}
		if failing == nil {
			pl.lines, failing = p.indented(pl)
		}
		if failing != nil {
			failed = append(failed, *failing)
			continue
		}
		placed = append(placed, pl)
	}
	if len(failed) == 0 {
		out, failed = p.apply(placed)
	}
	if len(failed) == 0 {
		return out, placed, nil
	}
	for i := range failed {
		if failed[i].Surroundings == "" {
			p.show(&failed[i])
		}
	}
	slices.SortFunc(failed, func(a, b FailedBlock) int { return a.Index - b.Index })
	return textLines{}, nil, &MatchError{Total: len(changes), Blocks: failed}
}

// doubt fails a change whose repaired reading has a place and is not certain.
func (p placement) doubt(written change) *FailedBlock {
	reason := p.unclear
	if p.only > 0 && p.start+1 != p.only {
		reason = fmt.Sprintf("its text is in the file, at line %d, only without the number %d in front of it. "+
			"If that is a line number, leave it out; else read the file again.", p.start+1, p.only)
	}
	if reason == "" {
		return nil
	}
	f := failure(written, ErrAmbiguous, "%s", reason)
	f.StartLine = p.start + 1
	return f
}

// indented gives the new lines of a placement as they stand in the file.
func (p *placer) indented(pl placement) ([]string, *FailedBlock) {
	lines, doubt := p.indent(pl)
	if doubt == nil {
		return lines, nil
	}
	f := failure(pl.change, ErrIndentation, "%v", doubt)
	f.BestStart, f.BestEnd, f.Score = pl.start+1, pl.stop(), 1
	f.Surroundings = p.around(pl.start, pl.stop())
	return nil, f
}
