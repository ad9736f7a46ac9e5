package blame_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

var sixLines = []string{"alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()", "echo := fifth()", "foxtrot := sixth()"}

// last is the change that was recorded last.
func (w *world) last() *record.Change { return &w.entries[len(w.entries)-1].Changes[0] }

// undo takes a record back, as the server does: another record, by a person.
func (w *world) undo(undone int, next simFile, key string) {
	w.record("UNDO", next, w.path)
	e := &w.entries[len(w.entries)-1]
	e.Call, e.Contributor = "undo", record.Contributor{Type: record.ContributorHuman}
	e.Detail = map[string]any{key: []any{w.entries[undone].ID}}
	if key == "retracts" {
		e.Kind, e.Detail[key] = record.KindRecovered, w.entries[undone].ID
	}
}

func TestRecordForms(t *testing.T) {
	cases := map[string]struct {
		do         func(w *world)
		all, blind string // with all contents known, and with none
	}{
		"an undo gives the line back to who wrote it": {func(w *world) {
			before := w.file
			w.record("B", append(before[:2:2], append(w.fileOf("B", "changed()"), before[3:]...)...), w.path)
			w.undo(1, before, "undoes")
		}, "A:exact A:exact A:exact A:exact A:exact A:exact", "A:exact A:exact A:exact A:exact A:exact A:exact"},
		"a retraction": {func(w *world) {
			before := w.file
			w.record("B", before[:2], w.path)
			w.undo(1, before, "retracts")
		}, "A:exact A:exact A:exact A:exact A:exact A:exact", "A:exact A:exact A:exact A:exact A:exact A:exact"},
		"an undo of what was done to a content from outside": {func(w *world) {
			w.outside(append(w.fileOf("", "new := zero()"), w.file...))
			before := w.file
			w.record("B", before[:3], w.path)
			w.undo(1, before, "undoes")
		}, "untracked A:shifted A:shifted A:shifted A:shifted A:shifted A:shifted", ""},
		"an undo that merges": {func(w *world) {
			before := w.file
			w.record("B", append(before[:2:2], before[4:]...), w.path)
			w.record("C", append(w.file, w.fileOf("C", "golf := seventh()")...), w.path)
			w.undo(1, append(before[:6:6], w.file[4:]...), "undoes")
		}, "A:exact A:exact A:exact A:exact A:exact A:exact C:exact", ""},
		"an undo of nothing that is known": {func(w *world) {
			w.undo(0, append(w.file, w.fileOf("UNDO", "golf := seventh()")...), "undoes")
			w.entries[1].Detail["undoes"] = []any{"no such record", 7, nil}
		}, "A:exact A:exact A:exact A:exact A:exact A:exact UNDO:exact", ""},
		"coarse hunks": {func(w *world) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.file...), w.path)
			c := w.last()
			c.Coarse, c.Hunks, c.Ranges = true, [][4]int{{1, 6, 1, 7}}, []record.Range{{StartLine: 1, EndLine: 7}}
		}, "B:exact A:exact A:exact A:exact A:exact A:exact A:exact", "B:exact B:exact B:exact B:exact B:exact B:exact B:exact"},
		"no hunks at all": {func(w *world) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.file...), w.path)
			w.last().Hunks, w.last().Ranges = nil, nil
		}, "B:exact A:exact A:exact A:exact A:exact A:exact A:exact", ""},
		"the half of a move that happened": {func(w *world) {
			w.record("B", append(w.file, w.fileOf("B", "golf := seventh()")...), "src/b.go")
			c := w.last()
			w.entries[1].Kind, w.entries[1].Detail = record.KindRecovered, map[string]any{"partial": true}
			c.Op, c.From, c.Before.Hash, c.Before.OID = change.Created, "", "", ""
			c.Hunks = [][4]int{{0, 0, 1, 7}}
		}, "B:exact B:exact B:exact B:exact B:exact B:exact B:exact", ""},
		"each record twice": {func(w *world) {
			w.record("B", append(w.fileOf("B", "new := zero()"), w.file...), w.path)
			w.entries = append(w.entries, w.entries...)
		}, "B:exact A:exact A:exact A:exact A:exact A:exact A:exact", "B:exact A:exact A:exact A:exact A:exact A:exact A:exact"},
		"states that come back": {func(w *world) {
			one := w.file
			two := append(w.fileOf("B", "new := zero()"), w.file...)
			w.record("B", two, w.path)
			w.record("C", one, w.path)
			w.record("D", append(w.fileOf("D", "new := zero()"), one...), w.path)
		}, "D:exact A:exact A:exact A:exact A:exact A:exact A:exact", "D:exact A:exact A:exact A:exact A:exact A:exact A:exact"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld()
			w.record("A", w.fileOf("A", sixLines...), w.path)
			c.do(w)
			if got := answers(t, w, "all"); got != c.all {
				t.Errorf("contents known:\n got %s\nwant %s", got, c.all)
			}
			if got := answers(t, w, "none"); c.blind != "" && got != c.blind {
				t.Errorf("contents not known:\n got %s\nwant %s", got, c.blind)
			}
		})
	}
}

// Two machines whose clocks are hours apart work in turn. Neither the times nor the order of the records lead astray
// as long as contents or the chain tell.
func TestClocksApart(t *testing.T) {
	for _, shuffle := range []string{"", "reversed", "segments"} {
		w := emptyWorld()
		w.record("A", w.fileOf("A", sixLines...), w.path)
		for i := range 20 {
			owner := []string{"A", "B"}[i%2]
			w.record(owner, append(w.fileOf(owner, "step := number"+strings.Repeat("I", i)+"()"), w.file...), w.path)
			if e := &w.entries[len(w.entries)-1]; owner == "B" {
				e.Time = e.Time.Add(-5 * time.Hour)
			}
		}
		switch shuffle {
		case "reversed":
			slices.Reverse(w.entries)
		case "segments": // one for each machine, as in the layout sessions
			for i := range w.entries {
				w.entries[i].Segment, w.entries[i].Offset = "trace/"+w.entries[i].IntentID, int64(i)
			}
		}
		want := strings.TrimSpace(strings.Repeat("B:exact A:exact ", 10)) + strings.Repeat(" A:exact", 6)
		if got := answers(t, w, "none"); got != want {
			t.Errorf("%s: got %s", shuffle, got)
		}
	}
}

// Two branches start from one content and come to one content again.
func TestForksThatMeet(t *testing.T) {
	w := emptyWorld()
	w.record("A", w.fileOf("A", sixLines...), w.path)
	base := w.file
	w.record("B", append(w.fileOf("B", "one := branch()"), base...), w.path)
	w.record("B", append(w.file, w.fileOf("B", "two := branch()")...), w.path)
	w.file = base
	w.record("C", append(base[:6:6], w.fileOf("C", "two := branch()")...), w.path)
	w.record("C", append(w.fileOf("C", "one := branch()"), w.file...), w.path)
	if a, b := w.entries[2].Changes[0].After.Hash, w.entries[4].Changes[0].After.Hash; a != b {
		t.Fatal("the branches do not meet")
	}
	want := "C:exact" + strings.Repeat(" A:exact", 6) + " C:exact"
	if got := answers(t, w, "none"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Contents go by blob id, which is SHA-1, from a place that others may write to.
func TestContentsThatLie(t *testing.T) {
	w := emptyWorld()
	w.record("A", w.fileOf("A", sixLines...), w.path)
	w.record("B", append(w.file[:3:3], w.fileOf("B", "golf := seventh()")...), w.path)
	w.outside(append(w.fileOf("", "mallory := wrote()", "this := herself()", "and := more()"), w.file...))
	for i := range w.entries {
		w.entries[i].Changes[0].Marks = nil // with them the contents are not needed
	}
	honest := answers(t, w, "none")
	lie := func(string) ([]byte, bool) { return []byte(w.file.String()), true }
	lines := check.Value(blame.File(context.Background(), w.path, []byte(w.file.String()), w.entries, lie))(t)
	for i, l := range lines[:3] {
		if l.Record != nil {
			t.Errorf("line %d is %s's by a content that no record has", i+1, l.Record.IntentID)
		}
	}
	if got := answers(t, w, "all"); got == honest {
		t.Error("known contents make no difference here, so this proves nothing")
	}
}
