package edit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Lines splits text into its lines, without their terminators. A line ends at
// LF or CRLF; a final newline does not begin another line, so "" has no lines.
func Lines(text string) []string {
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		if ended, ok := strings.CutSuffix(line, "\n"); ok {
			line = strings.TrimSuffix(ended, "\r")
		}
		lines = append(lines, line)
	}
	return lines
}

// Numbered renders lines as people and agents are shown them, one "N | text"
// each, numbered from start and aligned, with a final newline.
func Numbered(lines []string, start int) string {
	var b strings.Builder
	WriteNumbered(&b, lines, start)
	return b.String()
}

// WriteNumbered writes what Numbered gives.
func WriteNumbered(b *strings.Builder, lines []string, start int) {
	const separator = " | "
	width := len(strconv.Itoa(start + len(lines) - 1))
	size := len(lines) * (width + len(separator) + 1)
	for _, text := range lines {
		size += len(text)
	}
	b.Grow(size)
	var number [20]byte
	for i, text := range lines {
		digits := strconv.AppendInt(number[:0], int64(start+i), 10)
		for range width - len(digits) {
			b.WriteByte(' ')
		}
		b.Write(digits)
		b.WriteString(separator)
		b.WriteString(text)
		b.WriteByte('\n')
	}
}

// each gives what f makes of every element.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// ending is how one line ends.
type ending string

const (
	endNone ending = "" // only the last line of a text
	endLF   ending = "\n"
	endCRLF ending = "\r\n"
)

// textLines is a text by lines: text[i] ends in end[i].
type textLines struct {
	text []string
	end  []ending
}

func split(s string) textLines {
	n := strings.Count(s, "\n") + 1
	t := textLines{text: make([]string, 0, n), end: make([]ending, 0, n)}
	for s != "" {
		head, rest, found := strings.Cut(s, "\n")
		s = rest
		switch {
		case !found:
			t.add(head, endNone)
		case strings.HasSuffix(head, "\r"):
			t.add(head[:len(head)-1], endCRLF)
		default:
			t.add(head, endLF)
		}
	}
	return t
}

// RawLines splits text like Lines, with the terminators left on.
func RawLines(text string) []string {
	return slices.AppendSeq(make([]string, 0, strings.Count(text, "\n")+1), strings.Lines(text))
}

func (t *textLines) add(text string, end ending) {
	t.text = append(t.text, text)
	t.end = append(t.end, end)
}

func (t *textLines) addAll(other textLines) {
	t.text = append(t.text, other.text...)
	t.end = append(t.end, other.end...)
}

// part gives the lines [start, stop).
func (t textLines) part(start, stop int) textLines {
	return textLines{t.text[start:stop], t.end[start:stop]}
}

func (t textLines) len() int { return len(t.text) }

func (t textLines) String() string {
	var b strings.Builder
	for i, text := range t.text {
		b.WriteString(text)
		b.WriteString(string(t.end[i]))
	}
	return b.String()
}

// endsWithNewline is true of an empty text too: lines added to it end properly.
func (t textLines) endsWithNewline() bool {
	return t.len() == 0 || t.end[t.len()-1] != endNone
}

// endingNear gives the terminator for a line put at position i: that of the
// line before, else of the nearest line after, else LF.
func (t textLines) endingNear(i int) ending {
	i = min(i, t.len())
	for _, end := range slices.Backward(t.end[:i]) {
		if end != endNone {
			return end
		}
	}
	return cmp.Or(cmp.Or(t.end[i:]...), endLF)
}

// complete makes t a proper text: every line but the last has a terminator, and
// the last has one exactly if newline is set.
func (t *textLines) complete(newline bool) {
	for i := range t.end {
		if t.end[i] == endNone {
			t.end[i] = t.endingNear(i)
		}
	}
	if last := t.len() - 1; last >= 0 && !newline {
		t.end[last] = endNone
	}
}

// short is the text of a line for a sentence.
func short(line string) string { return shorten(strings.TrimSpace(line), 80) }

// shorten cuts a line for display, at a rune boundary.
func shorten(line string, limit int) string {
	if len(line) <= limit {
		return line
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}
