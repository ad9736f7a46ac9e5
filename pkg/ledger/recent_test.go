package ledger_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func idsOf(entries []record.Entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// writeRotated writes a ledger of which much is in archives.
func (w *workspace) writeRotated(records int, layout ledger.Layout) {
	w.t.Helper()
	shape := ledgertest.Shape{Records: records, Intents: 4, Sessions: 12, Layout: layout, Seed: 3, SegmentSize: 60_000}
	check.OK(w.t, ledgertest.Write(w.t.Context(), w.root, shape))
	for range 4 {
		check.OK(w.t, w.open(ledger.Options{SegmentSize: shape.SegmentSize}).Rotate(w.t.Context()))
	}
}

// TestRecentReadsBackFromTheEnd without an index: it gives what the query gives that has one, as far as the bytes go, and
// says where others may be missing.
func TestRecentReadsBackFromTheEnd(t *testing.T) {
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		t.Run(string(layout), func(t *testing.T) {
			w := newWorkspace(t)
			w.writeRotated(600, layout)
			l := w.open(ledger.Options{})
			rare := appendOne(t, l, mutation("INT-777", "src/rare.go"))
			for i := range 40 {
				appendOne(t, l, mutation("INT-888", fmt.Sprintf("src/%d.go", i)))
			}
			asked := w.open(ledger.Options{})
			for _, intent := range []string{ledgertest.Intent(0), "INT-777", "INT-888", "INT-999"} {
				f := record.Filter{IntentID: intent, Kinds: record.ChangeKinds(), Limit: 5, Newest: true}
				want := check.Value(asked.Query(t.Context(), f))(t).Entries
				got, whole, err := l.RecentWithin(t.Context(), f, 1<<30)
				check.OK(t, err)
				check.That(t, whole, "%s: all was read", intent)
				check.Equal(t, fmt.Sprint(idsOf(got.Entries)), fmt.Sprint(idsOf(want)), intent)
				check.That(t, (len(want) > 0) == (intent != "INT-999"), "%s: %d records", intent, len(want))
				got, whole, err = l.RecentWithin(t.Context(), f, 10_000)
				check.OK(t, err)
				check.That(t, whole == (len(got.Entries) == 5), "%s: %d of the last lines, and whole is %v", intent, len(got.Entries), whole)
			}
			got, _, err := l.RecentWithin(t.Context(), record.Filter{IntentID: "INT-777", Limit: 5}, 10_000)
			check.OK(t, err)
			check.That(t, len(got.Entries) == 0, "%s stands further back", rare.ID)
		})
	}
}

// TestRecentHasTheIndexMade behind its answer: the next ones are those of a query.
func TestRecentHasTheIndexMade(t *testing.T) {
	w := newWorkspace(t)
	w.writeRotated(300, ledger.LayoutSingle)
	l := w.open(ledger.Options{})
	f := record.Filter{IntentID: ledgertest.Intent(1), Kinds: record.ChangeKinds(), Limit: 5, Newest: true}
	_, _, err := l.Recent(t.Context(), f)
	check.OK(t, err)
	<-l.Prepared()
	files := check.Value(os.ReadDir(w.path(indexPath)))(t)
	check.That(t, len(files) > 0, "there is no index")
	want := check.Value(l.Query(t.Context(), f))(t).Entries
	got, whole, err := l.Recent(t.Context(), f)
	check.OK(t, err)
	check.That(t, whole, "the index stands")
	check.Equal(t, fmt.Sprint(idsOf(got.Entries)), fmt.Sprint(idsOf(want)))
}

// TestCloseEndsTheMakingOfTheIndex, and nothing begins it again.
func TestCloseEndsTheMakingOfTheIndex(t *testing.T) {
	w := newWorkspace(t)
	w.writeRotated(300, ledger.LayoutSingle)
	f := record.Filter{IntentID: ledgertest.Intent(1), Limit: 5}
	l := w.open(ledger.Options{})
	_, _, err := l.Recent(t.Context(), f)
	check.OK(t, err)
	check.OK(t, l.Close(context.Background()))
	<-l.Prepared()
	late := w.open(ledger.Options{})
	check.OK(t, late.Close(context.Background()))
	got, _, err := late.Recent(t.Context(), f)
	check.OK(t, err)
	check.That(t, len(got.Entries) == 5, "got %d", len(got.Entries))
}
