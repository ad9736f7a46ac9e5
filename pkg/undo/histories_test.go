package undo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/undo"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func must(t *testing.T, err error) {
	t.Helper()
	check.OK(t, err)
}

func created(intentID, path, content string) record.Record {
	return record.Record{Kind: record.KindMutation, IntentID: intentID, Call: "write_to_file", Changes: []record.Change{{
		Change: change.Change{
			Op: change.Created, Path: path, After: change.Version{Hash: workspace.HashOf([]byte(content))}, Hunks: [][4]int{{0, 0, 1, 1}},
		},
	}}}
}

// An index that leaves a record out must not leave it out of an undo: here it was made while the record said another
// intent, and nothing that it looks at has changed since.
func TestUndoDoesNotDependOnTheIndex(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ".orchestration"), 0o755))
	files, err := workspace.Open(dir)
	must(t, err)
	defer files.Close()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	records, err := ledger.Open(root, ledger.Options{})
	must(t, err)
	defer records.Close(ctx)
	hidden, err := records.Append(ctx, created("INT-001", "a", "a\n"))
	must(t, err)
	_, err = records.Append(ctx, created("INT-002", "b", "b\n"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("a\n"), 0o644))

	trace := filepath.Join(dir, ".orchestration", "agent_trace.jsonl")
	honest, err := os.ReadFile(trace)
	must(t, err)
	then := time.Now().Add(-time.Minute)
	put := func(content string) {
		must(t, os.WriteFile(trace, []byte(content), 0o644))
		must(t, os.Chtimes(trace, then, then))
	}
	put(strings.Replace(string(honest), "INT-001", "INT-009", -1))
	ask := func() int {
		found, err := records.Query(ctx, record.Filter{IntentID: "INT-001"})
		must(t, err)
		return len(found.Entries)
	}
	ask()
	put(string(honest))
	check.Must(t, ask() == 0, "the index was not deceived: this test says nothing")
	plan, err := undo.Source{Files: files, Ledger: records, Largest: 1 << 20}.Plan(ctx, undo.Request{IntentID: "INT-001"})
	must(t, err)
	if len(plan.Records) != 1 || plan.Records[0] != hidden.ID || len(plan.Files) != 1 {
		t.Errorf("the plan has the records %v and %d files, conflicts %v", plan.Records, len(plan.Files), plan.Conflicts)
	}
	report, err := verify.Verify(ctx, root)
	must(t, err)
	check.That(t, report.Records == 2 && len(report.Problems) == 0, "%d records, problems %v", report.Records, report.Problems)
}
