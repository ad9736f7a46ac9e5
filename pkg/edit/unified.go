package edit

import (
	"fmt"
	"slices"
	"strings"
)

// applyUnified applies a unified diff. It is first read literally, terminators
// included, as git reads it; then like search blocks, with the file's own line
// endings.
func applyUnified(original, diff string, opt Options) (Result, error) {
	parsed, notes, syntax := readUnified(RawLines(diff))
	if syntax != nil {
		return Result{}, syntax
	}
	c := newCorpus(original)
	if result, ok := literal(RawLines(original), parsed.hunks, opt); ok {
		result.Notes = append(notes, result.Notes...)
		return result, nil
	}
	p := &placer{corpus: c, tiers: diffTiers(), opt: opt}
	changes := make([]change, len(parsed.hunks))
	for i, h := range parsed.hunks {
		changes[i] = h.change(i + 1)
	}
	result, err := p.run(changes, func(ch change) (placement, *FailedBlock) {
		if len(ch.old) == 0 {
			return p.insertion(ch, parsed.hunks[ch.index-1])
		}
		return p.place(ch)
	})
	if err != nil {
		return Result{}, err
	}
	result.Text = finalNewline(result.Text, c, result.Blocks, parsed.hunks)
	if strings.Contains(diff, "\r\n") && !strings.Contains(original, "\r\n") {
		result.Notes = append(result.Notes, "the diff has CRLF line endings; those of the file were kept")
	}
	result.Notes = append(notes, result.Notes...)
	return result, nil
}

// readUnified parses strictly, then without a code fence, then without belief in
// the counts.
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

// fencedHunks gives what a code fence encloses, if all hunks are in it. Prose
// around it is ignored.
func fencedHunks(lines []string) (inner []string, ok bool) {
	fence := func(line string) bool { return strings.HasPrefix(line, "```") }
	first := slices.IndexFunc(lines, bareHeader.MatchString)
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
	if length < 0 || slices.ContainsFunc(lines[first+length:], bareHeader.MatchString) {
		return nil, false
	}
	return lines[open+1 : first+length], true
}

// literal applies hunks whose old lines are in the text byte by byte, with
// their terminators. ok is false if any is not, or if no line of the diff shows
// that its line endings are those of the file.
func literal(raw []string, hunks []hunk, opt Options) (result Result, ok bool) {
	if len(raw) > 0 && !slices.ContainsFunc(hunks, func(h hunk) bool { return len(h.old) > 0 }) {
		return Result{}, false
	}
	p := &placer{corpus: corpusOf(textLines{text: raw}), tiers: diffTiers()[:1], opt: opt}
	var out strings.Builder
	at := 0
	for i, h := range hunks {
		pl, placed := p.literalHunk(h, i+1)
		if !placed || pl.start < at {
			return Result{}, false
		}
		out.WriteString(strings.Join(raw[at:pl.start], ""))
		out.WriteString(strings.Join(h.new, ""))
		at = pl.stop()
		if !h.standsApart(at == len(raw)) {
			return Result{}, false
		}
		result.Blocks = append(result.Blocks, Placed{pl.start + 1, pl.stop(), pl.how})
		result.Notes = append(result.Notes, pl.notes...)
	}
	out.WriteString(strings.Join(raw[at:], ""))
	result.Text = out.String()
	return result, true
}

// standsApart reports whether the new lines keep apart from each other and from
// what follows: only the last line of a text may lack its newline.
func (h hunk) standsApart(last bool) bool {
	for i, line := range h.new {
		if !strings.HasSuffix(line, "\n") && !(last && i == len(h.new)-1) {
			return false
		}
	}
	return true
}

// literalHunk finds the one place of a hunk among raw lines.
func (p *placer) literalHunk(h hunk, index int) (placement, bool) {
	ch := change{index: index, diffLine: h.diffLine, old: h.old, new: h.new, hint: h.hint()}
	if len(h.old) == 0 {
		pl, failure := p.insertion(ch, h)
		return pl, failure == nil
	}
	v := variant{change: ch}
	starts := p.candidates(p.tiers[0], v, 0)
	if len(starts) != 1 {
		return placement{}, false
	}
	return p.found(v, starts[0], Exact), true
}

// hint is the line where the old lines should stand, 0 if the header has none.
func (h hunk) hint() int {
	if !h.numbered {
		return 0
	}
	return h.start
}

// change gives the hunk without terminators.
func (h hunk) change(index int) change {
	bare := func(raw []string) []string {
		lines := make([]string, len(raw))
		for i, line := range raw {
			lines[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		}
		return lines
	}
	marks := make([]byte, len(h.body))
	for i, line := range h.body {
		marks[i] = line.mark
	}
	return change{index: index, diffLine: h.diffLine, old: bare(h.old), new: bare(h.new), hint: h.hint(), marks: string(marks)}
}

// insertion places a hunk without old lines: after the line that its header
// names, as unified diffs count. Without context only a number that agrees with
// the rest of the hunk gives a place.
func (p *placer) insertion(ch change, h hunk) (placement, *FailedBlock) {
	at := ch.hint
	if p.len() == 0 {
		at = 0
	}
	if at > p.len() || !h.trusted && p.len() > 0 {
		f := failure(ch, ErrNoMatch)
		f.Reason = fmt.Sprintf("it only adds lines, without context and without a usable line number (the file has %d lines). Add context lines.", p.len())
		return placement{}, f
	}
	return placement{change: ch, start: at, how: Inserted}, nil
}

// finalNewline applies what a hunk that ends at the end of the file says about
// the final newline. Where it says nothing, the file's state is kept.
func finalNewline(text string, c *corpus, placed []Placed, hunks []hunk) string {
	for i, h := range hunks {
		if placed[i].EndLine < c.len() || len(h.new) == 0 || text == "" {
			continue
		}
		before := len(h.old) > 0 && !strings.HasSuffix(h.old[len(h.old)-1], "\n")
		after := !strings.HasSuffix(h.new[len(h.new)-1], "\n")
		switch {
		case after && !before:
			return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		case before && !after && !strings.HasSuffix(text, "\n"):
			return text + c.endingNear(c.len()).String()
		}
	}
	return text
}
