package edit

import (
	"slices"
	"strings"
)

// applyUnified applies a unified diff. It is first read literally, terminators included, as git reads it; then like
// search blocks, with the file's own line endings.
func applyUnified(original, diff string, opt Options) (Result, error) {
	parsed, notes, syntax := readUnified(RawLines(diff))
	if syntax != nil {
		return Result{}, syntax
	}
	raw := make([]change, len(parsed.hunks))
	changes := make([]change, len(parsed.hunks))
	for i, h := range parsed.hunks {
		raw[i] = changeOf(i+1, h.diffLine, h.lines)
		raw[i].hint = h.start
		changes[i] = raw[i]
		changes[i].old, changes[i].new = bare(raw[i].old), bare(raw[i].new)
	}
	if result, ok := literal(RawLines(original), raw, parsed.hunks, opt); ok {
		result.Notes = append(notes, result.Notes...)
		return result, nil
	}
	p := &placer{corpus: newCorpus(original), tiers: allTiers(), opt: opt}
	result, placed, err := p.run(changes, func(ch change) (placement, *FailedBlock) {
		if len(ch.old) == 0 {
			return p.insertion(ch, parsed.hunks[ch.index-1].trusted)
		}
		return p.place(ch)
	})
	if err != nil {
		return Result{}, err
	}
	result.Text = finalNewline(result.Text, p.corpus, placed, raw)
	result.Notes = append(notes, p.noteCRLF(result.Notes, diff)...)
	return result, nil
}

// noteCRLF adds a note to notes where the diff has other line endings than the file.
func (p *placer) noteCRLF(notes []string, diff string) []string {
	if strings.Contains(diff, "\r\n") && !slices.Contains(p.end, endCRLF) {
		notes = append(notes, "the diff has CRLF line endings; those of the file were kept")
	}
	return notes
}

// readUnified parses strictly, then without a code fence, then without belief in the counts.
func readUnified(lines []string) (*unifiedParser, []string, *SyntaxError) {
	parsed, syntax := parseUnified(lines, false)
	if syntax == nil {
		return parsed, nil, nil
	}
	var notes []string
	if inner, ok := fencedHunks(lines); ok {
		if parsed, err := parseUnified(inner, false); err == nil {
			return parsed, []string{fenceNote}, nil
		}
		lines, notes = inner, []string{fenceNote}
	}
	parsed, again := parseUnified(lines, true)
	if again != nil {
		return nil, nil, again
	}
	return parsed, append(notes, parsed.notes...), nil
}

const fenceNote = "the code fence around the diff was removed"

// fencedHunks gives what a code fence encloses, if all hunks are in it. Prose around it is ignored.
func fencedHunks(lines []string) (inner []string, ok bool) {
	fence := func(line string) bool { return strings.HasPrefix(line, "```") }
	first := slices.IndexFunc(lines, bareHeader().MatchString)
	open := -1
	for i := range max(first, 0) {
		if fence(lines[i]) {
			open = i
		}
	}
	if open < 0 {
		return nil, false
	}
	length := slices.IndexFunc(lines[first:], fence)
	if length < 0 || slices.ContainsFunc(lines[first+length:], bareHeader().MatchString) {
		return nil, false
	}
	return lines[open+1 : first+length], true
}

// literal applies hunks whose old lines are in the text byte by byte, with their terminators. ok is false if any is
// not, or if no line of the diff shows that its line endings are those of the file.
func literal(raw []string, changes []change, hunks []hunk, opt Options) (result Result, ok bool) {
	if len(raw) > 0 && !slices.ContainsFunc(changes, func(ch change) bool { return len(ch.old) > 0 }) {
		return Result{}, false
	}
	p := &placer{corpus: corpusOf(textLines{text: raw, end: make([]ending, len(raw))}), tiers: allTiers()[:1], opt: opt}
	out, placed, err := p.placed(changes, func(ch change) (placement, *FailedBlock) {
		if len(ch.old) == 0 {
			return p.insertion(ch, hunks[ch.index-1].trusted)
		}
		starts := p.candidates(p.tiers[0], ch, 0)
		if len(starts) != 1 {
			return placement{}, failure(ch, ErrNoMatch, "")
		}
		return p.found(ch, starts[0], Exact), nil
	})
	if err != nil {
		return Result{}, false
	}
	for i, line := range out.text { // only the last line of a text may lack its newline
		if !strings.HasSuffix(line, "\n") && i < out.len()-1 {
			return Result{}, false
		}
	}
	return Result{Text: strings.Join(out.text, ""), Notes: notesOf(placed)}, true
}

// insertion places a hunk without old lines: after the line that its header names, as unified diffs count. Without
// context only a number that agrees with the rest of the hunk gives a place.
func (p *placer) insertion(ch change, trusted bool) (placement, *FailedBlock) {
	at := ch.hint
	if p.len() == 0 {
		at = 0
	}
	if at > p.len() || !trusted && p.len() > 0 {
		return placement{}, failure(ch, ErrNoMatch,
			"it only adds lines, without context and without a usable line number (the file has %d lines). Add context lines.", p.len())
	}
	return placement{change: ch, start: at, how: Inserted}, nil
}

// finalNewline applies what a hunk that ends at the end of the file says about
// the final newline. Where it says nothing, the file's state is kept.
func finalNewline(text string, c *corpus, placed []placement, raw []change) string {
	lacks := func(lines []string) bool { return len(lines) > 0 && !strings.HasSuffix(lines[len(lines)-1], "\n") }
	for i, ch := range raw {
		if placed[i].stop() < c.len() || len(ch.new) == 0 || text == "" {
			continue
		}
		switch before, after := lacks(ch.old), lacks(ch.new); {
		case after && !before:
			return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		case before && !after && !strings.HasSuffix(text, "\n"):
			return text + string(c.endingNear(c.len()))
		}
	}
	return text
}
