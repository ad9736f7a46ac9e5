package edit

import (
	"regexp"
	"slices"
	"strconv"
)

// numbered matches a line as tools show it: "12 | text", also with a tab or an arrow for the bar.
var numbered = regexp.MustCompile(`^[ \t]*(\d{1,9})(?:[ ]*(\t|→)|[ \t]*(\|)(?:[ \t]|))`)

// numberedLine is a line with the number that was taken off, and what stood
// behind it; number is -1 where there is none.
type numberedLine struct {
	text   string
	number int
	mark   string
}

func cutNumber(line string) numberedLine {
	m := numbered.FindStringSubmatch(line)
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
	r := renumbered{search, each(ch.new, func(line string) numberedLine {
		if cut := cutNumber(line); cut.mark == search[0].mark {
			return cut
		}
		return numberedLine{line, -1, ""}
	})}
	ch.old = texts(search)
	switch r.judge(ch.new) {
	case numbers:
		ch.new = texts(r.new)
	case unclear:
		ch.unclear = "its search part has line numbers, which are no part of the file, and it is not clear whether the numbers in its replacement are such numbers or text. " +
			"Send the block without line numbers."
	}
	return ch, true
}

func texts(lines []numberedLine) []string {
	return each(lines, func(line numberedLine) string { return line.text })
}

// renumbered is a replacement whose search had line numbers.
type renumbered struct{ search, new []numberedLine }

type numberReading int

const (
	asWritten numberReading = iota // the replacement has no line numbers
	numbers                        // what looks like a line number is one
	unclear
)

// judge tells whether a replacement is written with line numbers. Code has numbers before bars too (a table, a pattern,
// two flags), so it takes more than their look: lines that the search has as well, or numbers that go on where the
// search does.
func (r renumbered) judge(written []string) numberReading {
	var with []numberedLine
	quoted, kept, bare := 0, 0, 0 // lines of the search: numbered, as text that looks numbered, without number
	for i, line := range r.new {
		switch {
		case line.number < 0:
			bare += count(r.search, line.text)
		default:
			with = append(with, line)
			quoted += count(r.search, line.text)
			kept += count(r.search, written[i])
		}
	}
	first, last := r.search[0].number, r.search[len(r.search)-1].number+len(r.new)
	rising := slices.IsSortedFunc(with, func(a, b numberedLine) int { return a.number - b.number })
	within := func(line numberedLine) bool { return line.number >= first && line.number <= last }
	switch {
	case len(with) == 0:
		return asWritten
	case kept > 0 && quoted > 0:
		return unclear
	case kept > 0:
		return asWritten
	case quoted > 0 && rising:
		return numbers
	case bare > 0 && !slices.ContainsFunc(with, within):
		return asWritten
	case len(with) == len(r.new) && rising && with[0].number == first && within(with[len(with)-1]) && !r.looksNumbered():
		return numbers
	}
	return unclear
}

// count is 1 if a line of the search has the text, which is not blank.
func count(search []numberedLine, text string) int {
	if !isBlank(text) && slices.ContainsFunc(search, func(l numberedLine) bool { return l.text == text }) {
		return 1
	}
	return 0
}

// looksNumbered reports whether lines of the file itself begin like numbered ones.
func (r renumbered) looksNumbered() bool {
	return slices.ContainsFunc(r.search, func(l numberedLine) bool { return cutNumber(l.text).mark == l.mark })
}
