package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// TestLost: what the ledger had and has no more is found, and what only stands elsewhere in it is not.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *workspace, l *ledger.Ledger, lines []string)
		lost bool
	}{
		{"nothing", func(*workspace, *ledger.Ledger, []string) {}, false},
		{"an append", func(w *workspace, l *ledger.Ledger, _ []string) { appendOne(w.t, l, mutation("INT-001", "c")) }, false},
		{"the same lines in another order, in another file", func(w *workspace, _ *ledger.Ledger, lines []string) {
			check.OK(w.t, os.Remove(w.path(tracePath)))
			w.write(tracePath, lines[1]+"\n"+lines[0]+"\n")
		}, false},
		{"the lines in the other layout", func(w *workspace, _ *ledger.Ledger, lines []string) {
			w.write(".orchestration/trace/"+session+".jsonl", strings.Join(lines, "\n")+"\n")
			check.OK(w.t, os.Remove(w.path(tracePath)))
		}, false},
		{"the file is gone", func(w *workspace, _ *ledger.Ledger, _ []string) { check.OK(w.t, os.Remove(w.path(tracePath))) }, true},
		{"the file is empty", func(w *workspace, _ *ledger.Ledger, _ []string) { check.OK(w.t, os.Truncate(w.path(tracePath), 0)) }, true},
		{"the last line is gone", func(w *workspace, _ *ledger.Ledger, lines []string) { w.write(tracePath, lines[0]+"\n") }, true},
		{"the last line is another", func(w *workspace, _ *ledger.Ledger, lines []string) {
			w.write(tracePath, lines[0]+"\n"+strings.Replace(lines[1], "INT-001", "INT-002", 1)+"\n")
		}, true},
		{"all of .orchestration is gone", func(w *workspace, _ *ledger.Ledger, _ []string) {
			check.OK(w.t, os.RemoveAll(w.path(".orchestration")))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			l := w.open(ledger.Options{})
			appendOne(t, l, mutation("INT-001", "a"))
			appendOne(t, l, mutation("INT-001", "b"))
			lines, ctx := w.lines(tracePath), context.Background()
			mark := check.Value(l.Mark(ctx))(t)
			c.do(w, l, lines)
			loss := check.Value(mark.Lost(ctx, nil))(t)
			check.Must(t, (loss != nil) == c.lost, "lost: %v", loss)
			if loss == nil {
				return
			}
			check.OK(t, os.MkdirAll(w.path(".orchestration"), 0o755))
			check.That(t, !loss.Back(ctx), "it is said to be back")
			// The next record follows what is gone: the chain does not begin anew.
			loss.Follow()
			appendOne(t, l, mutation("INT-001", "c"))
			appendOne(t, l, mutation("INT-001", "d"))
			if report := w.verify(); len(report.Problems) == 0 || report.Problems[0].Kind != ledger.ProblemMissing {
				t.Errorf("verify finds %+v", report.Problems)
			}
			var back []mend.Line
			for _, line := range lines {
				back = append(back, mend.Line{Segment: "agent_trace.jsonl", Data: []byte(line)})
			}
			check.OK(t, mend.PutBack(ctx, w.root, back))
			check.That(t, loss.Back(ctx), "it is not said to be back: %s", loss)
		})
	}
}

// TestOnAnotherBranch: lines that git has on a branch are not lost.
func TestOnAnotherBranch(t *testing.T) {
	w := newWorkspace(t)
	l, ctx := w.open(ledger.Options{}), context.Background()
	appendOne(t, l, mutation("INT-001", "a"))
	appendOne(t, l, mutation("INT-001", "b"))
	lines := w.lines(tracePath)
	mark := check.Value(l.Mark(ctx))(t)
	w.write(tracePath, lines[0]+"\n")
	elsewhere := func(has string) verify.Elsewhere {
		return func(_ context.Context, visit func([]byte, string) error) error { return visit([]byte(has), "branch x") }
	}
	if loss, err := mark.Lost(ctx, elsewhere(lines[0])); err != nil || loss == nil {
		t.Errorf("%v, %v", loss, err)
	}
	if loss, err := mark.Lost(ctx, elsewhere(lines[1])); err != nil || loss != nil {
		t.Errorf("%v, %v", loss, err)
	}
}

// TestALostArchive is found by its name.
func TestALostArchive(t *testing.T) {
	w := newWorkspace(t)
	appendMany(t, w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1}), 300, "src")
	l, ctx := w.open(ledger.Options{SegmentSize: smallSegment}), context.Background()
	check.OK(t, l.Rotate(ctx))
	names := w.archives()
	check.Must(t, len(names) != 0, "there is no archive")
	mark := check.Value(l.Mark(ctx))(t)
	aside := w.path("aside")
	check.OK(t, os.Rename(names[0], aside))
	loss := check.Value(mark.Lost(ctx, nil))(t)
	check.Must(t, loss != nil && strings.Contains(loss.String(), filepath.Base(names[0])), "%v", loss)
	check.OK(t, os.Rename(aside, names[0]))
	check.That(t, loss.Back(ctx), "%s", loss)
}

// TestNoBranchHasWhatStandsBeside: a commit from before the move has the lines too, and they are lost all the same where they
// stood; the same with the whole place.
func TestNoBranchHasWhatStandsBeside(t *testing.T) {
	for _, name := range []string{"the file", "the place"} {
		w, l := besideWorkspace(t)
		ctx, at := context.Background(), locate.Beside(w.dir)
		appendOne(t, l, mutation("INT-001", "a"))
		mark := check.Value(l.Mark(ctx))(t)
		lines, gone := w.lines(tracePath), filepath.Join(at, tracePath)
		if name == "the place" {
			gone = at
		}
		check.OK(t, os.Rename(gone, gone+".aside"))
		loss, err := mark.Lost(ctx, func(_ context.Context, visit func([]byte, string) error) error {
			return visit([]byte(lines[0]), "branch x")
		})
		check.OK(t, err)
		check.Must(t, loss != nil && !loss.Back(ctx), "%s: lost: %v", name, loss)
		check.OK(t, os.Rename(gone+".aside", gone))
		check.That(t, loss.Back(ctx), "%s: it is not said to be back: %s", name, loss)
		appendOne(t, l, mutation("INT-001", "b"))
		w.wantRecords(2)
	}
}
