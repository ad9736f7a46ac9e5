package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// manySegments appends n records, one a minute, to a ledger of several sessions.
func manySegments(t *testing.T, w *workspace, sessions, n int) *ledger.Ledger {
	t.Helper()
	at := fixedClock()()
	l := w.open(ledger.Options{Layout: ledger.LayoutSessions, Clock: func() time.Time { return at }})
	for i := range n {
		r := mutation(fmt.Sprintf("INT-%d", i%2), fmt.Sprintf("src/%d", i))
		r.Session = fmt.Sprintf("7d4a7a0e-53f5-4d4f-9a4e-%012d", i%sessions)
		appendOne(t, l, r)
		at = at.Add(time.Minute)
	}
	return l
}

// Each gives what Query gives, in the same order.
func TestEachIsQueryWithoutHolding(t *testing.T) {
	for name, sessions := range map[string]int{"one segment": 1, "several": 7} {
		t.Run(name, func(t *testing.T) {
			l := manySegments(t, newWorkspace(t), sessions, 40)
			for _, f := range []record.Filter{
				{}, {Newest: true}, {IntentID: "INT-1"}, {IntentID: "INT-0", Newest: true}, {Path: "src/7"}, {Limit: 5, Newest: true},
				{Since: fixedClock()().Add(10 * time.Minute), Until: fixedClock()().Add(20 * time.Minute)}, {IntentID: "none"},
			} {
				var got []string
				problems, err := l.Each(t.Context(), f, func(e record.Entry) error {
					got = append(got, e.ID)
					return nil
				})
				check.OK(t, err)
				var want []string
				for _, e := range query(t, l, f).Entries {
					want = append(want, e.ID)
				}
				check.That(t, slices.Equal(got, want) && len(problems) == 0, "%+v: %d records, problems %v, want %d records", f, len(got), problems, len(want))
			}
		})
	}
}

func TestEachEndsWithTheVisitor(t *testing.T) {
	enough := errors.New("enough of it")
	for _, sessions := range []int{1, 3, 70} {
		l := manySegments(t, newWorkspace(t), sessions, 75)
		n := 0
		_, err := l.Each(t.Context(), record.Filter{Newest: true}, func(record.Entry) error {
			if n++; n == 5 {
				return enough
			}
			return nil
		})
		check.That(t, errors.Is(err, enough) && n == 5, "%d sessions: %d records, then %v", sessions, n, err)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		check.Fails(l.Each(cancelled, record.Filter{}, func(record.Entry) error { return nil }))(t, context.Canceled, "%d sessions: a cancelled query", sessions)
	}
}

func TestScanLinesParsesWhatIsWanted(t *testing.T) {
	w := newWorkspace(t)
	l := manySegments(t, w, 3, 12)
	w.problems = []ledger.ProblemKind{ledger.ProblemMalformed}
	const other = ".orchestration/trace/7d4a7a0e-53f5-4d4f-9a4e-000000000000.jsonl"
	w.write(other, w.read(other)+"garbage\n{\"of\":\"another tool\"}\n")
	var got []string
	problems, err := l.ScanLines(t.Context(), func(line []byte) bool { return bytes.Contains(line, []byte(`"src/5"`)) }, func(e record.Entry) error {
		got = append(got, string(e.Kind)+" "+strings.Join(e.Files, ","))
		return nil
	})
	check.OK(t, err)
	check.That(t, slices.Equal(got, []string{" ", "mutation src/5"}) && len(problems) == 1 && problems[0].Line == 5, "got %q, problems %v", got, problems)
}

// A query that reads from the end does not count lines; asked for, the count is right, also of lines that are long.
func TestProblemsAreNumbered(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	appendOne(t, l, mutation("INT-001", "src/a"))
	appendOne(t, l, mutation("INT-001", "src/b"))
	lines := w.lines(tracePath)
	w.write(tracePath, lines[0]+"\n<<<<<<< HEAD\r\n\n"+strings.Repeat("x", 17<<20)+"\n"+lines[1]+"\n=======\n")
	w.problems = []ledger.ProblemKind{ledger.ProblemMalformed, ledger.ProblemTooLong, ledger.ProblemMalformed}
	found := query(t, l, record.Filter{Newest: true})
	for _, p := range found.Problems {
		check.Equal(t, p.Line, 0, "the query counted")
	}
	var numbers []int
	for _, p := range l.NumberProblems(t.Context(), found.Problems) {
		numbers = append(numbers, p.Line)
	}
	check.That(t, slices.Equal(numbers, []int{6, 4, 2}), "the problems are in lines %v, want 6, 4 and 2", numbers)
	last := found.Entries[0]
	check.Equal(t, check.Value(l.LineNumber(t.Context(), last.Segment, last.Offset))(t), 5, "the line of the last record")
	_, gone := l.LineNumber(t.Context(), "trace/none.jsonl", 0)
	_, behind := l.LineNumber(t.Context(), last.Segment, 1<<40)
	check.That(t, gone != nil && behind != nil, "a segment that is not there has lines, or an offset behind the end is in one")
}

// TestReadersMissNothingWhileItRotates reads all the time while lines move from the file into archives.
func TestReadersMissNothingWhileItRotates(t *testing.T) {
	w := newWorkspace(t)
	writer := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: smallSegment})
	reader := w.open(ledger.Options{})
	var mu sync.Mutex
	var acknowledged []string
	var rounds atomic.Int64 // of reading
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; len(w.archives()) < check.Smaller(60, 30) || rounds.Load() < 3; i++ {
			at, err := writer.Append(context.Background(), mutation("INT-001", fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			acknowledged = append(acknowledged, at.ID)
			mu.Unlock()
		}
	}()
	for ; ; rounds.Add(1) {
		select {
		case <-done:
			return
		default:
		}
		mu.Lock()
		want := len(acknowledged)
		mu.Unlock()
		report := w.verify()
		check.Must(t, report.Records >= want && len(report.Problems) == 0, "%d records of %d, problems %+v", report.Records, want, report.Problems)
		found := query(t, reader, record.Filter{Newest: true})
		check.Must(t, len(found.Entries) >= want && len(found.Problems) == 0, "%d entries of %d, problems %+v", len(found.Entries), want, found.Problems)
		ids := map[string]int{}
		problems, err := reader.Scan(context.Background(), func(e record.Entry) error { ids[e.ID]++; return nil })
		check.Must(t, err == nil && len(problems) == 0, "scan: %+v, %v", problems, err)
		mu.Lock()
		for _, id := range acknowledged[:want] {
			check.Equal(t, ids[id], 1, "how often record %s was seen", id)
		}
		mu.Unlock()
	}
}
