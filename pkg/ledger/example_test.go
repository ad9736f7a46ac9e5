package ledger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func Example() {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755); err != nil {
		log.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	ctx := context.Background()
	l, err := ledger.Open(root, ledger.Options{Version: "1.0.0"})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close(ctx)
	_, err = l.Append(ctx, record.Record{
		Kind: record.KindMutation, IntentID: "INT-001", Call: "write_to_file",
		Changes: []record.Change{{
			Change: change.Change{Op: change.Created, Path: "src/a.go", Hunks: [][4]int{{0, 0, 1, 3}}},
			Ranges: []record.Range{{StartLine: 1, EndLine: 3}},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	recent, err := l.Query(ctx, record.Filter{IntentID: "INT-001", Newest: true, Limit: 5})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range recent.Entries {
		fmt.Println(e.Call, e.Changes[0].Op, e.Changes[0].Path)
	}
	report, err := verify.Verify(ctx, root)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Records, "record,", len(report.Problems), "problems")
	// Output:
	// write_to_file created src/a.go
	// 1 record, 0 problems
}
