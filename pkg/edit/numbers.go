package edit

import (
	"slices"
	"strconv"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// numbered matches a line as tools show it: "12 | text", also with a tab or an arrow for the bar.
var numbered = lazy.Regexp(`^[ \t]*(\d{1,9})(?:[ ]*(\t|→)|[ \t]*(\|)(?:[ \t]|))`)

// numberedLine is a line with the number that was taken off, and what stood
// behind it; number is -1 where there is none.
type numberedLine struct {
	text   string
	number int
	mark   string
}

func cutNumber(line string) numberedLine {
	m := numbered().FindStringSubmatch(line)
	if m == nil {
		return numberedLine{line, -1, ""}
	}
	number, _ := strconv.Atoi(m[1])
	return numberedLine{line[len(m[0]):], number, m[2] + m[3]}
}

// withoutNumbers removes line numbers from a search if every line has the number behind that of the line before. The
// first stands for a missing start line. From the replacement they are removed where they are surely numbers too.
func withoutNumbers(ch change) (change, bool) {
	search := make([]numberedLine, len(ch.old))
	for i, line := range ch.old {
		search[i] = cutNumber(line)
		if search[i].number < 0 || search[i].mark != search[0].mark || search[i].number != search[0].number+i {
			return ch, false
		}
	}
	if len(search) == 0 {
		return ch, false
	}
	if ch.hint == 0 {
		ch.hint = max(1, search[0].number)
	}
	if len(search) == 1 {
		// One number alone can be anything: it must be that of its line.
		ch.only = max(1, search[0].number)
	}
	fresh, clear := withoutNumbersOf(search, ch.new)
	if !clear {
		ch.unclear = "its search part has line numbers, which are no part of the file, and it is not clear whether the numbers in its replacement are such numbers or text. " +
			"Send the block without line numbers."
	}
	ch.new = fresh
	ch.old = each(search, func(line numberedLine) string { return line.text })
	return ch, true
}

// withoutNumbersOf removes line numbers from the replacement of a search that has them. Code has numbers before bars too (a
// table, a pattern, two flags), so it takes more than their look: lines that the search has as well, or numbers that
// begin and go on as those of the search. clear is false if they can be either.
func withoutNumbersOf(search []numberedLine, written []string) (lines []string, clear bool) {
	first := search[0]
	has := func(text string) bool {
		return !isBlank(text) && slices.ContainsFunc(search, func(l numberedLine) bool { return l.text == text })
	}
	lines = slices.Clone(written)
	numbers, quoted, kept, rising, last := 0, false, false, true, 0
	following := !slices.ContainsFunc(search, func(l numberedLine) bool { return cutNumber(l.text).mark == l.mark }) // else the file's own lines look so
	for i, line := range written {
		cut := cutNumber(line)
		following = following && cut.number == first.number+i
		if cut.mark != first.mark {
			following = false
			continue
		}
		lines[i] = cut.text
		quoted, kept = quoted || has(cut.text), kept || has(line)
		rising = rising && cut.number >= last
		last = cut.number
		numbers++
	}
	switch {
	case numbers == 0, kept && !quoted:
		return written, true
	case !kept && (quoted && rising || following):
		return lines, true
	}
	return written, false
}
