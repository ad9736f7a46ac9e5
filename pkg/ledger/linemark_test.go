package ledger_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestMarkKnowsALineByItsText(t *testing.T) {
	a := record.MarkOf("\treturn count + 1")
	for line, same := range map[string]struct{ bare, whole bool }{
		"\treturn count + 1":  {true, true},
		"  return count + 1":  {true, false},
		"return count+1":      {true, false},
		"\treturn  count + 2": {false, false},
		"":                    {false, false},
	} {
		b := record.MarkOf(line)
		check.That(t, (a.Bare() == b.Bare()) == same.bare && (a == b) == same.whole, "%q: mark %x, of the line itself %x", line, b, a)
	}
}

// A line that stood in the file twice says so, and is the same line otherwise.
func TestMarkSaysTwin(t *testing.T) {
	text := "alpha\nbravo\n\tbravo\ncharlie\nalpha\n"
	c := record.Change{Change: change.Change{Hunks: [][4]int{{1, 1, 1, 2}, {3, 0, 4, 1}, {9, 2, 5, 0}}}}
	c.Mark(edit.Lines(text))
	marks := c.Marks
	var twins []bool
	for _, m := range marks {
		twins = append(twins, m.Twin())
	}
	want := []bool{true, true, false}
	check.That(t, slices.Equal(twins, want), "twins %v, want %v", twins, want)
	if m := record.MarkOf("alpha"); marks[0].Line() != m || marks[0] == m || marks[0].Bare() != m.Bare() {
		t.Errorf("%x and %x are not one line", marks[0], m)
	}
}

// Where none of a hunk's lines tells by itself where it stood, the nearest lines that do stand beside it.
func TestAnchors(t *testing.T) {
	const text = "unmistakable one\nif a {\n\treturn nothing\n}\nb++\nunmistakable two\nif a {\n\treturn nothing\n}\n"
	at := func(line int, text string) record.Anchor { return record.Anchor{Line: line, Mark: record.MarkOf(text)} }
	for name, c := range map[string]struct {
		hunks [][4]int
		want  []record.Anchor
	}{
		"twins":                        {[][4]int{{1, 0, 2, 3}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"nothing behind it":            {[][4]int{{6, 0, 7, 3}}, []record.Anchor{at(6, "unmistakable two")}},
		"one line, hardly a text":      {[][4]int{{4, 0, 5, 1}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"two hunks beside one line":    {[][4]int{{4, 0, 5, 1}, {6, 0, 7, 1}}, []record.Anchor{at(1, "unmistakable one"), at(6, "unmistakable two")}},
		"a line that tells is its own": {[][4]int{{4, 0, 5, 2}}, nil},
		"what is gone has none":        {[][4]int{{1, 3, 1, 0}}, nil},
	} {
		change := record.Change{Change: change.Change{Hunks: c.hunks}}
		if change.Mark(edit.Lines(text)); !slices.Equal(change.Anchors, c.want) {
			t.Errorf("%s: %v, want %v", name, change.Anchors, c.want)
		}
	}
}

// Marks come back from the file as they went in, eight characters a line; what is none is not believed.
func TestMarksInTheLedger(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	text := "alpha\nbravo\nalpha\nunmistakable\n"
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: "a.txt", Before: change.Version{Hash: sha("unmistakable\n")}, After: change.Version{Hash: sha(text)}, Hunks: [][4]int{{0, 0, 1, 3}},
		},
	}
	c.Mark(edit.Lines(text))
	rec := record.Record{Kind: record.KindMutation, IntentID: "INT-001", Call: "write_to_file", Changes: []record.Change{c}}
	check.Value(l.Append(context.Background(), rec))(t)
	found := check.Value(l.Query(context.Background(), record.Filter{Path: "a.txt"}))(t)
	if len(found.Entries) != 1 || !slices.Equal(found.Entries[0].Changes[0].Marks, c.Marks) {
		t.Errorf("got %+v, want the marks %x", found.Entries, c.Marks)
	} else if got := found.Entries[0].Changes[0].Anchors; len(got) != 1 || !slices.Equal(got, c.Anchors) {
		t.Errorf("anchors %v, want %v", got, c.Anchors)
	}
	written := check.Value(c.Marks.MarshalText())(t)
	check.Equal(t, len(written), 8*3, "characters for three lines")
	rec.Changes[0].Marks = c.Marks[:2]
	check.Fails(l.Append(context.Background(), rec))(t, record.ErrInvalidRecord, "two marks for three lines")
	var m record.LineMarks
	for _, bad := range []string{"A", "AAAAAAA", strings.Repeat("A", 9), "AAAA AAA", "AAAAAAA="} {
		check.Is(t, m.UnmarshalText([]byte(bad)), record.ErrMalformed, "%q", bad)
	}
}
