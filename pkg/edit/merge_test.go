package edit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		clashes                  int
	}{
		"nothing changed":            {"a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n", 0},
		"only ours":                  {"a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n", 0},
		"only theirs":                {"a\nb\nc\n", "a\nb\nc\n", "a\nc\n", "a\nc\n", 0},
		"apart":                      {"a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", 0},
		"both alike":                 {"a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n", 0},
		"the same line":              {"a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", "", 1},
		"next to each other":         {"a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", "", 1},
		"inserted at one place":      {"a\nb\n", "a\nX\nb\n", "a\nY\nb\n", "", 1},
		"deleted and changed":        {"a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "", 1},
		"both add at the end":        {"a\n", "a\nX\n", "a\nY\n", "", 1},
		"two places":                 {"a\nb\nc\nd\ne\n", "1\nb\nc\nd\n1\n", "2\nb\nc\nd\n2\n", "", 2},
		"without a final newline":    {"a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC", 0},
		"final newline taken away":   {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nc", "A\nb\nc", 0},
		"line endings are content":   {"a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n", 0},
		"only the endings of theirs": {"a\nb\n", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n", 0},
		"ours empty, theirs as base": {"a\n", "", "a\n", "", 0},
		"ours empty, theirs changed": {"a\nb\n", "", "a\nB\n", "", 1},
		"from nothing":               {"", "X\n", "Y\n", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, clashes := edit.Merge(c.base, c.ours, c.theirs)
			if got != c.want || len(clashes) != c.clashes {
				t.Errorf("got %q and %+v, want %q and %d clashes", got, clashes, c.want, c.clashes)
			}
		})
	}
}

func TestClashSaysWhere(t *testing.T) {
	_, clashes := edit.Merge("1\n2\n3\n4\n5\n", "0\n1\n2\n3\nX\n5\n", "1\n2\n3\nY\n5\n")
	if len(clashes) != 1 || clashes[0].BaseLine != 4 || clashes[0].OursLine != 5 ||
		!slices.Equal(clashes[0].Ours, []string{"X\n"}) || !slices.Equal(clashes[0].Theirs, []string{"Y\n"}) || !slices.Equal(clashes[0].Base, []string{"4\n"}) {
		t.Errorf("%+v", clashes)
	}
}

// scribble changes up to n places of some lines.
func scribble(r *rand.Rand, lines []string, n int, mark string) []string {
	out := slices.Clone(lines)
	for range r.IntN(n + 1) {
		at := r.IntN(len(out) + 1)
		switch fresh := fmt.Sprintf("%s%d\n", mark, r.IntN(1000)); {
		case at == len(out) || r.IntN(3) == 0:
			out = slices.Insert(out, at, fresh)
		case r.IntN(2) == 0:
			out = slices.Delete(out, at, at+1)
		default:
			out[at] = fresh
		}
	}
	return out
}

// TestMergeLosesNothing holds over random texts, with lines that repeat, what must be true of every merge.
func TestMergeLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	merged, clashed := 0, 0
	for range check.Rounds(8_000, 20_000) {
		var base []string
		for range r.IntN(12) {
			base = append(base, fmt.Sprintf("%d\n", r.IntN(8)))
		}
		ours, theirs := scribble(r, base, 3, "o"), scribble(r, base, 3, "t")
		b, o, th := strings.Join(base, ""), strings.Join(ours, ""), strings.Join(theirs, "")
		got, clashes := edit.Merge(b, o, th)
		again, _ := edit.Merge(b, th, o)
		check.Must(t, got == again, "the sides are not alike: %q %q %q: %q, %q", b, o, th, got, again)
		if one, c := edit.Merge(b, o, b); one != o || len(c) > 0 {
			t.Fatalf("%q %q with nothing: %q", b, o, one)
		}
		if one, c := edit.Merge(b, o, o); one != o || len(c) > 0 {
			t.Fatalf("%q %q with itself: %q", b, o, one)
		}
		if len(clashes) > 0 {
			clashed++
			continue
		}
		merged++
		for _, side := range [][]string{ours, theirs} {
			for _, line := range side {
				if (line[0] == 'o' || line[0] == 't') && !strings.Contains("\n"+got, "\n"+line) {
					t.Fatalf("%q is lost: %q %q %q: %q", line, b, o, th, got)
				}
			}
		}
	}
	t.Logf("%d merged, %d clashed", merged, clashed)
	check.That(t, merged >= 1000 && clashed >= 1000, "the texts are not such as to test anything")
}

// TestMergeApart: with an unchanged line between the changes of both sides there is no clash, and the result has both.
func TestMergeApart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range check.Rounds(2_000, 5_000) {
		var base, ours, theirs, want strings.Builder
		for block := range 1 + r.IntN(8) {
			lines := fmt.Sprintf("%d %d first\n%d %d second\n", n, block, n, block)
			changed := ""
			if r.IntN(3) > 0 {
				changed = fmt.Sprintf("%d %d new\n", n, block)
			}
			base.WriteString(lines)
			switch r.IntN(3) {
			case 0:
				ours.WriteString(changed)
				theirs.WriteString(lines)
				want.WriteString(changed)
			case 1:
				ours.WriteString(lines)
				theirs.WriteString(changed)
				want.WriteString(changed)
			default:
				ours.WriteString(lines)
				theirs.WriteString(lines)
				want.WriteString(lines)
			}
			for _, b := range []*strings.Builder{&base, &ours, &theirs, &want} {
				fmt.Fprintf(b, "%d %d between\n", n, block)
			}
		}
		got, clashes := edit.Merge(base.String(), ours.String(), theirs.String())
		if got != want.String() || len(clashes) > 0 {
			t.Fatalf("base %q\nours %q\ntheirs %q\ngot %q\nwant %q\n%+v", base.String(), ours.String(), theirs.String(), got, want.String(), clashes)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC")
	f.Add("", "\r\n", "\n")
	f.Add("a\na\na\n", "a\na\n", "a\na\na\na\n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		got, clashes := edit.Merge(base, ours, theirs)
		check.That(t, len(clashes) == 0 || got == "", "a text in spite of clashes")
		for _, c := range clashes {
			if !strings.Contains(ours, strings.Join(c.Ours, "")) || !strings.Contains(theirs, strings.Join(c.Theirs, "")) || !strings.Contains(base, strings.Join(c.Base, "")) {
				t.Errorf("a clash quotes what is not there: %+v", c)
			}
		}
		again, other := edit.Merge(base, theirs, ours)
		check.That(t, again == got && len(other) == len(clashes), "the sides are not alike: %q and %q", got, again)
		if only, c := edit.Merge(base, ours, base); only != ours || len(c) > 0 {
			t.Errorf("a merge with nothing gives %q", only)
		}
	})
}
