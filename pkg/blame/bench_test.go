package blame_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
)

// largeWorld is a file of about 2,000 lines with 500 records on it; every gapEvery-th change is one from outside too.
func largeWorld(gapEvery int) *world {
	w := newWorld(1)
	for len(w.file) < 1900 {
		w.file = append(w.file, w.function("")...)
	}
	for i := 0; len(w.entries) < 500; i++ {
		owner := intents[i%len(intents)]
		w.record(owner, w.change(owner), w.path)
		if gapEvery > 0 && i%gapEvery == 0 {
			w.outside(w.change(""))
		}
	}
	return w
}

// BenchmarkFile blames 2,000 lines with 500 records on them; the bound is 50 ms.
func BenchmarkFile(b *testing.B) {
	for _, gapEvery := range []int{0, 50, 10} {
		w := largeWorld(gapEvery)
		now := []byte(w.file.String())
		for _, known := range []string{"all", "none"} {
			b.Run(fmt.Sprintf("%dlines/outside=%d/known=%s", len(w.file), gapEvery, known), func(b *testing.B) {
				for b.Loop() {
					if _, err := blame.File(context.Background(), w.path, now, w.entries, w.contents(known)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkWorkspace is the same from the ledger on disk, with git.
func BenchmarkWorkspace(b *testing.B) {
	r := newRepo(b, 1)
	for len(r.file) < 1900 {
		r.file = append(r.file, r.function("")...)
	}
	r.commit()
	for i := range 500 {
		owner := intents[i%len(intents)]
		r.record(owner, r.change(owner), r.path)
		if i%50 == 0 {
			r.outside(r.change(""))
			r.commit()
		}
	}
	r.save()
	check.OK(b, r.ledger.Flush(context.Background()))
	w := blame.Workspace{Root: r.root, Ledger: r.ledger}
	for b.Loop() {
		if _, err := w.File(context.Background(), r.path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(r.file)), "lines")
}
