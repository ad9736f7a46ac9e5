//go:build !windows

package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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
	m := record.MarkOf("alpha")
	check.That(t, marks[0].Line() == m && marks[0] != m && marks[0].Bare() == m.Bare(), "%x and %x are not one line", marks[0], m)
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

func TestModesInRecords(t *testing.T) {
	sum := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		op            change.Op
		before, after change.Mode
		line          string // "" where it is refused
	}{
		"as it was":            {change.Modified, "0644", "0644", `"before_mode":"0644"}`},
		"another":              {change.Modified, "0644", "4755", `"before_mode":"0644","after_mode":"4755"}`},
		"created":              {change.Created, "", "0600", `"after_mode":"0600"}`},
		"deleted":              {change.Deleted, "0755", "", `"before_mode":"0755"}`},
		"not known":            {change.Modified, "", "", `"after":"` + sum + `"}`},
		"created with two":     {change.Created, "0644", "0600", ""},
		"modified with one":    {change.Modified, "0644", "", ""},
		"more than is allowed": {change.Created, "", "100755", ""},
		"no digits":            {change.Deleted, "rwxr", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			changed := record.Change{Change: change.Change{Op: c.op, Path: "f", Before: change.Version{Mode: c.before}, After: change.Version{Mode: c.after}}}
			if c.op != change.Created {
				changed.Before.Hash = sum
			}
			if c.op != change.Deleted {
				changed.After.Hash = sum
			}
			line, err := record.Encode(record.Entry{ID: "x", Record: record.Record{Kind: record.KindMutation, Changes: []record.Change{changed}}})
			if c.line == "" {
				check.Must(t, errors.Is(err, record.ErrInvalidRecord), "%v, %s", err, line)
				return
			}
			check.Must(t, err == nil && bytes.Contains(line, []byte(c.line)), "%v, %s", err, line)
			e, err := record.Parse(line)
			check.That(t, err == nil && e.Changes[0].Before.Mode == c.before && e.Changes[0].After.Mode == c.after, "%v, %+v", err, e.Changes)
			back := e.Changes[0].Inverse()
			check.That(t, back.Before.Mode == c.after && back.After.Mode == c.before, "%+v", back)
		})
	}
	for mode, want := range map[fs.FileMode]change.Mode{0: "0000", 0o44: "0044", 0o755 | fs.ModeSetuid: "4755", 0o777 | fs.ModeSticky | fs.ModeSetgid: "3777"} {
		got := change.ModeOf(mode)
		back, ok := got.FileMode()
		check.That(t, got == want && ok && back == mode, "%v is %q and comes back as %v", mode, got, back)
	}
}
