package review_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// BenchmarkRun reviews 50 commits that change 200 files, with 100,000 records in the base.
func BenchmarkRun(b *testing.B) {
	for place, beside := range map[string]bool{"tree": false, "beside": true} {
		b.Run(place, func(b *testing.B) { benchmarkRun(b, beside) })
	}
}

func benchmarkRun(b *testing.B, beside bool) {
	ownHome(b)
	r := newRepoWith(b, "", beside)
	for i := range 100_000 {
		r.ledger.AppendSoon(record.Record{
			Kind: record.KindMutation, IntentID: "INT-001", Call: "edit_file", MutationClass: "INTENT_EVOLUTION",
			Contributor: record.Contributor{Type: "ai", ModelID: "test/model"},
			Changes: []record.Change{{
				Change: change.Change{
					Op: change.Modified, Path: fmt.Sprintf("src/f%d.txt", i%1000), Before: change.Version{Hash: fmt.Sprintf("sha256:%064x", i)}, After: change.Version{Hash: fmt.Sprintf("sha256:%064x", i+1)}, Hunks: [][4]int{{i % 100, 1, i % 100, 2}},
				},
			}},
		})
	}
	check.OK(b, r.ledger.Flush(context.Background()))
	r.named = false
	for i := range 200 {
		r.write(fmt.Sprintf("src/f%d.txt", i), lines(1, 300))
	}
	r.commit("100,000 records")
	r.git("switch", "-qc", "work")
	for commit := range 50 {
		for i := range 4 {
			path := fmt.Sprintf("src/f%d.txt", 4*commit+i)
			r.traced("INT-001", path, lines(1, 100)+"new\n"+lines(105, 300))
			r.traced("INT-001", path, lines(1, 50)+"newer\n"+lines(55, 100)+"new\n"+lines(105, 300))
			if i == 0 {
				r.write(path, lines(2, 50)+"newer\n"+lines(55, 100)+"new\nby hand\n"+lines(105, 300))
			}
		}
		r.commit("work")
	}
	b.ResetTimer()
	for b.Loop() {
		report := r.review(review.Options{})
		check.Must(b, len(report.Files) == 200 && report.Records == 400, "%d files, %d records", len(report.Files), report.Records)
		b.ReportMetric(report.Percent, "%traced")
	}
}
