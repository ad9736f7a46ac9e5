package edit

import (
	"strings"
	"unicode/utf8"
)

// A tier is one degree of leniency in comparing lines: two lines are equal at a tier if their keys are.
type tier struct {
	how How
	key func(string) string
}

// How tells by which comparison a block was placed.
type How string

const (
	Exact      How = "exact"      // line by line, byte by byte
	Whitespace How = "whitespace" // line by line, apart from whitespace and typographic punctuation
	Fuzzy      How = "fuzzy"      // similar above the threshold
	Inserted   How = "inserted"   // a pure insertion, placed by line number, anchor or end of file
)

func verbatim(line string) string { return line }

// allTiers is their order, for search blocks and diffs of either format.
func allTiers() []tier { return []tier{{Exact, verbatim}, {Whitespace, loosen}} }

// loosen is the key of a line with whitespace runs as one space, none at the
// ends, and typographic quotes, dashes and ellipses as their ASCII forms.
func loosen(line string) string {
	if line = strings.Trim(line, " \t"); isLoose(line) {
		return line
	}
	return strings.Join(strings.Fields(plain.Replace(line)), " ")
}

var plain = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'",
	"\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u201f", `"`,
	"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2015", "-", "\u2212", "-", "\u2026", "...")

// isLoose reports whether loosen would change nothing more: so it is with most
// lines of code, once their indentation is cut, and no copy is made for them.
func isLoose(line string) bool {
	previous := byte(' ')
	for i := range len(line) {
		c := line[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && previous == ' ' {
			return false
		}
		previous = c
	}
	return line == "" || previous != ' '
}

// indentOf is the leading run of tabs and spaces.
func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }
