package edit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// bare drops the white space of a line.
func bare(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
}

func TestMergeLoosely(t *testing.T) {
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"as Merge":                      {"1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "one\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n"},
		"CRLF since":                    {"1\ntwo\n3\n", "1\r\ntwo\r\n3\r\n", "1\n2\n3\n", "1\r\n2\r\n3\r\n"},
		"LF since":                      {"1\r\ntwo\r\n3\r\n", "1\ntwo\n3\n", "1\r\n2\r\n3\r\n", "1\n2\n3\n"},
		"CRLF and another line":         {"1\ntwo\n3\n4\n", "1\r\ntwo\r\n3\r\nfour\r\n", "1\n2\n3\n4\n", "1\r\n2\r\n3\r\nfour\r\n"},
		"the last line lost its end":    {"1\ntwo\n3\n", "1\ntwo\n3", "1\n2\nx\n3\n", "1\n2\nx\n3"},
		"lines come behind such a one":  {"1\n2\n", "1\r\n2", "1\n2\n3\n", "1\r\n2\r\n3"},
		"tabs for spaces":               {"f {\n  a\n  two\n  c\n}\n", "f {\n\ta\n\ttwo\n\tc\n}\n", "f {\n  a\n  2\n  c\n}\n", "f {\n\ta\n\t2\n\tc\n}\n"},
		"put into a block":              {"a\ntwo\nc\nd\n", "if x {\n\ta\n\ttwo\n\tc\n}\nd\n", "a\n2\nc\nd\n", "if x {\n\ta\n\t2\n\tc\n}\nd\n"},
		"new lines go":                  {"a\nnew\nb\n", "  a\n  new\n  b\n", "a\nb\n", "  a\n  b\n"},
		"lines that had gone come back": {"f {\n\ta\n}\n", "f {\n    a\n}\n", "f {\n\ta\n\tb {\n\t\tc\n\t}\n}\n", "f {\n    a\n    b {\n        c\n    }\n}\n"},
		"spaces inside":                 {"x=1\ny=2\nz=3\n", "x = 1\ny = 2\nz = 3\n", "x=1\ny=22\nz=3\n", "x = 1\ny=22\nz = 3\n"},
		"only some lines":               {"a\nb\nc\nd\ntwo\ne\n", "  a\n  b\nc\nd\ntwo\ne!\n", "a\nb\nc\nd\n2\ne\n", ""},
		"both changed white space":      {"a\n x\nb\n", "a\n\tx\nb\n", "a\nx\nb\n", ""},
		"line endings were its change":  {"1\n2\n3\n", "1\n2\nthree\n", "1\r\n2\r\n3\r\n", ""},
		"the same line":                 {"1\ntwo\n3\n", "1\r\nzwei\r\n3\r\n", "1\n2\n3\n", ""},
		"deeper than any line":          {"a\n\tx\nb\n", "a\n  x\nb\n", "a\n\t\ty\nb\n", "a\n    y\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, clashes := edit.MergeLoosely(c.base, c.ours, c.theirs, bare)
			check.That(t, got == c.want && (len(clashes) > 0) == (c.want == ""), "%q, want %q; %+v", got, c.want, clashes)
		})
	}
}

// reformatted are ways in which a whole file is written anew.
var reformatted = map[string]func(string) string{
	"CRLF": func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	"deeper": func(text string) string {
		return rewrittenLines(text, func(line string) string { return "\t" + line })
	},
	"four spaces for a tab": func(text string) string {
		return rewrittenLines(text, func(line string) string {
			code := strings.TrimLeft(line, "\t")
			return strings.Repeat("    ", len(line)-len(code)) + code
		})
	},
	"spaces at the end": func(text string) string {
		return rewrittenLines(text, func(line string) string { return line + "  " })
	},
}

func rewrittenLines(text string, with func(string) string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = with(strings.TrimSuffix(line, "\n")) + "\n"
		}
	}
	return strings.Join(lines, "")
}

// TestMergeLooselyOfReformatted: undoing random changes of real files that have been written anew since gives the file before
// the changes, written anew, or nothing.
func TestMergeLooselyOfReformatted(t *testing.T) {
	names, err := filepath.Glob("*.go")
	check.Must(t, err == nil && len(names) != 0, "%v", err)
	rounds := check.Rounds(20, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	for name, way := range reformatted {
		merged, all, bent := 0, 0, 0
		for range rounds {
			theirs := string(check.Value(os.ReadFile(names[random.IntN(len(names))]))(t))
			base := changedAtRandom(random, theirs)
			got, clashes := edit.MergeLoosely(base, way(base), theirs, bare)
			all++
			switch want := way(theirs); {
			case len(clashes) > 0:
			case got == want:
				merged++
			case name == "spaces at the end" && rewrittenLines(got, func(line string) string { return strings.TrimRight(line, " ") }) == theirs:
				merged++ // lines that come back have their own
			default:
				bent++
				t.Errorf("%s: %s\nundoing %s", name, edit.Unified("want", "got", want, got, 2), edit.Unified("base", "theirs", base, theirs, 3))
			}
		}
		t.Logf("%s: %d of %d merged", name, merged, all)
		check.That(t, 10*merged >= 9*all, "%s: only %d of %d were merged", name, merged, all)
		if bent > 3 {
			t.FailNow()
		}
	}
}

// changedAtRandom changes, removes and adds lines in some places.
func changedAtRandom(random *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + random.IntN(3) {
		at := random.IntN(len(lines))
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], "\t"))]
		n := random.IntN(min(4, len(lines)-at))
		var with []string
		for i := range random.IntN(4) {
			with = append(with, fmt.Sprintf("%sadded%d(%d)\n", indent, i, random.Int()))
		}
		if lines[len(lines)-1] == "" && at+n >= len(lines)-1 {
			n = max(0, len(lines)-1-at)
		}
		lines = append(lines[:at:at], append(with, lines[at+n:]...)...)
	}
	return strings.Join(lines, "")
}
