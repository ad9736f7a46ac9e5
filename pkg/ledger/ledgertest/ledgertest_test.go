package ledgertest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func workspace(t testing.TB) *os.Root {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

func TestWhatIsWrittenIsALedger(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, layout := range []ledger.Layout{ledger.LayoutSingle, ledger.LayoutSessions} {
		root := workspace(t)
		shape := ledgertest.Shape{Records: 3000, Layout: layout, Start: start, SegmentSize: 1 << 20, Seed: 7}
		check.OK(t, ledgertest.Write(context.Background(), root, shape))
		report, err := verify.Verify(context.Background(), root)
		if err != nil || report.Records != shape.Records || len(report.Problems) > 0 {
			t.Fatalf("%s: %d records, %v, %v", layout, report.Records, report.Problems, err)
		}
		last := map[string]string{}
		l := check.Value(ledger.Open(root, ledger.Options{}))(t)
		found, err := l.Query(context.Background(), record.Filter{Kinds: record.ChangeKinds()})
		check.Must(t, err == nil && len(found.Entries) >= shape.Records/2, "%s: %d changes, %v", layout, len(found.Entries), err)
		for _, e := range found.Entries {
			for _, c := range e.Changes {
				check.Equal(t, c.Before.Hash, last[c.Path], "%s: %s of %s follows the change before", layout, e.ID, c.Path)
				last[c.Path] = c.After.Hash
			}
		}
	}
}

func TestFailuresAreReported(t *testing.T) {
	root := workspace(t)
	check.OK(t, root.Mkdir(".orchestration/agent_trace.jsonl", 0o755))
	err := ledgertest.Write(context.Background(), root, ledgertest.Shape{Records: 100})
	check.That(t, err != nil, "a ledger that cannot be written is no error")
}
