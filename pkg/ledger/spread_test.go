package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

func TestManyChangesAreSpreadOverLines(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.LimitLine(4000)
	rec := everyKind()["command"]
	for i := range 100 {
		rec.Changes = append(rec.Changes, mutation("", fmt.Sprintf("src/%d", i)).Changes...)
		rec.Violations = append(rec.Violations, record.Violation{Path: fmt.Sprintf("docs/%d", i)})
	}
	first := appendOne(t, l, rec)
	result := check.Value(l.Query(context.Background(), record.Filter{}))(t)
	var changes, violations, commands int
	for i, e := range result.Entries {
		changes, violations = changes+len(e.Changes), violations+len(e.Violations)
		if e.Command != nil {
			commands++
		}
		want := record.Part{Of: first.ID, Index: i + 1, Count: len(result.Entries)}
		if e.Part == nil || *e.Part != want || len(e.Raw) > 4100 {
			t.Errorf("line %d of %d bytes has part %+v, want %+v", i, len(e.Raw), e.Part, want)
		}
	}
	if changes != 101 || violations != 101 || commands != 1 || result.Entries[0].Hash != first.Hash {
		t.Errorf("%d changes, %d violations, %d commands", changes, violations, commands)
	}
}

func TestManyHunksAreCoarsenedAndSaySo(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	l.LimitLine(2000)
	rec := mutation("INT-001", "src/a")
	for i := range 100 {
		rec.Changes[0].Hunks = append(rec.Changes[0].Hunks, [4]int{20 + 2*i, 1, 30 + 2*i, 1})
		rec.Changes[0].Ranges = append(rec.Changes[0].Ranges, record.Range{StartLine: 30 + 2*i, EndLine: 30 + 2*i})
	}
	appendOne(t, l, rec)
	result, err := l.Query(context.Background(), record.Filter{})
	check.OK(t, err)
	got := result.Entries[0].Changes[0]
	if !got.Coarse || fmt.Sprint(got.Hunks, got.Ranges) != "[[10 209 10 219]] [{10 228 }]" {
		t.Errorf("coarse %v, hunks %v, ranges %v", got.Coarse, got.Hunks, got.Ranges)
	}
	rec = mutation("INT-001", "src/a")
	rec.Detail = map[string]any{"text": strings.Repeat("x", 3000)}
	if _, err := l.Append(context.Background(), rec); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}
