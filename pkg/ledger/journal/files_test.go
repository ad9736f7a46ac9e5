package journal_test

import (
	"encoding/json"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// TestFilesAsEarlierVersionsWroteThem: what a server of an earlier version had in flight when it died is read, and what this
// one writes is the same text.
func TestFilesAsEarlierVersionsWroteThem(t *testing.T) {
	for op, text := range map[change.Op]string{
		change.Created: `[{"op":"create","path":"a","after":"sha256:1","temp":"t"}]`,
		change.Deleted: `[{"op":"delete","path":"a","before":"sha256:1","temp":"t"}]`,
		change.Moved:   `[{"op":"move","path":"b","from":"a","before":"sha256:1","after":"sha256:2","temp":"t","gone":"g"}]`,
		change.Modified: `[{"op":"modify","path":"a","before":"sha256:1","after":"sha256:1","before_mode":420,"after_mode":493,"temp":"t"},` +
			`{"op":"modify","path":"b","before":"sha256:1","after":"sha256:2","after_mode":8389101,"temp":"u"}]`,
	} {
		var files journal.Files
		check.OK(t, json.Unmarshal([]byte(text), &files))
		for _, f := range files {
			if f.Op != op || (f.Op == change.Modified) != (f.After.Mode != "") {
				t.Errorf("%s is read as %+v", text, f)
			}
		}
		if back, err := json.Marshal(files); err != nil || string(back) != text {
			t.Errorf("%s is written as %s, %v", text, back, err)
		}
	}
}
