package edit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// difference says where a search first differs from the lines of the file at start, so that texts that look alike can
// be told apart; "" where they are equal. part allows the search to begin and end inside a line.
func (c *corpus) difference(search []string, start int, part bool) string {
	for i, wanted := range search {
		if start+i >= c.len() {
			return fmt.Sprintf("First difference: the file ends at line %d, and the search goes on with %s.", c.len(), quoted(wanted, wanted))
		}
		line := c.text[start+i]
		if !sameLine(wanted, line, part && i == 0, part && i == len(search)-1) {
			return fmt.Sprintf("First difference, line %d: the search has %s, the file has %s.%s",
				start+i+1, quoted(wanted, line), quoted(line, wanted), unlike(wanted, line))
		}
	}
	return ""
}

func sameLine(wanted, line string, begins, ends bool) bool {
	switch {
	case begins && ends:
		return strings.Contains(line, wanted)
	case begins:
		return strings.HasSuffix(line, wanted)
	case ends:
		return strings.HasPrefix(line, wanted)
	}
	return line == wanted
}

// quoted shows a line so that nothing in it is invisible; of a long one, the part where it begins to differ from other.
func quoted(line, other string) string {
	const shown, ahead = 160, 40
	before, after := "", ""
	if len(line) > shown {
		at := 0
		for at < min(len(line), len(other)) && line[at] == other[at] {
			at++
		}
		from := min(max(0, at-ahead), len(line)-shown/2)
		for !utf8.RuneStart(line[from]) {
			from--
		}
		if from > 0 {
			before, line = "…", line[from:]
		}
		if len(line) > shown {
			line, after = strings.TrimSuffix(shorten(line, shown), "…"), "…"
		}
	}
	return before + fmt.Sprintf("%q", line) + after
}

// unlike explains a difference that cannot be seen: a line number that was
// copied, or characters that only one side has and that look like others.
func unlike(wanted, line string) string {
	cut := cutNumber(wanted)
	if cut.number >= 0 && loosen(cut.text) == loosen(line) {
		return fmt.Sprintf(" The %d in front is a line number and no part of the file: leave it out.", cut.number)
	}
	if loosen(wanted) == loosen(line) {
		return " They differ in white space or punctuation only."
	}
	return only(wanted, line, "the search") + only(line, wanted, "the file")
}

func only(line, other, who string) string {
	const most = 3
	var odd []string
	for _, r := range line {
		if r < utf8.RuneSelf && !unicode.IsControl(r) || strings.ContainsRune(other, r) {
			continue
		}
		if name := fmt.Sprintf("%U %q", r, r); !slices.Contains(odd, name) && len(odd) < most {
			odd = append(odd, name)
		}
	}
	if len(odd) == 0 {
		return ""
	}
	return fmt.Sprintf(" Only %s has %s.", who, strings.Join(odd, ", "))
}
