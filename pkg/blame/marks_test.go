package blame_test

import (
	"slices"
	"strings"
	"testing"
)

var function = []string{"func fahrenheit(celsius float64) float64 {", "\treturn celsius*9/5 + 32", "}"}

// What the ledger knows of a line is its mark alone; an agent copies what nobody recorded.
func TestCopyIsNotItsOriginal(t *testing.T) {
	filler := []string{"alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()", "echo := fifth()"}
	for name, c := range map[string]struct {
		later func(w *world)
		want  string
	}{
		"as it was left": {func(*world) {},
			"untracked untracked untracked untracked untracked untracked untracked untracked A:exact A:exact A:exact"},
		"somebody adds a line between them": {func(w *world) {
			w.outside(slices.Insert(slices.Clone(w.file), 5, w.fileOf("", "foxtrot := sixth()")...))
		},
			"untracked untracked untracked untracked untracked untracked untracked untracked untracked A:shifted A:shifted A:shifted"},
		"somebody indents the copy": {func(w *world) {
			next := slices.Clone(w.file)
			for i := range next[8:] {
				next[8+i].text = "\t" + next[8+i].text
			}
			w.outside(next)
		}, "untracked untracked untracked untracked untracked untracked untracked untracked A:reformatted A:reformatted A:reformatted"},
		"somebody puts as many lines above both as there are between them": {func(w *world) {
			w.outside(append(w.fileOf("", "one()", "two()", "three()", "four()", "five()", "six()", "seven()", "eight()"), w.file...))
		}, strings.Repeat("untracked ", 16) + "A:shifted A:shifted A:shifted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.outside(append(w.fileOf("", function...), w.fileOf("", filler...)...))
			w.record("A", append(slices.Clone(w.file), w.fileOf("A", function...)...), w.path)
			c.later(w)
			if got := answers(t, w, "none"); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Where the original alone is left, somebody took the copy away, or the copy was edited: nothing says that it is the copy.
func TestOriginalIsNoCopy(t *testing.T) {
	w := emptyWorld()
	w.outside(w.fileOf("", append(append([]string{}, sixLines...), function...)...))
	before := w.file
	w.record("A", append(w.fileOf("A", function...), w.file...), w.path)
	w.outside(append(before[:0:0], before...))
	w.outside(append(w.fileOf("", "new := zero()", "more := one()", "and := another()"), w.file...))
	for _, entry := range w.entries {
		if !entry.Changes[0].Marks[0].Twin() {
			t.Fatal("the function stands there once")
		}
	}
	if got := answers(t, w, "none"); got != "untracked untracked untracked untracked untracked untracked untracked untracked untracked untracked untracked untracked" {
		t.Errorf("got %s", got)
	}
}
