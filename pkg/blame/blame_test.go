package blame_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// fileOf gives lines that belong to owner.
func (h *hand) fileOf(owner string, lines ...string) simFile { return h.ownAll(lines, owner) }

func emptyPaper() *paper { return &paper{hand: &hand{}, path: "src/a.go", records: newRecorder()} }

// answers renders each line as its intent, or -, and its confidence.
func answers(t *testing.T, w *paper, known string) string {
	t.Helper()
	var words []string
	for _, l := range w.blame(t, w.records.contents(known)) {
		if l.Record == nil {
			words = append(words, string(l.Confidence))
			continue
		}
		words = append(words, l.Record.IntentID+":"+string(l.Confidence))
	}
	return strings.Join(words, " ")
}

const sixA = "A:exact A:exact A:exact A:exact A:exact A:exact"

func TestFile(t *testing.T) {
	cases := map[string]struct {
		do         func(w *paper)
		all, blind string // with all contents known, and with none
	}{
		"recorded changes only": {func(w *paper) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.lines...), w.path)
		}, "B:exact " + sixA, "B:exact " + sixA},
		"a line from outside above": {func(w *paper) {
			w.become(append(w.fileOf("", "new := zero()"), w.lines...))
		}, "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted", "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted"},
		"a line from outside below": {func(w *paper) {
			w.become(append(w.lines[:6:6], w.fileOf("", "new := zero()")...))
		}, "A:exact A:exact A:exact A:exact A:exact A:exact untracked", "A:exact A:exact A:exact A:exact A:exact A:exact untracked"},
		"indented from outside": {func(w *paper) {
			for i := range w.lines {
				w.lines[i].text = "\t" + w.lines[i].text
			}
		}, strings.TrimSpace(strings.Repeat("A:reformatted ", 6)), strings.TrimSpace(strings.Repeat("A:reformatted ", 6))},
		"a block moved from outside": {func(w *paper) {
			w.record("B", append(w.lines[:6:6], w.fileOf("B", "golf := seventh()", "hotel := eighth()")...), w.path)
			w.become(append(append(simFile{}, w.lines[3:]...), w.lines[:3]...))
		}, "A:shifted A:shifted A:shifted B:shifted B:shifted A:moved A:moved A:moved", ""},
		"put back to an older content": {func(w *paper) {
			old := w.lines
			w.record("B", w.fileOf("B", "golf := seventh()"), w.path)
			w.become(old)
		}, sixA, sixA},
		"moved by a record": {func(w *paper) {
			w.record("B", w.lines, "src/b.go")
		}, sixA, sixA},
		"an undo gives the line back to who wrote it": {func(w *paper) {
			before := w.lines
			w.record("B", append(before[:2:2], append(w.fileOf("B", "changed()"), before[3:]...)...), w.path)
			w.undo(1, before, "undoes")
		}, sixA, sixA},
		"a retraction": {func(w *paper) {
			before := w.lines
			w.record("B", before[:2], w.path)
			w.undo(1, before, "retracts")
		}, sixA, sixA},
		"an undo of what was done to a content from outside": {func(w *paper) {
			w.become(append(w.fileOf("", "new := zero()"), w.lines...))
			before := w.lines
			w.record("B", before[:3], w.path)
			w.undo(1, before, "undoes")
		}, "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted", ""},
		"an undo that merges": {func(w *paper) {
			before := w.lines
			w.record("B", append(before[:2:2], before[4:]...), w.path)
			w.record("C", append(w.lines, w.fileOf("C", "golf := seventh()")...), w.path)
			w.undo(1, append(before[:6:6], w.lines[4:]...), "undoes")
		}, "A:exact A:exact A:exact A:exact A:exact A:exact C:exact", ""},
		"an undo of nothing that is known": {func(w *paper) {
			w.undo(0, append(w.lines, w.fileOf("UNDO", "golf := seventh()")...), "undoes")
			w.records.entries[1].Detail["undoes"] = []any{"no such record", 7, nil}
		}, "A:exact A:exact A:exact A:exact A:exact A:exact UNDO:exact", ""},
		"coarse hunks": {func(w *paper) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.lines...), w.path)
			c := w.last()
			c.Coarse, c.Hunks, c.Ranges = true, [][4]int{{1, 6, 1, 7}}, []record.Range{{StartLine: 1, EndLine: 7}}
		}, "B:exact " + sixA, "B:exact B:exact B:exact B:exact B:exact B:exact B:exact"},
		"no hunks at all": {func(w *paper) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.lines...), w.path)
			w.last().Hunks, w.last().Ranges = nil, nil
		}, "B:exact " + sixA, ""},
		"the half of a move that happened": {func(w *paper) {
			w.record("B", append(w.lines, w.fileOf("B", "golf := seventh()")...), "src/b.go")
			c := w.last()
			w.records.entries[1].Kind, w.records.entries[1].Detail = record.KindRecovered, map[string]any{"partial": true}
			c.Op, c.From, c.Before.Hash, c.Before.OID = change.Created, "", "", ""
			c.Hunks = [][4]int{{0, 0, 1, 7}}
		}, "B:exact B:exact B:exact B:exact B:exact B:exact B:exact", ""},
		"each record twice": {func(w *paper) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.lines...), w.path)
			w.records.entries = append(w.records.entries, w.records.entries...)
		}, "B:exact " + sixA, "B:exact " + sixA},
		"states that come back": {func(w *paper) {
			one := w.lines
			two := append(w.fileOf("B", "new := zero()"), w.lines...)
			w.record("B", two, w.path)
			w.record("C", one, w.path)
			w.record("D", append(w.fileOf("D", "new := zero()"), one...), w.path)
		}, "D:exact " + sixA, "D:exact " + sixA},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyPaper()
			w.record("A", w.fileOf("A", sixLines...), w.path)
			c.do(w)
			check.Equal(t, answers(t, w, "all"), c.all, "contents known")
			if c.blind != "" {
				check.Equal(t, answers(t, w, "none"), c.blind, "contents not known")
			}
		})
	}
}

// Two branches changed the file; the newest record is not the one that the lines are like.
func TestMergedBranches(t *testing.T) {
	w := emptyPaper()
	w.become(w.fileOf("", "alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()"))
	base := w.lines
	w.record("A", append(w.fileOf("A", "one := branchOne()"), base...), w.path)
	w.lines = base
	w.record("B", append(base[:4:4], w.fileOf("B", "two := branchTwo()")...), w.path)
	w.become(append(append(w.fileOf("A", "one := branchOne()"), base...), w.fileOf("B", "two := branchTwo()")...))
	check.Equal(t, answers(t, w, "all"), "A:exact untracked untracked untracked untracked B:shifted")
}

func TestStory(t *testing.T) {
	w := emptyPaper()
	w.record("A", w.fileOf("A", "alpha", "bravo"), w.path)
	w.record("B", w.fileOf("B", "alpha", "charlie"), w.path)
	w.record("C", append(w.fileOf("C", "new"), w.lines...), "src/b.go")
	story := check.Value(blame.Story(context.Background(), w.path, 3, []byte(w.String()), w.records.entries, nil))(t)
	var got []string
	for _, touch := range story {
		got = append(got, touch.Record.IntentID)
		if touch.Line != 2 || touch.Path != "src/a.go" {
			t.Errorf("%s wrote %s:%d, want src/a.go:2", touch.Record.IntentID, touch.Path, touch.Line)
		}
	}
	check.That(t, strings.Join(got, " ") == "B A", "the story is %v, want B before A", got)
}

func TestFileErrors(t *testing.T) {
	if _, err := blame.File(context.Background(), "a", []byte{0, 1, 2, 0}, nil, nil); !errors.Is(err, workspace.ErrBinary) {
		t.Errorf("a binary file: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := blame.File(ended, "a", []byte("x\n"), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
