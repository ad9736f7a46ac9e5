package edit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// code makes a text that looks like a program: mostly distinct lines, some that repeat.
func code(lines int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for i := range lines {
		switch i % 10 {
		case 0:
			fmt.Fprintf(&b, "func f%d(a, b int) error {\n", i)
		case 8:
			b.WriteString("}\n")
		case 9:
			b.WriteString("\n")
		default:
			fmt.Fprintf(&b, "\tif err := call%d(%d, \"%x\"); err != nil { return err }\n", i, r.IntN(1000), r.Uint64())
		}
	}
	return b.String()
}

// inTime fails after far more time than a loaded machine needs for a call: what it catches is growth by another power.
func inTime(t *testing.T, name string, do func()) {
	t.Helper()
	start := time.Now()
	do()
	took := time.Since(start)
	check.That(t, took <= time.Minute, "%s took %v", name, took)
}

// The work of a call is bounded however the text and the diff are made.
func TestBoundedTime(t *testing.T) {
	n, blocks := check.Rounds(5_000, 100_000), check.Rounds(20, 200)
	same := strings.Repeat("a\n", n)
	long := code(n, 1)
	lines := edit.Lines(long)
	many := func(make func(i int) string) string {
		var b strings.Builder
		for i := range blocks {
			b.WriteString(make(i))
		}
		return b.String()
	}
	hits := func(i int) string {
		at := (i*n/blocks)/10*10 + 1
		return block(strings.Join(lines[at:at+3], "\n"), "x\ny", fmt.Sprintf(":start_line:%d", at+1))
	}
	near := func(i int) string { return block(strings.Replace(lines[(i*n/blocks)/10*10+1], "call", "coll", 1), "x") }
	shuffled := func(i int) string { return block(strings.Repeat(fmt.Sprintf("rre %d :=", i), 500), "x") }
	for _, c := range []struct {
		name, original, diff string
		opt                  edit.Options
		err                  error
	}{
		{"all found", long, many(hits), edit.Options{}, nil},
		{"none found", long, many(near), edit.Options{}, edit.ErrNoMatch},
		{"none found, fuzzy", long, many(shuffled), edit.Options{Threshold: 0.5}, edit.ErrNoMatch},
		{"long nearly periodic search", same, many(func(int) string { return block(strings.Repeat("a\n", n/10)+"b", "x") }), edit.Options{}, edit.ErrNoMatch},
		{"long periodic search", same, many(func(int) string { return block(strings.Repeat("a\n", n/10)+"a", "x") }), edit.Options{}, edit.ErrAmbiguous},
		{"empty lines", strings.Repeat("\n", n), many(func(int) string { return block(strings.Repeat("\n", n/10)+"b", "x") }), edit.Options{Threshold: 0.9}, edit.ErrNoMatch},
		{"one long line", strings.Repeat("ab", 20*n), block(strings.Repeat("ba", 20*n), "x"), edit.Options{Threshold: 0.9}, edit.ErrNoMatch},
		{"newline markers", "a\n", "@@ -1 +1 @@\n-a\n+b\n" + strings.Repeat("\\\n", n*10), edit.Options{}, nil},
		{"block of everything", long, block(strings.TrimSuffix(long, "\n"), strings.TrimSuffix(code(n, 2), "\n")), edit.Options{}, nil},
		{"hunk of everything", long, edit.Unified("a", "b", long, code(n, 2), 3), edit.Options{}, nil},
	} {
		inTime(t, c.name, func() {
			if _, err := edit.ApplyDiff(c.original, c.diff, c.opt); !errors.Is(err, c.err) {
				t.Errorf("%s: got %.300v, want %v", c.name, err, c.err)
			}
		})
	}
}

func TestBoundedTimeOfPatches(t *testing.T) {
	n := check.Rounds(5_000, 50_000)
	for _, c := range []struct{ name, original, patch string }{
		{"blank lines", "a\n", patch("*** Update File: f", "-a", "+b"+strings.Repeat("\n", n*10), "-c")},
		{"many anchors", strings.Repeat("A\nx\n", n), patch("*** Update File: f", "@@ A", "@@ A", "@@ A", " x", "-y", "+z")},
		{"many hunks", strings.Repeat("A\nx\n", n), patch("*** Update File: f", strings.Repeat("@@\n A\n-x\n+y\n", 200))},
	} {
		inTime(t, c.name, func() {
			p, err := edit.ParsePatch(c.patch)
			if err == nil {
				_, err = p.Sections[0].Apply(c.original, edit.Options{})
			}
			if err == nil {
				t.Error(c.name, "gives no error")
			}
		})
	}
}

func TestBoundedTimeOfHunks(t *testing.T) {
	n := check.Rounds(10_000, 200_000)
	random := func(seed uint64, of int) string {
		r := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%d\n", r.IntN(of))
		}
		return b.String()
	}
	for _, c := range []struct{ name, before, after string }{
		{"nothing in common", code(n, 1), strings.ToUpper(code(n, 2))},
		{"two values", random(1, 2), random(2, 2)},
		{"many values", random(1, 1000), random(2, 1000)},
		{"shifted periods", strings.Repeat("a\nb\nc\n", n/3), "b\n" + strings.Repeat("c\na\nb\n", n/3)},
		{"reversed", random(1, 1<<40), reversed(random(1, 1<<40))},
		{"one value, other counts", strings.Repeat("a\n", n), strings.Repeat("a\n", n/2)},
	} {
		inTime(t, c.name, func() {
			if replay(t, c.before, c.after, edit.Hunks(c.before, c.after)) != c.after {
				t.Error(c.name, "the hunks do not give the text after")
			}
		})
	}
}

func reversed(text string) string {
	lines := edit.Lines(text)
	slices.Reverse(lines)
	return strings.Join(append(lines, ""), "\n")
}

// Many small edits far apart are many small hunks, not one large one: the
// ledger says of these lines, and no others, that they changed.
func TestHunksAreSmall(t *testing.T) {
	before := edit.Lines(code(10_000, 1))
	after := make([]string, len(before))
	want := 0
	for i, line := range before {
		after[i] = line
		if i%20 == 3 {
			after[i], want = line+" // changed", want+1
		}
	}
	hunks := edit.Hunks(strings.Join(before, "\n"), strings.Join(after, "\n"))
	lines := 0
	for _, h := range hunks {
		lines += h[1]
	}
	check.That(t, len(hunks) == want && lines == want, "%d hunks of %d lines, want %d of one line", len(hunks), lines, want)
}

func BenchmarkApplyDiff(b *testing.B) {
	text := code(2000, 1)
	lines := edit.Lines(text)
	for name, diff := range map[string]string{
		"block":      block(strings.Join(lines[1001:1006], "\n"), "x"),
		"start_line": block(strings.Join(lines[1001:1006], "\n"), "x", ":start_line:1002"),
		"whitespace": block(strings.Join(lines[1001:1006], "\n    "), "x"),
		"missing":    block("\tif err := coll", "x"),
		"unified":    edit.Unified("a", "b", text, strings.Replace(text, lines[1002], "x", 1), 3),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := edit.ApplyDiff(text, diff, edit.Options{})
				check.Must(b, (err != nil) == (name == "missing"), "%v", err)
			}
		})
	}
}

func BenchmarkHunks(b *testing.B) {
	text := code(2000, 1)
	lines := edit.Lines(text)
	for i := 3; i < len(lines); i += 40 {
		lines[i] = "changed"
	}
	for name, after := range map[string]string{
		"one line":      strings.Replace(text, edit.Lines(text)[1002], "x", 1),
		"fifty lines":   strings.Join(lines, "\n"),
		"everything":    strings.ToUpper(code(2000, 2)),
		"nothing":       text,
		"a moved block": text[len(text)/2:] + text[:len(text)/2],
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				edit.Hunks(text, after)
			}
		})
	}
}
