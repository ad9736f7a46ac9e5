package apps_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/apps"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// However much there is, a view stays small, and says what it leaves out. A text that is made visible is longer than it was.
func TestViewsAreBounded(t *testing.T) {
	t.Parallel()
	hidden := strings.Repeat("\u202e", 1000)
	lines := make([]blame.Line, 3000)
	var intents, hunks strings.Builder
	intents.WriteString("active_intents:\n")
	for i := range lines {
		lines[i] = blame.Line{Number: i + 1, Text: "short", Confidence: blame.Untracked}
		fmt.Fprintf(&hunks, "+%s\n", hidden)
		if i < 300 {
			fmt.Fprintf(&intents, "  - {id: I-%d, name: %q, owned_scope: [a]}\n", i, hidden[:900])
		}
	}
	dir := t.TempDir()
	check.Write(t, dir, ".orchestration/active_intents.yaml", intents.String())
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	set := check.Value(intent.Open(root).Load())(t)
	long := make([]blame.Line, 1000)
	for i := range long {
		long[i] = blame.Line{Number: i + 1, Text: hidden, Confidence: blame.Untracked}
	}
	for name, c := range map[string]struct {
		view *apps.View
		more string
	}{
		"many lines": {apps.Blame("x", lines), "1000 more lines: orchestra-mcp blame FILE"},
		"long lines": {apps.Blame("x", long), "946 more lines"},
		"intents":    {apps.Board(set, "I-0", nil), "228 more intents: orchestra-mcp intents list"},
		"a diff": {apps.Approval(approval.Request{Tool: "write_to_file", Diffs: []approval.FileDiff{{Path: "x", Hunks: hunks.String(), Size: 2 * hunks.Len(), Lines: 6000}}}),
			"of 3001 lines of the diff are not shown here; 9006000 more bytes of this change are not shown (6000 lines"},
	} {
		encoded := check.Value(json.Marshal(c.view))(t)
		check.That(t, len(encoded) <= 400<<10 && strings.Contains(c.view.More, c.more), "%s: %d bytes, more: %q", name, len(encoded), c.view.More)
	}
}
