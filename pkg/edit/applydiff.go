package edit

import (
	"slices"
	"strings"
)

// ApplyDiff applies a diff to original. The diff is a sequence of search blocks
// or a unified diff of one file; which of them is found from its text. Either
// all blocks are applied or none.
//
// Errors are a [*SyntaxError] or a [*MatchError].
func ApplyDiff(original, diff string, opt Options) (Result, error) {
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
	p := &placer{corpus: newCorpus(original), tiers: diffTiers(), opt: opt}
	result, err := p.run(changes, p.searchBlock)
	if err == nil && strings.Contains(diff, "\r\n") && !strings.Contains(original, "\r\n") {
		result.Notes = append(result.Notes, "the diff has CRLF line endings; those of the file were kept")
	}
	return result, err
}

// searchBlock places a block, after refusing what cannot be meant.
func (p *placer) searchBlock(ch change) (placement, *FailedBlock) {
	if len(ch.old) == 0 {
		f := failure(ch, ErrEmptySearch)
		f.Reason = "its search part is empty. To insert lines, search for a line beside them and repeat it in the replacement; to write a new or empty file, use write_to_file."
		return placement{}, f
	}
	if slices.Equal(ch.old, ch.new) {
		f := failure(ch, ErrNoChange)
		f.Reason = "search and replacement are identical, so nothing would change. Read the file again, or leave the block out."
		p.describe(f, ch.old)
		return placement{}, f
	}
	return p.place(ch)
}

// run places all changes and applies them, or lists those that fail.
func (p *placer) run(changes []change, place func(change) (placement, *FailedBlock)) (Result, error) {
	var placed []placement
	var failed []FailedBlock
	for _, ch := range changes {
		pl, failure := place(ch)
		if failure != nil {
			failed = append(failed, *failure)
			continue
		}
		placed = append(placed, pl)
	}
	var out textLines
	if len(failed) == 0 {
		out, failed = p.apply(placed)
	}
	if len(failed) > 0 {
		for i := range failed {
			if failed[i].Surroundings == "" {
				p.show(&failed[i])
			}
		}
		slices.SortFunc(failed, func(a, b FailedBlock) int { return a.Index - b.Index })
		return Result{}, &MatchError{Total: len(changes), Blocks: failed}
	}
	out.settle(p.endsWithNewline())
	return p.result(out, placed), nil
}

func (p *placer) result(out textLines, placed []placement) Result {
	result := Result{Text: out.String()}
	for _, pl := range placed {
		result.Blocks = append(result.Blocks, Placed{StartLine: pl.start + 1, EndLine: pl.stop(), How: pl.how})
		result.Notes = append(result.Notes, pl.notes...)
	}
	return result
}
