package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// TestReadersMissNothingWhileItRotates reads all the time while lines move from the file into archives.
func TestReadersMissNothingWhileItRotates(t *testing.T) {
	w := newWorkspace(t)
	writer := w.open(ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: smallSegment / 4})
	reader := w.open(ledger.Options{})
	var mu sync.Mutex
	var acknowledged []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; len(w.archives()) < 60 && i < 10_000; i++ {
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
	for round := 0; ; round++ {
		select {
		case <-done:
			if round < 3 {
				t.Errorf("%d rounds of reading", round)
			}
			return
		default:
		}
		mu.Lock()
		want := len(acknowledged)
		mu.Unlock()
		if report := w.verify(); report.Records < want || len(report.Problems) > 0 {
			t.Fatalf("%d records of %d, problems %+v", report.Records, want, report.Problems)
		}
		found := query(t, reader, record.Filter{Newest: true})
		if len(found.Entries) < want || len(found.Problems) > 0 {
			t.Fatalf("%d entries of %d, problems %+v", len(found.Entries), want, found.Problems)
		}
		ids := map[string]int{}
		problems, err := reader.Scan(context.Background(), func(e record.Entry) error { ids[e.ID]++; return nil })
		if err != nil || len(problems) > 0 {
			t.Fatalf("scan: %+v, %v", problems, err)
		}
		mu.Lock()
		for _, id := range acknowledged[:want] {
			if ids[id] != 1 {
				t.Fatalf("record %s was seen %d times", id, ids[id])
			}
		}
		mu.Unlock()
	}
}
