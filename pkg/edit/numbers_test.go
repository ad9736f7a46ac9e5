package edit_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// Bars and numbers that are code stay, whether they stand in what is searched or only in what is put there.
func TestNumbersRepairKeepsBars(t *testing.T) {
	union := "type T =\n  | 'a'\n  | 'c'\n"
	match := "match n with\n| 0 -> a\n| 7 -> c\n"
	runDiffCases(t, []diffCase{
		{name: "bars in a numbered search only", original: union, diff: block("1 | type T =\n2 |   | 'a'", "type T =\n  | 'a'\n  | 'b'"),
			want: "type T =\n  | 'a'\n  | 'b'\n  | 'c'\n", note: "line numbers"},
		{name: "bars in both", original: union, diff: block("2 |   | 'a'", "2 |   | 'a'\n3 |   | 'b'"),
			want: "type T =\n  | 'a'\n  | 'b'\n  | 'c'\n", note: "line numbers"},
		{name: "a new line without number", original: union, diff: block("1 | type T =\n2 |   | 'a'", "1 | type T =\n2 |   | 'a'\n  | 'b'"),
			want: "type T =\n  | 'a'\n  | 'b'\n  | 'c'\n", note: "line numbers"},
		{name: "a pattern with a number", original: match, diff: block("1 | match n with\n2 | | 0 -> a", "match n with\n9 | 0 -> b"),
			want: "match n with\n9 | 0 -> b\n| 7 -> c\n", note: "line numbers"},
		{name: "a table", original: "|a|\n|---|\n|b|\n", diff: block("1 | |a|\n2 | |---|\n3 | |b|", "1 | |a|\n2 | |---|\n3 | |c|"),
			want: "|a|\n|---|\n|c|\n", note: "line numbers"},
		{name: "a table of numbers", original: "# Fruit\n1 | apple\n2 | pear\n", diff: block("2 | 1 | apple\n3 | 2 | pear", "1 | apple\n2 | plum"),
			want: "# Fruit\n1 | apple\n2 | plum\n", note: "line numbers"},
		{name: "a numbered table of numbers", original: "# Fruit\n1 | apple\n2 | pear\n", diff: block("2 | 1 | apple\n3 | 2 | pear", "2 | 1 | apple\n3 | 2 | plum"),
			want: "# Fruit\n1 | apple\n2 | plum\n", note: "line numbers"},
		{name: "a pipeline", original: "cat x\n  | sort\n", diff: block("1 | cat x\n2 |   | sort", "cat x\n  | sort\n  | uniq"),
			want: "cat x\n  | sort\n  | uniq\n", note: "line numbers"},
	})
	for _, c := range []struct{ name, original, diff string }{
		{"bars without numbers are no line numbers", "a\nb\n", block("| a\n| b", "| a\n| c")},
		{"one number is not enough for two lines", "a\nb\n", block("1 | a\n| b", "1 | a\n| c")},
		{"numbers that do not go on", "a\nb\n", block("1 | a\n3 | b", "1 | a\n3 | c")},
		{"a stale pattern is no line number", "x\n2\n", block("1 | 2", "1 | 3")},
		{"table or line number", "# Fruit\n1 | apple\n", block("2 | 1 | apple", "2 | plum")},
		{"numbers in some lines of the replacement", "a\nb\nc\n", block("1 | a\n2 | b", "a\n2 | B")},
	} {
		got, err := edit.ApplyDiff(c.original, c.diff, edit.Options{})
		check.That(t, err != nil, "%s: %q", c.name, got.Text)
	}
}

// What read_file shows is copied back in every way, over lines that look like
// numbered ones. The result is right or there is none.
func TestNumbersRepairIsRightOrRefused(t *testing.T) {
	lines := []string{"", "x", "end", "type T =", "  | 'a'", "  | 'b'", "| A -> 1", "1 | apple", "2 | pear", "12 | 34", "|---|", "| |", "a || b", "|  3 |", "\t| sort", "flags = 1 | 2"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return lines[random.IntN(len(lines))] }
	wrong, refused, all := 0, 0, 5000
	for range all {
		file := make([]string, 4+random.IntN(10))
		for i := range file {
			file[i] = pick()
		}
		from := random.IntN(len(file))
		to := min(len(file), from+1+random.IntN(4))
		changed := slices.Clone(file[from:to])
		switch at := random.IntN(len(changed)); random.IntN(3) {
		case 0:
			changed[at] = pick()
		case 1:
			changed = slices.Insert(changed, at, pick())
		default:
			changed = slices.Delete(changed, at, at+1)
		}
		if len(changed) == 1 && changed[0] == "" {
			changed = nil // a part of one empty line is an empty part
		}
		search, replacement := edit.Numbered(file[from:to], from+1), strings.Join(changed, "\n")
		if random.IntN(2) == 0 && len(changed) > 0 {
			replacement = strings.TrimSuffix(edit.Numbered(changed, from+1), "\n")
		} else if strings.HasPrefix(strings.TrimSpace(replacement), strconv.Itoa(from+1)+" |") {
			continue // nobody can tell that from a line number
		}
		want := strings.Join(slices.Concat(file[:from], changed, file[to:]), "\n") + "\n"
		if len(file) == to-from && len(changed) == 0 {
			want = ""
		}
		original := strings.Join(file, "\n") + "\n"
		got, err := edit.ApplyDiff(original, block(strings.TrimSuffix(search, "\n"), replacement), edit.Options{})
		switch {
		case err != nil:
			refused++
		case got.Text != want:
			wrong++
			t.Logf("%q by\n%s---\n%s\ngives %q", original, search, replacement, got.Text)
		}
	}
	check.That(t, wrong <= 0 && refused <= all/4, "%d wrong, %d refused of %d", wrong, refused, all)
}

func TestRuleAtTheTopOfASearch(t *testing.T) {
	raw := func(search, replacement string) string {
		return "<<<<<<< SEARCH\n" + search + "\n=======\n" + replacement + "\n>>>>>>> REPLACE\n"
	}
	runDiffCases(t, []diffCase{
		{name: "a line of the file", original: "Title\n-------\ntext\n", diff: raw("-------\ntext", "-------\nnew"), want: "Title\n-------\nnew\n"},
		{name: "the only line", original: "Title\n-------\n", diff: raw("-------", "=====\n"), want: "Title\n=====\n\n"},
		{name: "indented", original: "Title\n  -------\ntext\n", diff: raw("  -------\ntext", "  -------\nnew"), want: "Title\n  -------\nnew\n"},
		{name: "under an empty head", original: "a\nb\n", diff: raw("-------\nb", "x"), want: "a\nx\n"},
		{name: "under a head and again", original: "-------\nb\n", diff: raw(":start_line:1\n-------\n-------\nb", "x"), want: "x\n"},
		{name: "under a head", original: "-------\nb\n", diff: raw(":start_line:2\n-------\nb", "x"), want: "-------\nx\n"},
		{name: "without it the text stands twice", original: "b\nc\n-------\nb\n", diff: raw("-------\nb", "x"), want: "b\nc\nx\n"},
		{name: "under an end line", original: "a\nb\n", diff: raw(":end_line:2\n-------\nb", "x"), want: "a\nx\n"},
	})
	for name, c := range map[string]struct{ original, diff string }{
		"both readings":        {"-------\nb\n", raw("-------\nb", "x")},
		"a rule in both parts": {"a\nb\n", raw("-------\nb", "-------\nx")},
		"a rule that goes":     {"Title\n-------\nb\n", raw("-------\nb", "b")},
		"nothing behind it":    {"a\n", raw("-------\na", "a")},
		"neither reading":      {"a\n", raw("-------\nq", "x")},
	} {
		got, err := edit.ApplyDiff(c.original, c.diff, edit.Options{})
		var match *edit.MatchError
		check.That(t, errors.As(err, &match), "%s: %q, %v", name, got.Text, err)
	}
}
