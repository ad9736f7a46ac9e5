package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
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

// BenchmarkAppend interleaves appends with the bare disk work of one, a write and a flush of as many bytes, and
// reports their ratio.
func BenchmarkAppend(b *testing.B) {
	l, root := benchLedger(b, ledger.Options{Revision: func() string { return "" }})
	appendOne(b, l, mutation("INT-001", "src/first"))
	first := query(b, l, record.Filter{}).Entries[0].Raw
	bare := check.Value(root.OpenFile("bare", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))(b)
	defer bare.Close()
	line := append(first, strings.Repeat(" ", 66)+"\n"...)
	var bareTime, ledgerTime time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := bare.Write(line)
		check.OK(b, err)
		check.OK(b, ledger.FlushData(bare))
		middle := time.Now()
		appendOne(b, l, mutation("INT-001", "src/first"))
		bareTime, ledgerTime = bareTime+middle.Sub(start), ledgerTime+time.Since(middle)
	}
	b.ReportMetric(float64(ledgerTime)/float64(bareTime), "x-bare")
}

// BenchmarkAppendNoFlush is the cost of all but the disk.
func BenchmarkAppendNoFlush(b *testing.B) {
	l, _ := benchLedger(b, ledger.Options{Durability: ledger.DurabilityOS})
	for b.Loop() {
		appendOne(b, l, mutation("INT-001", "src/first"))
	}
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

func BenchmarkQueryRecent(b *testing.B) {
	l, root := benchLedger(b, ledger.Options{Durability: ledger.DurabilityOS, NewID: uuid.NewString})
	manyRecords(b, l, 100_000)
	b.Run("5 of all", func(b *testing.B) {
		for b.Loop() {
			query(b, l, record.Filter{Newest: true, Limit: 5})
		}
	})
	b.Run("5 of an intent", func(b *testing.B) {
		for b.Loop() {
			query(b, l, record.Filter{IntentID: "INT-007", Newest: true, Limit: 5})
		}
	})
	b.Run("5 of an unknown intent", func(b *testing.B) {
		for b.Loop() {
			query(b, l, record.Filter{IntentID: "INT-999", Newest: true, Limit: 5})
		}
	})
	b.Run("first append", func(b *testing.B) {
		for b.Loop() {
			fresh := check.Value(ledger.Open(root, ledger.Options{}))(b)
			appendOne(b, fresh, mutation("INT-001", "src/x"))
			check.OK(b, fresh.Close(context.Background()))
		}
	})
	b.Run("verify", func(b *testing.B) {
		records := 0
		for b.Loop() {
			report := check.Value(verify.Verify(context.Background(), root))(b)
			records += report.Records
		}
		b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
	})
}

func BenchmarkWritable(b *testing.B) {
	l, _ := benchLedger(b, ledger.Options{})
	appendOne(b, l, mutation("INT-001", "src/x"))
	for b.Loop() {
		check.OK(b, l.Writable(context.Background()))
	}
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
		if report.Records != n || len(report.Problems) != 0 {
			b.Fatalf("%d records, problems %v", report.Records, report.Problems)
		}
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
