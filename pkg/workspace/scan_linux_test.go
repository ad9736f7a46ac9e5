package workspace_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// However a scan ends, it leaves nothing open.
func TestScanLeavesNothingOpen(t *testing.T) {
	w := forest(t)
	top := top(t, w)
	open := func() int { return len(check.Value(os.ReadDir("/proc/self/fd"))(t)) }
	before := open()
	ctx, cancel := context.WithCancel(context.Background())
	for name, scan := range map[string]workspace.Scan{
		"to its end": {Visitor: func() func(workspace.Entry) { return func(workspace.Entry) {} }},
		"early":      {Visitor: func() func(workspace.Entry) { return func(workspace.Entry) {} }, Past: func(path string) bool { return path > "d3" }},
		"given up": {Visitor: func() func(workspace.Entry) {
			return func(e workspace.Entry) {
				if strings.HasPrefix(e.Path, "d2") {
					cancel()
				}
			}
		}},
	} {
		_ = top.Scan(ctx, scan)
		check.Equal(t, open(), before, "%s", name)
	}
	_ = top.Scan(ctx, workspace.Scan{Visitor: func() func(workspace.Entry) { return func(workspace.Entry) {} }})
	check.Equal(t, open(), before, "before it began")
}
