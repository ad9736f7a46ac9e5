package edit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":           {},
		"\n":         {""},
		"a":          {"a"},
		"a\n":        {"a"},
		"a\n\n":      {"a", ""},
		"a\r\nb\rc":  {"a", "b\rc"},
		"\r\r\n\r":   {"\r", "\r"},
		"a\nb\r\n\n": {"a", "b", ""},
	} {
		got := edit.Lines(text)
		check.That(t, slices.Equal(got, want), "Lines(%q) = %q, want %q", text, got, want)
		raw := edit.RawLines(text)
		check.That(t, strings.Join(raw, "") == text && len(raw) == len(want), "RawLines(%q) = %q", text, raw)
	}
}

func TestNumbered(t *testing.T) {
	check.Equal(t, edit.Numbered([]string{"a", "", "c"}, 9), " 9 | a\n10 | \n11 | c\n")
	check.Equal(t, edit.Numbered(nil, 1), "")
}

func TestHunksAndRanges(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		hunks               [][4]int
		ranges              [][2]int
	}{
		{"equal", "a\n", "a\n", [][4]int{}, nil},
		{"created", "", "a\nb\n", [][4]int{{0, 0, 1, 2}}, [][2]int{{1, 2}}},
		{"deleted", "a\nb\n", "", [][4]int{{1, 2, 0, 0}}, nil},
		{"replaced", "a\nb\nc\n", "a\nx\ny\nc\n", [][4]int{{2, 1, 2, 2}}, [][2]int{{2, 3}}},
		{"inserted", "a\nb\n", "a\nx\nb\n", [][4]int{{1, 0, 2, 1}}, [][2]int{{2, 2}}},
		{"removed", "a\nb\nc\n", "a\nc\n", [][4]int{{2, 1, 1, 0}}, nil},
		{"two places", "a\nb\nc\nd\n", "A\nb\nc\n", [][4]int{{1, 1, 1, 1}, {4, 1, 3, 0}}, [][2]int{{1, 1}}},
		{"final newline", "a\nb", "a\nb\n", [][4]int{{2, 1, 2, 1}}, [][2]int{{2, 2}}},
		{"line ending", "a\nb\n", "a\r\nb\n", [][4]int{{1, 1, 1, 1}}, [][2]int{{1, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			hunks := edit.Hunks(c.before, c.after)
			check.That(t, slices.Equal(hunks, c.hunks), "got %v, want %v", hunks, c.hunks)
			var ranges [][2]int
			for _, r := range edit.ChangedRanges(c.after, hunks) {
				ranges = append(ranges, [2]int{r.StartLine, r.EndLine})
			}
			check.That(t, slices.Equal(ranges, c.ranges), "ranges %v, want %v", ranges, c.ranges)
		})
	}
}

// A block has one hash wherever it stands and however its lines end.
func TestContentHash(t *testing.T) {
	const want = "sha256:7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78"
	lf := edit.ChangedRanges("a\nb\n", [][4]int{{0, 0, 1, 2}})
	crlf := edit.ChangedRanges("x\r\na\r\nb", [][4]int{{1, 0, 2, 2}})
	for _, got := range []string{lf[0].ContentHash, crlf[0].ContentHash, edit.HashLines([]string{"a", "b"})} {
		check.Equal(t, got, want)
	}
}

func TestUnifiedText(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	after := "1\ntwo\n3\n4\n5\n6\n7\n8\nnine"
	want := "--- a/f\n+++ \"b\\nf\"\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -8,2 +8,2 @@\n 8\n-9\n+nine\n\\ No newline at end of file\n"
	check.Equal(t, edit.Unified("a/f", "b\nf", before, after, 1), want)
}
