package ledger_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func Example() {
	dir := must(os.MkdirTemp("", "workspace"))
	defer os.RemoveAll(dir)
	root := must(os.OpenRoot(dir))
	defer root.Close()
	if err := root.Mkdir(".orchestration", 0o755); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	l := must(ledger.Open(root, ledger.Options{Version: "1.0.0"}))
	defer l.Close(ctx)
	must(l.Append(ctx, record.Record{
		Kind: record.KindMutation, IntentID: "INT-001", Call: "write_to_file",
		Changes: []record.Change{{
			Change: change.Change{Op: change.Created, Path: "src/a.go", Hunks: [][4]int{{0, 0, 1, 3}}},
			Ranges: []record.Range{{StartLine: 1, EndLine: 3}},
		}},
	}))
	recent := must(l.Query(ctx, record.Filter{IntentID: "INT-001", Newest: true, Limit: 5}))
	for _, e := range recent.Entries {
		fmt.Println(e.Call, e.Changes[0].Op, e.Changes[0].Path)
	}
	report := must(verify.Verify(ctx, root))
	fmt.Println(report.Records, "record,", len(report.Problems), "problems")
	// Output:
	// write_to_file created src/a.go
	// 1 record, 0 problems
}
