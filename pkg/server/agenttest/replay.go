package agenttest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/backtest"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/policies"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// Replay judges the calls of a workspace's ledger again, each by its own policy if none is given.
func Replay(t *testing.T, dir string, policy *policies.Policy) *backtest.Report {
	t.Helper()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(t)
	defer l.Close(context.Background())
	return check.Value(backtest.Run(context.Background(), backtest.Options{
		Dir: filepath.ToSlash(dir), Ledger: l, Book: policies.Book{Root: root}, Policy: policy,
	}))(t)
}

// Reproduces holds that every decision on record comes out again under what it was made by, and that what is unknown is among
// these reasons.
func Reproduces(t *testing.T, dir string, unknown ...string) {
	t.Helper()
	r := Replay(t, dir, nil)
	check.That(t, r.Changed() == 0, "decisions come out otherwise when judged again: %+v", r.Changes)
	for _, u := range r.Unknown {
		check.That(t, slices.Contains(unknown, u.Reason), "%d decisions cannot be judged again: %s", u.Calls, u.Reason)
	}
}
