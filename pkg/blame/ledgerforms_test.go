package blame_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

var sixLines = []string{"alpha := first()", "bravo := second()", "charlie := third()", "delta := fourth()", "echo := fifth()", "foxtrot := sixth()"}

// last is the change that was recorded last.
func (w *paper) last() *record.Change { return &w.records.entries[len(w.records.entries)-1].Changes[0] }

// undo takes a record back, as the server does: another record, by a person.
func (w *paper) undo(undone int, next simFile, key string) {
	w.record("UNDO", next, w.path)
	e := &w.records.entries[len(w.records.entries)-1]
	e.Call, e.Contributor = "undo", record.Contributor{Type: record.ContributorHuman}
	e.Detail = map[string]any{key: []any{w.records.entries[undone].ID}}
	if key == "retracts" {
		e.Kind, e.Detail[key] = record.KindRecovered, w.records.entries[undone].ID
	}
}

// Two machines whose clocks are hours apart work in turn. Neither the times nor the order of the records lead astray
// as long as contents or the chain tell.
func TestClocksApart(t *testing.T) {
	for _, shuffle := range []string{"", "reversed", "segments"} {
		w := emptyPaper()
		w.record("A", w.fileOf("A", sixLines...), w.path)
		for i := range 20 {
			owner := []string{"A", "B"}[i%2]
			w.record(owner, append(w.fileOf(owner, "step := number"+strings.Repeat("I", i)+"()"), w.lines...), w.path)
			if e := &w.records.entries[len(w.records.entries)-1]; owner == "B" {
				e.Time = e.Time.Add(-5 * time.Hour)
			}
		}
		switch shuffle {
		case "reversed":
			slices.Reverse(w.records.entries)
		case "segments": // one for each machine, as in the layout sessions
			for i := range w.records.entries {
				w.records.entries[i].Segment, w.records.entries[i].Offset = "trace/"+w.records.entries[i].IntentID, int64(i)
			}
		}
		want := strings.TrimSpace(strings.Repeat("B:exact A:exact ", 10)) + strings.Repeat(" A:exact", 6)
		check.Equal(t, answers(t, w, "none"), want, "%s", shuffle)
	}
}

// Two branches start from one content and come to one content again.
func TestForksThatMeet(t *testing.T) {
	w := emptyPaper()
	w.record("A", w.fileOf("A", sixLines...), w.path)
	base := w.lines
	w.record("B", append(w.fileOf("B", "one := branch()"), base...), w.path)
	w.record("B", append(w.lines, w.fileOf("B", "two := branch()")...), w.path)
	w.lines = base
	w.record("C", append(base[:6:6], w.fileOf("C", "two := branch()")...), w.path)
	w.record("C", append(w.fileOf("C", "one := branch()"), w.lines...), w.path)
	a, b := w.records.entries[2].Changes[0].After.Hash, w.records.entries[4].Changes[0].After.Hash
	check.Must(t, a == b, "the branches do not meet")
	want := "C:exact" + strings.Repeat(" A:exact", 6) + " C:exact"
	check.Equal(t, answers(t, w, "none"), want)
}

// Contents go by blob id, which is SHA-1, from a place that others may write to.
func TestContentsThatLie(t *testing.T) {
	w := emptyPaper()
	w.record("A", w.fileOf("A", sixLines...), w.path)
	w.record("B", append(w.lines[:3:3], w.fileOf("B", "golf := seventh()")...), w.path)
	w.become(append(w.fileOf("", "mallory := wrote()", "this := herself()", "and := more()"), w.lines...))
	for i := range w.records.entries {
		w.records.entries[i].Changes[0].Marks = nil // with them the contents are not needed
	}
	honest := answers(t, w, "none")
	lie := func(string) ([]byte, bool) { return []byte(w.String()), true }
	for i, l := range w.blame(t, lie)[:3] {
		check.That(t, l.Record == nil, "line %d is somebody's by a content that no record has: %+v", i+1, l.Record)
	}
	got := answers(t, w, "all")
	check.That(t, got != honest, "known contents make no difference here, so this proves nothing")
}
