package edit

import (
	"fmt"
	"strings"
)

// maxReportedLines is how many occurrences a ReplaceError lists.
const maxReportedLines = 50

// Replace puts new for the occurrences of old in original: all of them if all
// is set, else exactly expected (less than 1 means 1); any other number is an
// error and changes nothing. old is looked for literally, then without regard to
// the kind of line endings. What is put there has the line endings of the file,
// unless old and new differ in nothing else.
//
// Errors are a [*ReplaceError].
func Replace(original, old, new string, expected int, all bool) (Result, error) {
	expected = max(expected, 1)
	if all {
		expected = 0
	}
	switch {
	case old == "":
		return Result{}, &ReplaceError{Err: ErrEmptySearch, Expected: expected,
			Reason: "old_string is empty. Give the text to replace; to write a new file, use write_to_file."}
	case old == new:
		return Result{}, &ReplaceError{Err: ErrNoChange, Expected: expected,
			Reason: "old_string and new_string are identical, so nothing would change."}
	}
	r := replacer{original: original, old: old, new: new, expected: expected}
	if found := occurrences(original, old); len(found) > 0 {
		return r.literal(found)
	}
	unified, offsets := unifyNewlines(original)
	if found := occurrences(unified, toLF(old)); len(found) > 0 {
		return r.mapped(unified, offsets, found)
	}
	if rest, marked := strings.CutPrefix(old, byteOrderMark); marked && rest != "" && strings.HasPrefix(toLF(original), toLF(rest)) {
		result, err := Replace(original, rest, strings.TrimPrefix(new, byteOrderMark), expected, all)
		result.Notes = prepend(result.Notes, err, "the byte order mark in front of old_string was left out")
		return result, err
	}
	return Result{}, r.missing()
}

type replacer struct {
	original, old, new string
	expected           int // 0 for all
}

// cut is a part of the original and what is put in its place.
type cut struct {
	from, to int
	text     string
}

func (r replacer) literal(found []int) (Result, error) {
	if err := r.count(found, len(r.old), r.original); err != nil {
		return Result{}, err
	}
	cuts := make([]cut, len(found))
	adapted := false
	for i, at := range found {
		cuts[i] = cut{at, at + len(r.old), r.fitted(at, at+len(r.old))}
		adapted = adapted || cuts[i].text != r.new
	}
	result := r.assemble(cuts, Exact)
	if adapted {
		result.Notes = append(result.Notes, "the lines put there were given the line endings of the file")
	}
	return result, nil
}

// fitted is new with the line endings of what it replaces, original[from:to],
// and of the lines around. An old that differs from it in its line endings only
// is there to change them, and a file without any has none to give.
func (r replacer) fitted(from, to int) string {
	switch {
	case !strings.ContainsAny(r.new, "\r\n"), !strings.ContainsAny(r.original, "\r\n"), toLF(r.old) == toLF(r.new):
		return r.new
	case !strings.Contains(r.original, "\n"): // an old Macintosh's file
		return strings.ReplaceAll(toLF(r.new), "\n", "\r")
	}
	return withEndings(toLF(r.new), r.original[from:to], lineEnding(r.original, from))
}

// mapped replaces occurrences that were found in the text with all endings LF.
func (r replacer) mapped(unified string, offsets []int, found []int) (Result, error) {
	old := toLF(r.old)
	if err := r.count(found, len(old), unified); err != nil {
		return Result{}, err
	}
	cuts := make([]cut, len(found))
	for i, at := range found {
		from, to := at+before(offsets, at), at+len(old)+before(offsets, at+len(old))
		cuts[i] = cut{from, to, r.fitted(from, to)}
	}
	result := r.assemble(cuts, Whitespace)
	result.Notes = append(result.Notes, "matched apart from line endings; those of the file were kept")
	return result, nil
}

func (r replacer) assemble(cuts []cut, how How) Result {
	var out strings.Builder
	result := Result{}
	at, line := 0, 1
	for _, c := range cuts {
		line += strings.Count(r.original[at:c.from], "\n")
		out.WriteString(r.original[at:c.from])
		out.WriteString(c.text)
		lines := strings.Count(strings.TrimSuffix(r.original[c.from:c.to], "\n"), "\n")
		result.Blocks = append(result.Blocks, Placed{line, line + lines, how})
		line += strings.Count(r.original[c.from:c.to], "\n")
		at = c.to
	}
	out.WriteString(r.original[at:])
	result.Text = out.String()
	return result
}

// count refuses a number of occurrences that was not asked for, and occurrences
// that overlap: which of them is meant is then unclear.
func (r replacer) count(found []int, length int, text string) error {
	e := &ReplaceError{Found: len(found), Expected: r.expected, Lines: lineNumbers(text, found)}
	pattern := text[found[0] : found[0]+length]
	switch {
	case r.expected > 0 && len(found) > r.expected:
		e.Err = ErrAmbiguous
		e.Reason = fmt.Sprintf("old_string stands %d times, at lines %s; %d expected. Give more of the text around it, or set expected_replacements or replace_all.",
			e.Found, listLines(e.Lines, e.Found), r.expected)
		e.Surroundings = r.places(e.Lines)
	case len(found) < r.expected:
		e.Err = ErrNoMatch
		e.Reason = fmt.Sprintf("old_string stands %d times, at lines %s; %d expected. Set expected_replacements to %d, or read the file again.",
			e.Found, listLines(e.Lines, e.Found), r.expected, e.Found)
		e.Surroundings = r.places(e.Lines)
	case r.expected > 0 && selfOverlapping(text, pattern, found):
		e.Err = ErrAmbiguous
		e.Reason = fmt.Sprintf("old_string overlaps itself at line %s, so more than one replacement is possible. Give more of the text around it.", listLines(e.Lines, e.Found))
		e.Surroundings = r.places(e.Lines)
	default:
		return nil
	}
	return e
}

// places shows the first of the lines.
func (r replacer) places(lines []int) string {
	f := FailedBlock{Candidates: lines}
	(&placer{corpus: newCorpus(r.original)}).show(&f)
	return f.Surroundings
}

func selfOverlapping(text, pattern string, found []int) bool {
	for _, at := range found {
		window := text[at+1 : min(len(text), at+2*len(pattern)-1)]
		if strings.Contains(window, pattern) {
			return true
		}
	}
	return false
}

// missing describes where the text comes closest.
func (r replacer) missing() *ReplaceError {
	e := &ReplaceError{Err: ErrNoMatch, Expected: r.expected, Reason: "old_string is not in the file."}
	p := &placer{corpus: newCorpus(r.original)}
	search := Lines(r.old)
	if bare, numbered := withoutNumbers(change{old: search}); numbered && strings.Contains(toLF(r.original), strings.Join(bare.old, "\n")) {
		e.Reason = "old_string is in the file only without the line numbers in front of its lines, which are no part of the file: leave them out."
	}
	var f FailedBlock
	p.describe(&f, search)
	e.BestStart, e.BestEnd, e.Score, e.Surroundings = f.BestStart, f.BestEnd, f.Score, f.Surroundings
	if f.BestStart > 0 {
		e.Difference = p.difference(search, f.BestStart-1, true)
	}
	return e
}

// occurrences lists where text contains old, without overlaps.
func occurrences(text, old string) []int {
	var found []int
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, at+i)
		at += i + len(old)
	}
}

func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// unifyNewlines gives text with every CRLF as LF, and the offsets, in the
// result, of the newlines that were shortened.
func unifyNewlines(text string) (unified string, shortened []int) {
	for at := 0; ; {
		i := strings.Index(text[at:], "\r\n")
		if i < 0 {
			return toLF(text), shortened
		}
		shortened = append(shortened, at+i-len(shortened))
		at += i + 2
	}
}

// before counts the shortened newlines that stand before offset.
func before(shortened []int, offset int) int {
	low, high := 0, len(shortened)
	for low < high {
		if middle := (low + high) / 2; shortened[middle] < offset {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// lineEnding is how the line with the byte at offset ends; for the last line of
// a text without final newline, how the line before it does.
func lineEnding(text string, offset int) ending {
	end := strings.IndexByte(text[offset:], '\n')
	if end < 0 {
		end = strings.LastIndexByte(text[:offset], '\n') - offset
	}
	if end += offset; end > 0 && text[end-1] == '\r' {
		return endCRLF
	}
	return endLF
}

// withEndings gives the lines of text the endings of those in replaced that they
// keep or stand for; others that of the line above them, the first fallback.
func withEndings(text, replaced string, fallback ending) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	lines, model := split(text), split(replaced)
	ch := change{old: model.text, new: lines.text}
	for j, old := range standsFor(ch.runs(), len(ch.old), len(ch.new)) {
		if old >= 0 && model.end[old] != endNone {
			fallback = model.end[old]
		}
		if lines.end[j] != endNone {
			lines.end[j] = fallback
		}
	}
	return lines.String()
}

// lineNumbers gives the 1-based lines of the first offsets.
func lineNumbers(text string, offsets []int) []int {
	var lines []int
	at, line := 0, 1
	for _, offset := range offsets[:min(len(offsets), maxReportedLines)] {
		line += strings.Count(text[at:offset], "\n")
		lines = append(lines, line)
		at = offset
	}
	return lines
}

// listLines renders line numbers for a sentence.
func listLines(lines []int, total int) string {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]")
	if total > len(lines) {
		list += " and more"
	}
	return list
}
