package tools_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// searched is a directory with files, to be searched.
func searched(t *testing.T, dir string, files map[string]string) *workspace.Target {
	t.Helper()
	for name, content := range files {
		check.Write(t, dir, name, content)
	}
	w := check.Value(workspace.Open(dir))(t)
	t.Cleanup(func() { check.OK(t, w.Close()) })
	target := check.Value(w.ResolveDir("."))(t)
	t.Cleanup(func() { target.Close() })
	return target
}

// simple is what a search gives for one file, made as simply as can be.
func simple(path, content, regex string) (found []string) {
	re := regexp.MustCompile(regex)
	lines := edit.Lines(strings.TrimPrefix(content, "\ufeff"))
	given := -1
	for i, line := range lines {
		if !re.MatchString(line) {
			continue
		}
		var before, after []string
		if i-1 > given {
			before = lines[i-1 : i]
		}
		given = i
		if i+1 < len(lines) && !re.MatchString(lines[i+1]) {
			after = lines[i+1 : i+2]
			given = i + 1
		}
		found = append(found, fmt.Sprintf("%s:%d:%s %q %q", path, i+1, line, before, after))
	}
	return found[:min(len(found), 300)]
}

// A file is looked into in the same way whatever parts it is taken in.
func TestSearchInParts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	top := searched(t, dir, nil)
	for round := range check.Rounds(400, 20_000) {
		var b strings.Builder
		if rnd.IntN(4) == 0 {
			b.WriteString("\ufeff")
		}
		for range rnd.IntN(60) {
			b.WriteString(strings.Repeat([]string{"a", "b", "é"}[rnd.IntN(3)], rnd.IntN(12)))
			if rnd.IntN(4) == 0 {
				b.WriteString("needle")
			}
			b.WriteString([]string{"\n", "\n", "\r\n", "\n\n", " "}[rnd.IntN(5)])
		}
		content := b.String()
		check.OK(t, os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o644))
		regex := []string{"needle", "^a", "b$", "^$", "[ab]{3}", "."}[rnd.IntN(6)]
		// Lines may be as long as there are, and those before a part; all else is small.
		bounds := tools.SearchBounds{Whole: 1, Stretch: 4 + rnd.IntN(100), Piece: 4 + rnd.IntN(40), Line: 1 << 14, Back: 1 << 10}
		got, _, _, err := tools.Search(context.Background(), top, regex, bounds)
		check.OK(t, err)
		want := simple("f", content, regex)
		check.Must(t, slices.Equal(got, want), "round %d, %+v, %s in %q:\n%q, want\n%q", round, bounds, regex, content, got, want)
	}
}

// The first matches are given in the order of a walk, also where others are found earlier, and each time the same.
func TestSearchGivesTheFirstMatches(t *testing.T) {
	files := map[string]string{"a.b/x": "needle\n", "a/z": strings.Repeat("needle\n", 3), "zz": strings.Repeat("needle\n", 400)}
	for i := range 500 {
		files[fmt.Sprintf("a/%d/%d", i%7, i)] = strings.Repeat("hay\nneedle\n", i%3)
	}
	target := searched(t, t.TempDir(), files)
	var want []string
	check.OK(t, target.Walk(context.Background(), nil, func(e workspace.Entry) error {
		if e.Kind == workspace.Regular {
			want = append(want, simple(e.Path, files[e.Path], "needle")...)
		}
		return nil
	}))
	for range 20 {
		got, _, truncated, err := tools.Search(context.Background(), target, "needle", tools.UsualSearchBounds())
		check.OK(t, err)
		check.Must(t, truncated && slices.Equal(got, want[:300]), "%q, want %q", got, want[:300])
	}
}

// A file is searched, or skipped as binary, as a whole: whatever of it is found before.
func TestSearchSkipsBinaryFiles(t *testing.T) {
	long, dir := strings.Repeat("needle in hay\n", 20), t.TempDir()
	target := searched(t, dir, map[string]string{
		"nul": "needle\n\x00", "long": long + "\x00", "controls": "needle \x01\x02\x03\xff\n", "latin": "needle \xe9t\xe9\n", "utf16": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00", "text": "needle \x01\n",
	})
	bounds := tools.UsualSearchBounds()
	got, skipped, _, err := tools.Search(context.Background(), target, "needle", bounds)
	check.OK(t, err)
	check.Equal(t, skipped, 3)
	check.Equal(t, strings.Join(got, "; "), "latin:1:needle \u00e9t\u00e9 [] []; text:1:needle \x01 [] []; utf16:1:needle [] []")
	check.OK(t, os.Truncate(filepath.Join(dir, "nul"), 1<<40)) // a file may say that it is as long
	bounds.Whole, bounds.Stretch, bounds.Piece = 100, 64, 32
	_, skipped, _, err = tools.Search(context.Background(), target, "needle", bounds)
	check.OK(t, err)
	check.Equal(t, skipped, 3)
}

// Of a line that is longer than is kept in memory the beginning is looked at, and those behind it have their numbers.
func TestSearchInLongLines(t *testing.T) {
	hay := strings.Repeat("hay ", 4<<20)
	content := "needle first\nbegins with a needle " + hay + "needle\nneedle third\n" + hay + "needle\n" + hay + "\nneedle sixth"
	target := searched(t, t.TempDir(), map[string]string{"f": content})
	bounds := tools.SearchBounds{Whole: 1, Stretch: 1 << 20, Piece: 1 << 12, Line: 1 << 16, Back: 1 << 10}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, _, _, err := tools.Search(context.Background(), target, "needle", bounds)
	runtime.ReadMemStats(&after)
	check.OK(t, err)
	var numbers []string
	for _, line := range got {
		numbers = append(numbers, line[:strings.Index(line, " ")])
	}
	check.Equal(t, strings.Join(numbers, "; "), "f:1:needle; f:2:begins; f:3:needle; f:6:needle")
	check.That(t, after.TotalAlloc-before.TotalAlloc < uint64(len(content))/4, "%d bytes for a file of %d", after.TotalAlloc-before.TotalAlloc, len(content))
}

func TestSearchIsGivenUp(t *testing.T) {
	target := searched(t, t.TempDir(), map[string]string{"f": strings.Repeat("hay\n", 1<<20)})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	bounds := tools.UsualSearchBounds()
	bounds.Whole = 1
	_, _, _, err := tools.Search(ctx, target, "needle", bounds)
	check.Is(t, err, context.Canceled)
}
