package edit_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// block writes a search block; head lines stand under its marker.
func block(old, new string, head ...string) string {
	lines := append([]string{"<<<<<<< SEARCH"}, head...)
	if len(head) > 0 {
		lines = append(lines, "-------")
	}
	if old != "" {
		lines = append(lines, old)
	}
	lines = append(lines, "=======")
	if new != "" {
		lines = append(lines, new)
	}
	return strings.Join(append(lines, ">>>>>>> REPLACE"), "\n") + "\n"
}

type diffCase struct {
	name     string
	original string
	diff     string
	opt      edit.Options
	want     string
	note     string // part of a note that must be given; "" for no notes at all
}

func runDiffCases(t *testing.T, cases []diffCase) {
	t.Helper()
	for _, c := range cases {
		got, err := edit.ApplyDiff(c.original, c.diff, c.opt)
		applied(t, c.name, got, err, c.want, c.note)
	}
}

// applied checks the text of a result, and that its notes have note, or that there are none.
func applied(t *testing.T, name string, got edit.Result, err error, want, note string) {
	t.Helper()
	check.That(t, err == nil && got.Text == want, "%s: got  %q, %v\nwant %q", name, got.Text, err, want)
	all := strings.Join(got.Notes, "\n")
	check.That(t, (note == "") == (all == "") && strings.Contains(all, note), "%s: notes %q, want %q", name, all, note)
}

// refused checks that there is no text but an error of a kind that says all texts.
func refused(t *testing.T, name string, got edit.Result, err, kind error, texts ...string) {
	t.Helper()
	check.That(t, errors.Is(err, kind) && got.Text == "", "%s: got %q, %v, want %v", name, got.Text, err, kind)
	for _, text := range texts {
		check.That(t, err == nil || strings.Contains(err.Error(), text), "%s: %q does not say %q", name, err, text)
	}
}

// malformed checks that the error names what is wrong with a diff, and its line.
func malformed(t *testing.T, name string, err error, line int, reason string) {
	t.Helper()
	var syntax *edit.SyntaxError
	if !errors.As(err, &syntax) || !errors.Is(err, edit.ErrSyntax) || syntax.Line != line || !strings.Contains(syntax.Reason, reason) {
		t.Errorf("%s: got %v; want line %d, %q", name, err, line, reason)
	}
}

func TestBlocksPlaces(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	five := strings.Repeat("x\ny\n", 5)
	far := strings.Repeat("-\n", 100) + "target\n"
	runDiffCases(t, []diffCase{
		{name: "at the line", original: five, diff: block("x", "X", ":start_line:5"), want: "x\ny\nx\ny\nX\ny\nx\ny\nx\ny\n"},
		{name: "once, near the line", original: "1\n2\n3\n4\n5\nx\n", diff: block("x", "X", ":start_line:5"),
			want: "1\n2\n3\n4\n5\nX\n", note: "found at line 6, not at line 5"},
		{name: "loose at the line, and elsewhere", original: " x\n1\n  x\n", diff: block("x", "X", ":start_line:3"),
			want: " x\n1\n  X\n", note: "whitespace"},
		{name: "the line behind blank ones", original: "x\n1\n2\n3\nx\n", diff: block("\nx", "\nX", ":start_line:4"),
			want: "x\n1\n2\n3\nX\n", note: "blank lines"},
		{name: "once, outside the buffer", original: far, diff: block("target", "hit", ":start_line:3"),
			want: strings.Repeat("-\n", 100) + "hit\n", note: "found at line 101, not at line 3"},
		{name: "exact beats loose without a line", original: " x\nx\n", diff: block("x", "X"), want: " x\nX\n"},
		{name: "lines in original coordinates", original: ten,
			diff: block("2", "two\ntwo\ntwo", ":start_line:2") + block("5", "", ":start_line:5") + block("9", "nine", ":start_line:9"),
			want: "1\ntwo\ntwo\ntwo\n3\n4\n6\n7\n8\nnine\n10\n"},
		{name: "blocks in any order", original: ten, diff: block("9", "nine", ":start_line:9") + block("2", "two"),
			want: "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n10\n"},
		{name: "shared context", original: "a\nb\nc\n", diff: block("a\nb", "A\nb") + block("b\nc", "b\nC"), want: "A\nb\nC\n"},
		{name: "an inner block between quoted lines", original: "a\nb\nc\nd\n", diff: block("a\nb\nc\nd", "a\nb\nc\nD") + block("b", "B"), want: "a\nB\nc\nD\n"},
		{name: "neighbours that both insert", original: "a\nb\n", diff: block("b", "y\nb") + block("a", "a\nx"), want: "a\nx\ny\nb\n"},
		{name: "deletion", original: "a\nb\nc\n", diff: block("b", ""), want: "a\nc\n"},
		{name: "one empty line in the replacement is none", original: "a\nb\nc\n", diff: "<<<<<<< SEARCH\nb\n=======\n\n>>>>>>> REPLACE", want: "a\nc\n"},
		{name: "two empty lines are two", original: "a\nb\nc\n", diff: block("b", "\n"), want: "a\n\n\nc\n"},
		{name: "deletion of all", original: "a\nb\n", diff: block("a\nb", ""), want: ""},
		{name: "deletion of the last line keeps the missing newline", original: "a\nb", diff: block("b", ""), want: "a"},
		{name: "append without final newline", original: "a\nb", diff: block("b", "b\nc"), want: "a\nb\nc"},
		{name: "append with final newline", original: "a\nb\n", diff: block("b", "b\nc"), want: "a\nb\nc\n"},
		{name: "trailing whitespace is kept", original: "a\n", diff: block("a", "b  \n\t\n  "), want: "b  \n\t\n  \n"},
		{name: "start line 0 is none", original: "a\n", diff: block("a", "b", ":start_line:0"), want: "b\n"},
	})
}

func TestBlocksForm(t *testing.T) {
	plain := "<<<<<<< SEARCH\nb\n=======\nx\n>>>>>>> REPLACE"
	runDiffCases(t, []diffCase{
		{name: "equals sign", original: "b\na\nb\n", diff: block("b", "x", ":start_line=3"), want: "b\na\nx\n"},
		{name: "spaces", original: "b\na\nb\n", diff: block("b", "x", " :start_line : 3 "), want: "b\na\nx\n"},
		{name: "brackets", original: "b\na\nb\n", diff: block("b", "x", ":start_line:[3]"), want: "b\na\nx\n"},
		{name: "end line", original: "b\na\nb\n", diff: block("b", "x", ":start_line:3", ":end_line:3"), want: "b\na\nx\n"},
		{name: "no rule under the attributes", original: "b\na\nb\n",
			diff: "<<<<<<< SEARCH\n:start_line:3\nb\n=======\nx\n>>>>>>> REPLACE\n", want: "b\na\nx\n"},
		{name: "rule without attributes", original: "a\nb\n", diff: "<<<<<<< SEARCH\n-------\nb\n=======\nx\n>>>>>>> REPLACE\n", want: "a\nx\n"},
		{name: "indented markers", original: "a\n  b\n",
			diff: "  <<<<<<< SEARCH\n  :start_line:2\n  -------\n  b\n  =======\n  x\n  >>>>>>> REPLACE\n", want: "a\n  x\n"},
		{name: "spaces behind markers", original: "b\n", diff: strings.ReplaceAll(plain, "\n", "  \n"), want: "x  \n", note: "whitespace"},
		{name: "bracket behind SEARCH", original: "b\n", diff: strings.Replace(plain, "SEARCH", "SEARCH>", 1), want: "x\n"},
		{name: "prose and fences around", original: "b\n", diff: "Here it is:\n```diff\n" + plain + "\n```\n", want: "x\n"},
		{name: "escaped markers", original: "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n-------\n",
			diff: block("\\<<<<<<< HEAD\na\n\\=======\nb\n\\>>>>>>> main\n\\-------", "a\n\\======="), want: "a\n=======\n"},
		{name: "escaped attribute", original: ":start_line:1\n", diff: block("\\:start_line:1", "\\:start_line:2\n\\:end_line:3"), want: ":start_line:2\n:end_line:3\n"},
		{name: "indented escapes", original: "  =======\n", diff: block("  \\=======", "  \\>>>>>>> x"), want: "  >>>>>>> x\n"},
		{name: "escaped backslash", original: "\\=======\n", diff: block("\\\\=======", "y"), want: "y\n"},
		{name: "longer rules are content", original: "T\n========\n", diff: block("T\n========", "U\n=========="), want: "U\n==========\n"},
	})
}

func TestBlocksLineEndings(t *testing.T) {
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	runDiffCases(t, []diffCase{
		{name: "LF diff, CRLF file", original: "a\r\nb\r\nc\r\n", diff: block("b", "x\ny"), want: "a\r\nx\r\ny\r\nc\r\n"},
		{name: "CRLF diff, LF file", original: "a\nb\nc\n", diff: crlf(block("b", "x\ny", ":start_line:2")), want: "a\nx\ny\nc\n", note: "CRLF"},
		{name: "CRLF diff, CRLF file", original: "a\r\nb\r\n", diff: crlf(block("b", "x")), want: "a\r\nx\r\n"},
		{name: "mixed file: each line keeps its own", original: "a\r\nb\nc\r\nd\n", diff: block("b\nc", "B\nC"), want: "a\r\nB\nC\r\nd\n"},
		{name: "mixed file: insertions follow the line above", original: "a\r\nb\nc\r\n", diff: block("b", "b\nnew"), want: "a\r\nb\nnew\nc\r\n"},
		{name: "CRLF file without final newline", original: "a\r\nb", diff: block("b", "b\nc"), want: "a\r\nb\r\nc"},
		{name: "one line without newline", original: "a", diff: block("a", "a\nb"), want: "a\nb"},
		{name: "lone CR is content", original: "a\rb\n", diff: block("a\rb", "c"), want: "c\n"},
	})
}

func TestBlocksIndentation(t *testing.T) {
	runDiffCases(t, []diffCase{
		{name: "spaces for tabs", original: "f() {\n\t\tif x {\n\t\t\ty()\n\t\t}\n}\n",
			diff: block("    if x {\n        y()\n    }", "    if x {\n        y()\n        z()\n        if q {\n            r()\n        }\n    }"),
			want: "f() {\n\t\tif x {\n\t\t\ty()\n\t\t\tz()\n\t\t\tif q {\n\t\t\t\tr()\n\t\t\t}\n\t\t}\n}\n", note: "whitespace"},
		{name: "tabs for spaces", original: "  if x:\n    y()\n", diff: block("\tif x:\n\t\ty()", "\tif x:\n\t\ty()\n\t\tif z:\n\t\t\tq()"),
			want: "  if x:\n    y()\n    if z:\n      q()\n", note: "whitespace"},
		{name: "spaces for one tab", original: "\tx()\n", diff: block("    x()", "    if a {\n        x()\n    }"),
			want: "\tif a {\n\t\tx()\n\t}\n", note: "whitespace"},
		{name: "dedent in spaces", original: "{\n  {\n    x()\n  }\n}\n", diff: block("\t\tx()", "\ty()\nz()"), want: "{\n  {\n  y()\nz()\n  }\n}\n", note: "whitespace"},
		{name: "dedent in tabs", original: "{\n\t{\n\t\tx()\n\t}\n}\n", diff: block("        x()", "    y()\nz()"), want: "{\n\t{\n\ty()\nz()\n\t}\n}\n", note: "whitespace"},
		{name: "blank lines get no indentation", original: "    a\n    b\n", diff: block("a\nb", "a\n\nb"), want: "    a\n\n    b\n", note: "whitespace"},
		{name: "quoted lines keep their text", original: "say(“hi”)  // x\nold\n", diff: block("say(\"hi\") // x\nold", "say(\"hi\") // x\nnew"),
			want: "say(“hi”)  // x\nnew\n", note: "typographic"},
		{name: "quoted lines keep trailing whitespace", original: "a  \nb\t\n", diff: block("a\nb", "a\nc"), want: "a  \nc\n", note: "whitespace"},
		{name: "dashes and ellipses", original: "wait… a – b — c\n", diff: block("wait... a - b - c", "go"), want: "go\n", note: "typographic"},
		{name: "no-break space", original: "a\u00a0b\n", diff: block("a b", "c"), want: "c\n", note: "whitespace"},
	})
}

// Lines that search and replacement share stay as they are in the file; new ones
// stand where the lines that they replace stood.
func TestBlocksWithLostIndentation(t *testing.T) {
	nested := "def f(x):\n    if x:\n        log()\n    save()\n"
	end := "def f(x):\n    log()\n    return x\n"
	runDiffCases(t, []diffCase{
		{name: "flattened", original: nested, diff: block("log()\nsave()", "log(x)\nsave()"),
			want: "def f(x):\n    if x:\n        log(x)\n    save()\n", note: "whitespace"},
		{name: "flattened, by marks", original: nested, diff: "@@\n-log()\n+log(x)\n save()\n",
			want: "def f(x):\n    if x:\n        log(x)\n    save()\n", note: "whitespace"},
		{name: "flattened, each line stands for one", original: "  if (true) {\n    return false;\n  }\n",
			diff: block("if (true) {\nreturn false;\n}", "if (false) {\nreturn true;\n}"), want: "  if (false) {\n    return true;\n  }\n", note: "whitespace"},
		{name: "flattened, before the end of a block", original: "  if (a) {\n    b();\n  }\n", diff: block("b();\n}", "b();\nc();\n}"),
			want: "  if (a) {\n    b();\n    c();\n  }\n", note: "whitespace"},
		{name: "first line lost", original: nested, diff: block("log()\n    save()", "log(x)\n    trace()\n    save()"),
			want: "def f(x):\n    if x:\n        log(x)\n    trace()\n    save()\n", note: "whitespace"},
		{name: "first line lost, or nested", original: "    if (condition) {\n        doSomething();\n    }\n", diff: block("doSomething();", "doSomethingElse();\n        doAnotherThing();"),
			want: "    if (condition) {\n        doSomethingElse();\n        doAnotherThing();\n    }\n", note: "whitespace"},
		{name: "only the search lost it", original: "  // some comment\n\n  function oldFunc() {}\n", diff: block("\nfunction oldFunc() {}", "\n  function newFunc() {}"),
			want: "  // some comment\n\n  function newFunc() {}\n", note: "whitespace"},
		{name: "doubled", original: nested, diff: block("        if x:\n                log()", "        if x:\n                log()\n                trace()"),
			want: "def f(x):\n    if x:\n        log()\n        trace()\n    save()\n", note: "whitespace"},
		{name: "one line moved deeper", original: end, diff: block("return x", "if x:\n    return x"),
			want: "def f(x):\n    log()\n    if x:\n        return x\n", note: "whitespace"},
		{name: "moved lines keep the file's text", original: "def f(x):\n    say(“hi”)\n", diff: block("say(\"hi\")", "if x:\n    say(\"hi\")"),
			want: "def f(x):\n    if x:\n        say(“hi”)\n", note: "typographic"},
		{name: "context without its mark's space", original: nested, diff: "@@\n     if x:\n-        log()\n+        log(x)\n    save()\n",
			want: "def f(x):\n    if x:\n        log(x)\n    save()\n", note: "whitespace"},
	})
	for name, diff := range map[string]string{
		"a new line inside or behind the block":  block("log()\nsave()", "log()\ntrace()\nsave()"),
		"by marks":                               "@@\n log()\n+trace()\n save()\n",
		"a new line that opens a block":          block("if x:\nlog()\nsave()", "if x:\nlog()\nfor y in x:\nsave(y)\nsave()"),
		"lines of a block that loses its header": block("if x:\nlog()\nsave()", "log()\nsave()"),
	} {
		got, err := edit.ApplyDiff(nested, diff, edit.Options{})
		refused(t, name, got, err, edit.ErrIndentation, "with the indentation that the file has", "3 |         log()")
	}
}

func TestRepairs(t *testing.T) {
	runDiffCases(t, []diffCase{
		{name: "numbers in both", original: "a\nb\nc\n", diff: block("2 | b\n3 | c", "2 | B\n3 | C"), want: "a\nB\nC\n", note: "line numbers"},
		{name: "numbers give the start line", original: "b\nb\nb\n", diff: block("2 | b", "2 | x"), want: "b\nx\nb\n", note: "line numbers"},
		{name: "numbers with padding and indentation", original: "a\n  b\n", diff: block(" 2 |   b", " 2 |   x\n 3 |   y"), want: "a\n  x\n  y\n", note: "line numbers"},
		{name: "numbers by tabs", original: "a\n\tb\n", diff: block("     2\t\tb", "     2\t\tx"), want: "a\n\tx\n", note: "line numbers"},
		{name: "numbers by arrows", original: "a\nb\n", diff: block("2→b", "2→x"), want: "a\nx\n", note: "line numbers"},
		{name: "numbers that are content", original: "1 | a\n", diff: block("1 | a", "1 | b"), want: "1 | b\n"},
		{name: "numbers in the replacement only are content", original: "a\n", diff: block("a", "1 | a"), want: "1 | a\n"},
		{name: "a blank numbered line", original: "a\n\nb\n", diff: block("1 | a\n2 |\n3 | b", "1 | a\n2 | x\n3 | b"), want: "a\nx\nb\n", note: "line numbers"},
		{name: "entities", original: "if a < b && c {\n", diff: block("if a &lt; b &amp;&amp; c {", "if a &gt; b {"), want: "if a > b {\n", note: "HTML entities"},
		{name: "entities that are content", original: "&lt;p&gt;\n", diff: block("&lt;p&gt;", "&lt;q&gt;"), want: "&lt;q&gt;\n"},
		{name: "entities in the replacement only are content", original: "a\n", diff: block("a", "&amp;"), want: "&amp;\n"},
		{name: "entities are decoded once", original: "&lt;\n", diff: block("&amp;lt;", "&amp;gt;"), want: "&gt;\n", note: "HTML entities"},
		{name: "entities in the markers", original: "a < b\n", note: "HTML entities", want: "a > b\n",
			diff: strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(block("a < b", "a > b"))},
		{name: "numbers and entities", original: "a\nx < y\n", diff: block("2 | x &lt; y", "2 | x &gt; y"), want: "a\nx > y\n", note: "line numbers"},
		{name: "fences inside a block", original: "a\nb\n", diff: block("```go\nb\n```", "```go\nx\n```"), want: "a\nx\n", note: "code fences"},
		{name: "blank lines around", original: "a\nb\nc\n", diff: block("\nb\n", "\nx\n"), want: "a\nx\nc\n", note: "blank lines"},
		{name: "repair comes before similarity", original: "const alpha = 1\n", opt: edit.Options{Threshold: 0.5},
			diff: block("1 | const alpha = 1", "1 | const beta = 1"), want: "const beta = 1\n", note: "line numbers"},
	})
}

func TestFuzzy(t *testing.T) {
	runDiffCases(t, []diffCase{
		{name: "quoted lines keep the file's text", original: "func total(items []Item) int {\n\told()\n}\n", opt: edit.Options{Threshold: 0.8},
			diff: block("func total(item []Item) int {\n\told()\n}", "func total(item []Item) int {\n\tnew()\n}"),
			want: "func total(items []Item) int {\n\tnew()\n}\n", note: "similarity"},
		{name: "start line chooses among equals", original: "alpha one\nx\ny\nalpha one\n", opt: edit.Options{Threshold: 0.8},
			diff: block("alpha onf", "beta", ":start_line:4"), want: "alpha one\nx\ny\nbeta\n", note: "similarity"},
	})
	for _, c := range []struct {
		name, original, diff string
		err                  error
	}{
		{"two similar places", "alpha one\nx\ny\nalpha two\n", block("alpha twe", "beta"), edit.ErrAmbiguous},
		{"the start line names neither", "alpha one\nx\ny\nalpha two\n", block("alpha twe", "beta", ":start_line:3"), edit.ErrAmbiguous},
		{"places that overlap and are as good", "alpha one\nalpha one\nalpha one\n", block("alpha onf\nalpha onf", "beta"), edit.ErrAmbiguous},
		{"a line more in the file", "begin of it\nmore of it\nalpha one\nbeta two\ngamma three\nend\n", block("begin of it\nalpha one\nbeta two\ngamma three", "x"), edit.ErrNoMatch},
		{"a line less in the file", "zero\nbegin of it\nalpha one\ngamma three\nend\n", block("begin of it\nalpha one\nbeta two\ngamma three", "x"), edit.ErrNoMatch},
	} {
		got, err := edit.ApplyDiff(c.original, c.diff, edit.Options{Threshold: 0.6})
		refused(t, c.name, got, err, c.err)
	}
}

// showsEach fails unless the file's line at each place stands in surroundings.
func showsEach(t *testing.T, surroundings string, places []int) {
	t.Helper()
	for _, line := range places {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d \|`, line)).MatchString(surroundings) {
			t.Errorf("line %d is not shown in\n%s", line, surroundings)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, original, diff string
		err                  error
		candidates           []int
		text                 string // part of the error
	}{
		{"ambiguous", "x\ny\nx\n", block("x", "z"), edit.ErrAmbiguous, []int{1, 3}, "lines 1, 3"},
		{"ambiguous apart from whitespace", " x\ny\n  x\n", block("x", "z"), edit.ErrAmbiguous, []int{1, 3}, "lines 1, 3"},
		{"equally far", "x\ny\nx\n", block("x", "z", ":start_line:2"), edit.ErrAmbiguous, []int{1, 3}, "none of them line 2"},
		{"one of them nearer", "x\n1\n2\n3\n4\nx\n5\n", block("x", "z", ":start_line:5"), edit.ErrAmbiguous, []int{1, 6}, "none of them line 5"},
		{"one near, one far", "x\n" + strings.Repeat("-\n", 90) + "x\n", block("x", "z", ":start_line:90"), edit.ErrAmbiguous, []int{1, 92}, "none of them line 90"},
		{"one near apart from whitespace", " x\ny\n  x\n", block("x", "z", ":start_line:2"), edit.ErrAmbiguous, []int{1, 3}, "none of them line 2"},
		{"loose at the line, exact nearby", "a\n x\nx\n", block("x", "z", ":start_line:2"), edit.ErrAmbiguous, []int{2, 3}, "not best at line 2"},
		{"twice, both far away", "x\nx\n" + strings.Repeat("-\n", 90), block("x", "z", ":start_line:80"), edit.ErrAmbiguous, []int{1, 2}, "none of them line 80"},
		{"not there", "alpha\nbeta\n", block("alpho\nbeta", "z"), edit.ErrNoMatch, nil, "Best match: lines 1-2"},
		{"start line behind the end", "a\n", block("q", "z", ":start_line:7"), edit.ErrNoMatch, nil, "the file has 1 lines"},
		{"empty file", "", block("q", "z"), edit.ErrNoMatch, nil, "not in the file"},
		{"empty search", "a\n", block("", "z"), edit.ErrEmptySearch, nil, "search part is empty"},
		{"empty search with a line", "a\n", block("", "z", ":start_line:1"), edit.ErrEmptySearch, nil, "To insert lines"},
		{"no change", "a\n", block("a", "a"), edit.ErrNoChange, nil, "identical"},
		{"overlap", "a\nb\nc\n", block("a\nb", "A\nB") + block("b\nc", "B\nC"), edit.ErrOverlap, nil, "block 1 changes lines 1-2"},
		{"two insertions at one place", "a\n", block("a", "a\nx") + block("a", "a\ny"), edit.ErrOverlap, nil, "Join"},
		{"long and inner block", "a\nb\nc\nd\ne\n", block("a\nb\nc\nd\ne", "A") + block("b", "B") + block("d", "D"), edit.ErrOverlap, nil, "Block 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit.ApplyDiff(c.original, c.diff, edit.Options{})
			refused(t, c.name, got, err, c.err, c.text)
			var match *edit.MatchError
			if !errors.As(err, &match) || !slices.Equal(match.Blocks[0].Candidates, c.candidates) {
				t.Fatalf("got %+v, want candidates %v", match, c.candidates)
			}
			shown := match.Blocks[0].Surroundings != "" && match.Blocks[0].BestStart > 0
			if c.err != edit.ErrNoMatch && c.err != edit.ErrEmptySearch && !shown {
				t.Errorf("no lines of the file in %+v", match.Blocks[0])
			}
			showsEach(t, match.Blocks[0].Surroundings, c.candidates)
		})
	}
}

func TestAllBlocksOrNone(t *testing.T) {
	original := "alpha\nbeta\ngamma\ngamma\n"
	_, err := edit.ApplyDiff(original, block("alpha", "A")+block("betta", "B", ":start_line:2")+block("gamma", "G"), edit.Options{})
	var match *edit.MatchError
	check.Must(t, errors.As(err, &match), "%v", err)
	check.Must(t, match.Total == 3 && len(match.Blocks) == 2, "%+v", match)
	second, third := match.Blocks[0], match.Blocks[1]
	if second.Index != 2 || second.BestStart != 2 || second.BestEnd != 2 || second.Score != 0.8 || second.StartLine != 2 {
		t.Errorf("second block %+v", second)
	}
	if second.Surroundings != "1 | alpha\n2 | beta\n3 | gamma\n4 | gamma\n" || second.Search != "betta" {
		t.Errorf("second block %+v", second)
	}
	check.That(t, third.Index == 3 && slices.Equal(third.Candidates, []int{3, 4}), "third block %+v", third)
	check.That(t, errors.Is(err, edit.ErrNoMatch) && errors.Is(err, edit.ErrAmbiguous), "%v is not of both kinds", err)
}

func TestMalformedBlocks(t *testing.T) {
	good := block("a", "b")
	for _, c := range []struct {
		name, diff string
		line       int
		text       string
	}{
		{"empty", "  \n", 0, "empty"},
		{"prose", "please change it", 0, "neither"},
		{"a patch", "*** Begin Patch\n*** End Patch", 0, "apply_patch"},
		{"no divider", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE", 3, "no \"=======\""},
		{"no end", good + "<<<<<<< SEARCH\na\n=======\nb\n", 9, "block 2"},
		{"no divider and no end", "<<<<<<< SEARCH\na\n", 2, "\"=======\" is missing"},
		{"divider first", "=======\na\n>>>>>>> REPLACE", 1, "outside a block"},
		{"end first", ">>>>>>> REPLACE\n" + good, 1, "outside a block"},
		{"two dividers", block("a", "b\n=======\nc"), 5, "backslash"},
		{"block in a block", "<<<<<<< SEARCH\na\n" + good, 3, "not closed"},
		{"conflict in the search", block("<<<<<<< HEAD\na", "b"), 2, `\<<<<<<< HEAD`},
		{"conflict in the replacement", block("a", ">>>>>>> main"), 4, `\>>>>>>> main`},
		{"start line in the replacement", block("a", ":start_line:3\nb"), 4, "belongs under"},
		{"start line without number", block("a", "b", ":start_line:x"), 2, ":start_line:N"},
		{"start line too large", block("a", "b", ":start_line:99999999999999999999"), 2, "too large"},
		{"other arrows", "<<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", 1, "not a marker"},
	} {
		_, err := edit.ApplyDiff("a\n", c.diff, edit.Options{})
		malformed(t, c.name, err, c.line, c.text)
	}
}

// However much fails, the error fits into an agent's context.
func TestErrorTextIsBounded(t *testing.T) {
	wide := strings.Repeat("x", 1_000)
	original := strings.Repeat(wide+"\n", 50)
	diff := strings.Repeat(block(strings.Repeat(wide+"y\n", 20)+"z", "q"), 20)
	_, err := edit.ApplyDiff(original, diff, edit.Options{})
	if text := err.Error(); len(text) > 20_000 || !strings.Contains(text, "The first of them are shown (1)") || !strings.Contains(text, "20 of 20") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

func TestShortenedLinesAreWhole(t *testing.T) {
	_, err := edit.ApplyDiff(strings.Repeat("ü", 500)+"\n", block(strings.Repeat("ü", 499), "q"), edit.Options{})
	check.That(t, strings.Contains(err.Error(), "ü…") && !strings.ContainsRune(err.Error(), '\uFFFD'), "%q", err)
}
