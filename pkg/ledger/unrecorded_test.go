package ledger_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// What a record says has no record is a problem until somebody has put his name
// to a ledger that lacks it.
func TestUnrecordedIsAProblem(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	lookalike := mutation("INT-001", "a")
	lookalike.Detail = map[string]any{"reason": `{"gap":{"calls":9}}`, "gap": map[string]any{"calls": 9}}
	appendOne(t, l, lookalike)
	told := appendOne(t, l, record.Record{Kind: record.KindRecovered, Detail: map[string]any{
		"gap": map[string]any{"calls": 2, "decisions": 1, "since": "2026-02-18T18:30:00Z", "until": "2026-02-18T18:31:00Z"},
	}})
	appendOne(t, l, mutation("INT-001", "b"))
	w.problems = []ledger.ProblemKind{ledger.ProblemUnrecorded}
	for _, claim := range []verify.Claim{{}, {Heads: []string{told.Hash}, Lines: 2}, {Heads: []string{told.Hash}, Lines: 2, Trusted: true}} {
		report, _, err := verify.VerifyClaims(context.Background(), w.root, []verify.Claim{claim}, nil)
		check.OK(t, err)
		if claim.Trusted {
			if len(report.Problems) > 0 {
				t.Errorf("sealed, and still a problem: %+v", report.Problems)
			}
			continue
		}
		if p := report.Problems; len(p) != 1 || p[0].Record != told.ID || p[0].Line != 2 || !strings.Contains(p[0].Detail, "2 calls and 1 decisions") {
			t.Errorf("verify says %+v", p)
		}
	}
}

// A record that no answer waits for is not lost without a word.
func TestLostRecordsAreTold(t *testing.T) {
	w := newWorkspace(t)
	lost := make(chan string, 10)
	l := w.open(ledger.Options{Lost: func(id string) { lost <- id }})
	l.AppendSoon(record.Record{Kind: record.KindDecision, Decision: &record.Decision{Outcome: "refused", Reason: strings.Repeat("x", 9<<20)}})
	<-lost
	l.AppendSoon(record.Record{Kind: "no kind"})
	<-lost
	l.AppendSoon(record.Record{Kind: record.KindRead, Call: "one"})
	check.OK(t, l.Flush(context.Background()))
	check.OK(t, os.Rename(w.path(tracePath), w.path("aside")))
	check.OK(t, os.Mkdir(w.path(tracePath), 0o755))
	l.AppendSoon(record.Record{Kind: record.KindRead, Call: "two"})
	if id := <-lost; id == "" {
		t.Error("a lost record that had an id is told of without it")
	}
	if len(lost) > 0 {
		t.Errorf("told of %d more", len(lost))
	}
	check.OK(t, os.Remove(w.path(tracePath)))
	check.OK(t, os.Rename(w.path("aside"), w.path(tracePath)))
}
