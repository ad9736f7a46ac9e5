package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// BenchmarkVerify compares the chain alone with a chain under many claims, as seals make them.
func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	check.OK(b, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(b)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{Durability: ledger.DurabilityOS, Revision: func() string { return "" }}))(b)
	defer l.Close(context.Background())
	var claims []verify.Claim
	for n := 1000; n <= 200_000; n += 1000 {
		for i := range 1000 {
			l.AppendSoon(mutation(fmt.Sprintf("INT-%03d", i%20), fmt.Sprintf("src/file%d.go", i%500)))
		}
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
