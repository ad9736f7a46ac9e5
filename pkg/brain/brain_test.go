package brain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/brain"
)

func add(t *testing.T, text string, e brain.Entry) string {
	t.Helper()
	after, known, err := brain.Add(text, e)
	check.Must(t, err == nil && known == nil, "%v %v", known, err)
	return after
}

func TestFormat(t *testing.T) {
	text := add(t, "My notes, no line end", brain.Entry{Date: "2026-02-18", Intent: "INT-001", Path: "src/weather.ts", Category: "testing", Text: "The clock must be injected:\nnew Date() fails.\n"})
	text = add(t, text, brain.Entry{Kind: brain.Decision, Date: "2026-02-19", Text: "SQLite.\n\n    code"})
	const want = "My notes, no line end\n\n## Lesson Learned (2026-02-18)\n**Intent:** INT-001\n**File:** `src/weather.ts`\n**Category:** testing\n**Problems:**\n" +
		"- The clock must be injected:\n  new Date() fails.\n\n## Decision (2026-02-19)\n- SQLite.\n\n      code\n"
	check.That(t, text == want, "%s", text)
	windows := add(t, "# Notes\r\n", brain.Entry{Text: "a\nb"})
	check.That(t, windows == "# Notes\r\n\r\n## Lesson Learned\r\n- a\r\n  b\r\n", "%q", windows)
}

// Entries of other tools and of people.
func TestParseOthers(t *testing.T) {
	got := brain.Parse("# Brain\nprose\n## Lesson Learned (2026-01-01)\n**File:** `src/a.go`\n**Problems:**\n- one\n- two\n\n" +
		"## Lesson Learned\n**Problems:** all on a line\n**Intent:** is text here\n## Other\nno\n## Constraint (2026-01-02)\r\n**Intent:** `X`\r\nNever.\r\n")
	want := []brain.Entry{
		{Kind: brain.Lesson, Date: "2026-01-01", Path: "src/a.go", Text: "- one\n- two"},
		{Kind: brain.Lesson, Text: "all on a line\n**Intent:** is text here"},
		{Kind: brain.Constraint, Date: "2026-01-02", Intent: "X", Text: "Never."},
	}
	check.That(t, slices.Equal(got, want), "%+v", got)
}

func TestKnownIsNotAddedAgain(t *testing.T) {
	lesson := brain.Entry{Date: "2026-01-01", Path: "a.go", Text: "Mind the gap.", Intent: "A"}
	text := add(t, "", lesson)
	for name, c := range map[string]struct {
		change func(*brain.Entry)
		known  bool
	}{
		"the same":     {func(*brain.Entry) {}, true},
		"another day":  {func(e *brain.Entry) { e.Date, e.Intent = "2026-02-02", "B" }, true},
		"other blanks": {func(e *brain.Entry) { e.Text = "Mind\n the  gap." }, true},
		"other file":   {func(e *brain.Entry) { e.Path = "b.go" }, false},
		"other kind":   {func(e *brain.Entry) { e.Kind = brain.Constraint }, false},
		"other text":   {func(e *brain.Entry) { e.Text = "Mind." }, false},
		"other number": {func(e *brain.Entry) { e.Text = "Mind the gap. 2" }, false},
	} {
		e := lesson
		c.change(&e)
		after, known, err := brain.Add(text, e)
		check.That(t, err == nil && (known != nil) == c.known && (after == text) == c.known, "%s: %v %v", name, known, err)
	}
	check := brain.Entry{Category: brain.FailedCheck, Path: "a.go", Text: "go vet: a.go:3:1: unused x"}
	text = add(t, text, check)
	check.Text = "go vet: a.go:14:2: unused x"
	if _, known, _ := brain.Add(text, check); known == nil {
		t.Error("a problem on another line counts as new")
	}
}

func TestLimits(t *testing.T) {
	if _, _, err := brain.Add("", brain.Entry{Text: " \n\r "}); !errors.Is(err, brain.ErrEmpty) {
		t.Error(err)
	}
	full := strings.Repeat("x\n", brain.Limit/2)
	if after, _, err := brain.Add(full, brain.Entry{Text: "one more"}); !errors.Is(err, brain.ErrFull) || after != full {
		t.Error(err)
	}
}

// Whatever an entry says and whatever stood in the file: the file's bytes stay, there is one entry more, it is the one
// that was given, and nothing in it can act on a terminal.
func FuzzAdd(f *testing.F) {
	f.Add("", "lesson", "2026-01-01", "INT-1", "a.go", "testing", "text")
	f.Add("# Notes", "decision", "", "", "", "", "a\n## Decision (2026-01-01)\n**Intent:** X\nforged")
	f.Add("```\nopen", "constraint", "x", "a\n## b", "a`b\n.go", "c\n", "\r## Lesson Learned\r\n```\n<!--\n---\n# x\n\t- y")
	f.Add("x\r\n", "lesson", "", "`", "\"q\"", "**File:** x", "- item\n- item\n**File:** `z`\n\n\n\u2028\u202e\x1b[2J\x00")
	f.Fuzz(func(t *testing.T, before, kind, date, intent, path, category, text string) {
		e := brain.Entry{Kind: brain.Kind(kind), Date: date, Intent: intent, Path: path, Category: category, Text: text}
		after, known, err := brain.Add(before, e)
		if err != nil || known != nil {
			check.Must(t, after == before, "not added, but changed")
			return
		}
		added, kept := strings.CutPrefix(after, before)
		check.Must(t, kept, "what stood there is gone")
		was, now := brain.Parse(before), brain.Parse(after)
		want := e.Normal()
		got := now[len(now)-1]
		if len(now) != len(was)+1 || got.Text != want.Text || got.Kind != want.Kind || got.Intent != want.Intent || got.Path != want.Path || got.Category != want.Category {
			t.Fatalf("%d entries became %d, the last %+v, not %+v:\n%s", len(was), len(now), got, want, added)
		}
		check.Must(t, !strings.ContainsFunc(added, func(r rune) bool { return r != '\n' && r != '\r' && !unicode.IsPrint(r) }), "%q", added)
		again, _, _ := brain.Add(after, e)
		check.Must(t, again == after, "known, and added again:\n%s", again)
	})
}
