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
	check.Write(t, dir, "a", "a\n")
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	files := check.Value(workspace.Open(dir))(t)
	defer files.Close()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	records := check.Value(ledger.Open(root, ledger.Options{}))(t)
	defer records.Close(ctx)
	hidden := check.Value(records.Append(ctx, created("INT-001", "a", "a\n")))(t)
	check.Value(records.Append(ctx, created("INT-002", "b", "b\n")))(t)

	trace := filepath.Join(dir, ".orchestration", "agent_trace.jsonl")
	honest := string(check.Value(os.ReadFile(trace))(t))
	then := time.Now().Add(-time.Minute)
	put := func(content string) {
		check.OK(t, os.WriteFile(trace, []byte(content), 0o644))
		check.OK(t, os.Chtimes(trace, then, then))
	}
	ask := func() int {
		return len(check.Value(records.Query(ctx, record.Filter{IntentID: "INT-001"}))(t).Entries)
	}
	put(strings.ReplaceAll(honest, "INT-001", "INT-009"))
	ask()
	put(honest)
	check.Must(t, ask() == 0, "the index was not deceived: this test says nothing")
	plan := check.Value(undo.Source{Files: files, Ledger: records, Largest: 1 << 20}.Plan(ctx, undo.Request{IntentID: "INT-001"}))(t)
	if len(plan.Records) != 1 || plan.Records[0] != hidden.ID || len(plan.Files) != 1 {
		t.Errorf("the plan has the records %v and %d files, conflicts %v", plan.Records, len(plan.Files), plan.Conflicts)
	}
	report := check.Value(verify.Verify(ctx, root))(t)
	check.That(t, report.Records == 2 && len(report.Problems) == 0, "%d records, problems %v", report.Records, report.Problems)
}
