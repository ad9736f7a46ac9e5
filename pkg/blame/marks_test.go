package blame_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

var function = []string{"func fahrenheit(celsius float64) float64 {", "\treturn celsius*9/5 + 32", "}"}

// What the ledger knows of a line is its mark alone; an agent copies what nobody recorded.
func TestCopyIsNotItsOriginal(t *testing.T) {
	filler := []string{"alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()", "echo := fifth()"}
	for name, c := range map[string]struct {
		later func(w *paper)
		want  string
	}{
		"as it was left": {func(*paper) {},
			"untracked untracked untracked untracked untracked untracked untracked untracked A:exact A:exact A:exact"},
		"somebody adds a line between them": {func(w *paper) {
			w.become(slices.Insert(slices.Clone(w.lines), 5, w.fileOf("", "foxtrot := sixth()")...))
		},
			"untracked untracked untracked untracked untracked untracked untracked untracked untracked A:shifted A:shifted A:shifted"},
		"somebody indents the copy": {func(w *paper) {
			next := slices.Clone(w.lines)
			for i := range next[8:] {
				next[8+i].text = "\t" + next[8+i].text
			}
			w.become(next)
		}, "untracked untracked untracked untracked untracked untracked untracked untracked A:reformatted A:reformatted A:reformatted"},
		"somebody puts as many lines above both as there are between them": {func(w *paper) {
			w.become(append(w.fileOf("", "one()", "two()", "three()", "four()", "five()", "six()", "seven()", "eight()"), w.lines...))
		}, strings.Repeat("untracked ", 16) + "A:shifted A:shifted A:shifted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyPaper()
			w.become(append(w.fileOf("", function...), w.fileOf("", filler...)...))
			w.record("A", append(slices.Clone(w.lines), w.fileOf("A", function...)...), w.path)
			c.later(w)
			check.Equal(t, answers(t, w, "none"), c.want)
		})
	}
}

// Where the original alone is left, somebody took the copy away, or the copy was edited: nothing says that it is the copy.
func TestOriginalIsNoCopy(t *testing.T) {
	w := emptyPaper()
	w.become(w.fileOf("", append(append([]string{}, sixLines...), function...)...))
	before := w.lines
	w.record("A", append(w.fileOf("A", function...), w.lines...), w.path)
	w.become(append(before[:0:0], before...))
	w.become(append(w.fileOf("", "new := zero()", "more := one()", "and := another()"), w.lines...))
	for _, entry := range w.records.entries {
		check.Must(t, entry.Changes[0].Marks[0].Twin(), "the function stands there once")
	}
	check.Equal(t, answers(t, w, "none"), strings.TrimSpace(strings.Repeat("untracked ", 12)))
}

// Of a line that was broken, and all else taken away, nothing but its beginning tells that it stood there.
func TestBrokenLineAmongAlike(t *testing.T) {
	for _, alike := range []int{1, 50, 500} {
		t.Run(fmt.Sprint(alike), func(t *testing.T) {
			w := emptyPaper()
			var lines []string
			for i := range alike {
				lines = append(lines, fmt.Sprintf("measured(%d, thing, another)", i))
			}
			w.record("B", w.fileOf("B", lines...), w.path)
			w.become(w.fileOf("B", fmt.Sprintf("measured(%d,", alike/2), "\tthing, another)"))
			check.Equal(t, answers(t, w, "all"), "B:reformatted B:reformatted")
			w.become(w.fileOf("", "measured(elsewhere,", "\tthing, another)"))
			check.Equal(t, answers(t, w, "all"), "untracked untracked")
		})
	}
}

func TestSqueeze(t *testing.T) {
	for _, line := range []string{"", " ", "word", "\tword", "word\r", " two\u00a0 words ", "\xff\t\xfe", "\u2028a\u0085b"} {
		check.Equal(t, record.Squeeze(line), strings.Join(strings.Fields(line), ""))
	}
}
