package blame_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
)

// largePaper is a file of about 2,000 lines with 500 records on it; every gapEvery-th change is one from outside too.
func largePaper(p *paper, gapEvery int, outside func()) {
	for len(p.lines) < 1900 {
		p.lines = append(p.lines, p.chunk(100, "")...)
	}
	for i := range 500 {
		owner := intents[i%len(intents)]
		from, to := p.span(p.lines, 4)
		p.record(owner, put(p.lines, from, to, p.chunk(1+p.rand.IntN(4), owner)), p.path)
		if gapEvery > 0 && i%gapEvery == 0 {
			from, to = p.span(p.lines, 4)
			p.become(put(p.lines, from, to, p.chunk(1+p.rand.IntN(4), "")))
			outside()
		}
	}
}

// BenchmarkFile blames 2,000 lines with 500 records on them; the bound is 50 ms.
func BenchmarkFile(b *testing.B) {
	for _, gapEvery := range []int{0, 50, 10} {
		p := heldOutRun(1, 0, texts(b))
		largePaper(p, gapEvery, func() {})
		for _, known := range []string{"all", "none"} {
			b.Run(fmt.Sprintf("%dlines/outside=%d/known=%s", len(p.lines), gapEvery, known), func(b *testing.B) {
				for b.Loop() {
					p.blame(b, p.records.contents(known))
				}
			})
		}
	}
}

// BenchmarkWorkspace is the same from the ledger on disk, with git.
func BenchmarkWorkspace(b *testing.B) {
	p := newProject(b, 1, texts(b))
	f := p.papers[0]
	largePaper(f, 50, p.commitAll)
	p.write()
	check.OK(b, p.ledger.Flush(context.Background()))
	w := blame.Workspace{Root: p.root, Ledger: p.ledger}
	for b.Loop() {
		check.Value(w.File(context.Background(), f.path))(b)
	}
	b.ReportMetric(float64(len(f.lines)), "lines")
}
