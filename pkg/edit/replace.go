package edit

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// maxReportedLines is how many occurrences a ReplaceError lists.
const maxReportedLines = 50

// Replace puts new for the occurrences of old in original: all of them if all is set, else exactly expected (less than
// 1 means 1); any other number is an error and changes nothing. old is looked for literally, then without regard to the
// kind of line endings. What is put there has the line endings of the file, unless old and new differ in nothing else.
//
// Errors are a [*ReplaceError].
func Replace(original, old, new string, expected int, all bool) (Result, error) {
	expected = max(expected, 1)
	if all {
		expected = 0
	}
	r := replacer{original: original, old: old, new: new, expected: expected}
	switch {
	case old == "":
		return Result{}, r.failed(nil, nil, ErrEmptySearch, "old_string is empty. Give the text to replace; to write a new file, use write_to_file.")
	case old == new:
		return Result{}, r.failed(nil, nil, ErrNoChange, "old_string and new_string are identical, so nothing would change.")
	}
	if found := occurrences(original, old); len(found) > 0 {
		return r.put(original, old, nil, found)
	}
	unified, shortened := unifyNewlines(original)
	if found := occurrences(unified, toLF(old)); len(found) > 0 {
		return r.put(unified, toLF(old), shortened, found)
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

// put replaces occurrences of old that were found in text: the original, or what it is with its newlines shortened.
func (r replacer) put(text, old string, shortened, found []int) (result Result, err error) {
	if err := r.count(found, old, text); err != nil {
		return Result{}, err
	}
	var out strings.Builder
	at, adapted := 0, false
	for _, i := range found {
		from, to := i+sort.SearchInts(shortened, i), i+len(old)+sort.SearchInts(shortened, i+len(old))
		fitted := r.fitted(from, to)
		adapted = adapted || fitted != r.new
		out.WriteString(r.original[at:from] + fitted)
		at = to
	}
	result.Text = out.String() + r.original[at:]
	switch {
	case shortened != nil || old != r.old:
		result.Notes = []string{"matched apart from line endings; those of the file were kept"}
	case adapted:
		result.Notes = []string{"the lines put there were given the line endings of the file"}
	}
	return result, nil
}

// fitted is new with the line endings of what it replaces, original[from:to], and of the lines around. An old that
// differs from it in its line endings only is there to change them, and a file without any has none to give.
func (r replacer) fitted(from, to int) string {
	switch {
	case !strings.ContainsAny(r.new, "\r\n"), !strings.ContainsAny(r.original, "\r\n"), toLF(r.old) == toLF(r.new):
		return r.new
	case !strings.Contains(r.original, "\n"): // an old Macintosh's file
		return strings.ReplaceAll(toLF(r.new), "\n", "\r")
	}
	return withEndings(toLF(r.new), r.original[from:to], lineEnding(r.original, from))
}

// count refuses a number of occurrences that was not asked for, and occurrences
// that overlap: which of them is meant is then unclear.
func (r replacer) count(found []int, old, text string) error {
	lines := lineNumbers(text, found)
	list := listLines(lines, len(found))
	switch {
	case r.expected > 0 && len(found) > r.expected:
		return r.failed(found, lines, ErrAmbiguous, "old_string stands %d times, at lines %s; %d expected. Give more of the text around it, or set expected_replacements or replace_all.",
			len(found), list, r.expected)
	case len(found) < r.expected:
		return r.failed(found, lines, ErrNoMatch, "old_string stands %d times, at lines %s; %d expected. Set expected_replacements to %d, or read the file again.",
			len(found), list, r.expected, len(found))
	case r.expected > 0 && selfOverlapping(text, old, found):
		return r.failed(found, lines, ErrAmbiguous, "old_string overlaps itself at line %s, so more than one replacement is possible. Give more of the text around it.", list)
	}
	return nil
}

// failed is an error that shows the first of the lines.
func (r replacer) failed(found, lines []int, kind error, reason string, args ...any) *ReplaceError {
	e := &ReplaceError{FailedBlock: FailedBlock{Err: kind, Reason: fmt.Sprintf(reason, args...), Candidates: lines}, Found: len(found)}
	(&placer{corpus: newCorpus(r.original)}).show(&e.FailedBlock)
	return e
}

func selfOverlapping(text, pattern string, found []int) bool {
	return slices.ContainsFunc(found, func(at int) bool {
		return strings.Contains(text[at+1:min(len(text), at+2*len(pattern)-1)], pattern)
	})
}

// missing describes where the text comes closest.
func (r replacer) missing() *ReplaceError {
	e := r.failed(nil, nil, ErrNoMatch, "old_string is not in the file.")
	p := &placer{corpus: newCorpus(r.original)}
	search := Lines(r.old)
	if bare, numbered := withoutNumbers(change{old: search}); numbered && strings.Contains(toLF(r.original), strings.Join(bare.old, "\n")) {
		e.Reason = "old_string is in the file only without the line numbers in front of its lines, which are no part of the file: leave them out."
	}
	p.describe(&e.FailedBlock, search)
	if e.Difference = ""; e.BestStart > 0 {
		e.Difference = p.difference(search, e.BestStart-1, true)
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

// unifyNewlines gives text with every CRLF as LF, and the offsets, in the result, of the newlines that were shortened.
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
