package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func benchLedger(b *testing.B, opts ledger.Options) (*ledger.Ledger, *os.Root) {
	b.Helper()
	dir := b.TempDir()
	check.OK(b, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(b)
	b.Cleanup(func() { root.Close() })
	l := check.Value(ledger.Open(root, opts))(b)
	b.Cleanup(func() { l.Close(context.Background()) })
	return l, root
}

// BenchmarkGroupCommit compares the records per second of eight callers with those of one.
func BenchmarkGroupCommit(b *testing.B) {
	l, _ := benchLedger(b, ledger.Options{})
	rate := func(callers, each int) float64 {
		start := time.Now()
		inParallel(callers, func(int) {
			for range each {
				appendOne(b, l, mutation("INT-001", "src/first"))
			}
		})
		return float64(callers*each) / time.Since(start).Seconds()
	}
	rate(1, 10)
	var one, eight float64
	for b.Loop() {
		one += rate(1, 100)
		eight += rate(8, 100)
	}
	b.ReportMetric(eight/one, "x-one")
}

// manyRecords writes a ledger with n records of 20 intents without flushing each.
func manyRecords(b *testing.B, l *ledger.Ledger, n int) {
	b.Helper()
	var next atomic.Int64
	inParallel(64, func(int) {
		for i := next.Add(1); i <= int64(n); i = next.Add(1) {
			appendOne(b, l, mutation(fmt.Sprintf("INT-%03d", i%20), fmt.Sprintf("src/file%d.go", i%500)))
		}
	})
}

// BenchmarkVerify compares the chain alone with a chain under many claims, as seals make them.
func BenchmarkVerify(b *testing.B) {
	l, root := benchLedger(b, ledger.Options{Durability: ledger.DurabilityOS, Revision: func() string { return "" }})
	var claims []verify.Claim
	for n := 1000; n <= 200_000; n += 1000 {
		manyRecords(b, l, 1000)
		at := appendOne(b, l, mutation("INT-001", "src/last"))
		claims = append(claims, verify.Claim{Heads: []string{at.Hash}, Lines: n + n/1000, Trusted: true})
	}
	for _, c := range []struct {
		name   string
		claims []verify.Claim
	}{{"chain", nil}, {"200 seals", claims}} {
		b.Run(c.name, func(b *testing.B) {
			records := 0
			for b.Loop() {
				report, _, err := verify.VerifyClaims(context.Background(), root, c.claims, nil)
				check.OK(b, err)
				if len(report.Problems) != 0 || len(c.claims) > 0 && report.Unsealed != 0 {
					b.Fatalf("%d unsealed, problems %v", report.Unsealed, report.Problems)
				}
				records += report.Records
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkVerifyArchives interleaves the check of a ledger in archives with that of the same lines in one file, and
// reports the ratio of their times.
func BenchmarkVerifyArchives(b *testing.B) {
	const n = 100_000
	l, plain := benchLedger(b, ledger.Options{Durability: ledger.DurabilityOS, SegmentSize: -1})
	manyRecords(b, l, n)
	lines := check.Value(plain.ReadFile(tracePath))(b)
	rotating, packed := benchLedger(b, ledger.Options{})
	check.OK(b, packed.WriteFile(tracePath, lines, 0o644))
	start := time.Now()
	check.OK(b, rotating.Rotate(context.Background()))
	b.ReportMetric(float64(len(lines))/1e6/time.Since(start).Seconds(), "MB/s-rotate")
	check := func(root *os.Root) time.Duration {
		start := time.Now()
		report := check.Value(verify.Verify(context.Background(), root))(b)
		check.Must(b, report.Records == n && len(report.Problems) == 0, "%d records, problems %v", report.Records, report.Problems)
		return time.Since(start)
	}
	var one, many time.Duration
	for b.Loop() {
		one += check(plain)
		many += check(packed)
	}
	b.ReportMetric(float64(many)/float64(one), "x-plain")
	b.ReportMetric(float64(n*b.N)/many.Seconds(), "records/s")
}
