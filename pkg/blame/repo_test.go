package blame_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// repo is a git repository with a real ledger.
type repo struct {
	t      testing.TB
	dir    string
	root   *os.Root
	ledger *ledger.Ledger
	clock  time.Time
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := &repo{t: t, dir: t.TempDir(), clock: time.Date(2026, 2, 18, 18, 31, 0, 0, time.UTC)}
	check.OK(t, os.MkdirAll(filepath.Join(r.dir, ".orchestration"), 0o755))
	r.root = check.Value(os.OpenRoot(r.dir))(t)
	r.ledger = check.Value(ledger.Open(r.root, ledger.Options{Clock: func() time.Time { return r.clock }, Durability: ledger.DurabilityOS}))(t)
	t.Cleanup(func() {
		check.OK(t, r.ledger.Close(context.Background()))
		report := check.Value(verify.Verify(context.Background(), r.root))(t)
		check.That(t, len(report.Problems) == 0, "the ledger ends with %v", report.Problems)
		r.root.Close()
	})
	r.git("init", "-q")
	check.Write(t, r.dir, ".git/info/exclude", ".orchestration\n")
	check.Write(t, r.dir, "src/first.go", "package first\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "work")
	return r
}

func (r *repo) try(args ...string) (string, error) { return check.GitAt(r.dir, r.clock, args...) }

func (r *repo) git(args ...string) string {
	r.t.Helper()
	return check.Value(r.try(args...))(r.t)
}
