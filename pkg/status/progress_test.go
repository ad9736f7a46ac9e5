package status_test

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

const intentsYAML = `active_intents:
  - {id: A, name: One, status: IN_PROGRESS, acceptance_criteria: [it works], verify: [make test, make lint, make it]}
  - {id: B, name: Long, status: DONE}
  - {id: C, name: Nothing}
`

func modified(paths ...string) record.Record {
	r := record.Record{Kind: record.KindMutation, IntentID: "A"}
	for _, path := range paths {
		r.Changes = append(r.Changes, record.Change{Change: change.Change{Op: change.Modified, Path: path}})
	}
	return r
}

func ran(line string, exitCode int) record.Record {
	return record.Record{Kind: record.KindCommand, IntentID: "A", Command: &record.Command{Command: line, ExitCode: exitCode}}
}

// The board shows what was done under an intent, and of a long history the newest part, with its beginning.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	check.Write(t, dir, ".orchestration/active_intents.yaml", intentsYAML)
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	begin := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	now := begin
	l := check.Value(ledger.Open(root, ledger.Options{Durability: ledger.DurabilityOS, Clock: func() time.Time { now = now.Add(time.Minute); return now }}))(t)
	started := ran("make lint", 0)
	started.Command.Started, started.Command.Background = true, true
	unchanged := modified("src/z")
	unchanged.Changes[0].Op = change.Unchanged
	for _, r := range []record.Record{
		{Kind: record.KindSelection, IntentID: "A"}, modified("src/a", "src/b"), ran("make test", 1), modified("src/a"), ran("make test", 0), ran("make lint", 2),
		{Kind: record.KindDecision, IntentID: "A", Decision: &record.Decision{Outcome: "refused", ErrorType: "SCOPE_VIOLATION"}},
		{Kind: record.KindDecision, IntentID: "A", Decision: &record.Decision{Outcome: "asked"}}, unchanged, started,
	} {
		check.Value(l.Append(t.Context(), r))(t)
	}
	for i := range 2050 {
		r := modified(fmt.Sprint("src/", i))
		r.IntentID = "B"
		l.AppendSoon(r)
	}
	check.OK(t, l.Flush(t.Context()))
	set := check.Value(intent.Open(root).Load())(t)
	all, err := status.ProgressOf(t.Context(), l, set, status.Counts{"A": 2}, status.Counts{"A": 1, "C": 1})
	check.Must(t, err == nil && len(all) == 3, "%v", err)
	a := all[0]
	for i := range a.Verify {
		check.That(t, (a.Verify[i].RecordID == "") == (a.Verify[i].Outcome == status.Never), "%+v", a.Verify[i])
		a.Verify[i].RecordID = ""
	}
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	want := status.Progress{
		ID: "A", Name: "One", Status: intent.InProgress, Criteria: []string{"it works"}, Changes: 2, Files: 2, Refusals: 1, Waiting: 2, Sessions: 1,
		First: a.First, Last: a.Last, Verify: []status.Verified{
			{Command: "make test", Outcome: status.Passed, At: a.Verify[0].At}, {Command: "make lint", Outcome: status.Failed, ExitCode: 2, At: a.Verify[1].At},
			{Command: "make it", Outcome: status.Never},
		},
	}
	check.That(t, reflect.DeepEqual(a, want) && a.First.After(begin) && a.Last.After(a.First) && a.Verify[0].At.After(a.Last), "%+v", a)
	b := all[1]
	check.That(t, b.Partly && b.Changes == 2000 && b.Files == 2000 && b.First.Before(at(40)) && b.Last.Equal(now), "%+v", b)
	check.That(t, all[2].Changes == 0 && all[2].Sessions == 1 && all[2].Last.IsZero(), "%+v", all[2])
	check.OK(t, l.Close(t.Context()))
	report := check.Value(verify.Verify(t.Context(), root))(t)
	check.Equal(t, len(report.Problems), 0)
}
