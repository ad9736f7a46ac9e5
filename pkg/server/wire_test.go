package server_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// callLine is a tools/call with its arguments as they are.
func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// Numbers at the edge of what can be held are numbers. pkg/tools has the whole table of arguments.
func TestNumbersAtTheEdge(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t)).under("INT-001")
	b.ok("read_file", args{"path": "src/a.txt", "limit": math.MaxInt64})
	b.refused("INVALID_ARGUMENTS", "read_file", args{"path": "src/a.txt", "offset": math.MaxInt64})
	b.refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": "x", "offset": math.MaxInt64, "limit": math.MaxInt64})
	b.refused("DIFF_NOT_APPLIED", "edit_file", args{"path": "src/a.txt", "old_string": "one", "new_string": "1", "expected_replacements": math.MaxInt64})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "file_path": "docs/x", "content": "x"})
}

// The way of an agent that does everything right, in both eras.
func TestHappyPath(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) { happyPath(t, era) })
	}
}

func happyPath(t *testing.T, era string) {
	dir := newWorkspace(t)
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	b := start(t, dir, func(o *server.Options) { o.Settings.Durability = settings.Full }).connectAs(era)
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/new.txt", "content": "x\n"})

	session := b.selects("INT-001")
	read := b.ok("read_file", args{"path": "src/a.txt", "session": session})
	check.That(t, read.str("content") == "one\ntwo\nthree\n" && strings.Contains(read.Text, "2 | two"), "read: %v\n%s", read.Object, read.Text)
	edited := b.ok("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	check.Equal(t, b.read("src/a.txt"), "one\n2\nthree\n", "file is")
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "session": session, "expected_content_hash": edited.str("content_hash")})
	b.ok("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	check.That(t, b.read("src/moved.txt") == "whole again\n" && b.read("src/b/new.txt") == "hello\n", "the patch did not do what it says")
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Delete File: src/b/new.txt\n*** End Patch"})
	ran := b.ok("execute_command", args{"session": session, "command": "echo out; exit 3"})
	check.That(t, ran.Object["exit_code"] == 3.0 && strings.Contains(ran.str("output"), "out"), "command: %v", ran.Object)
	b.ok("read_command_output", args{"artifact_id": ran.str("artifact_id")})
	b.wantRecord(`"kind":"mutation"`, `"call":"apply_patch"`, `"op":"moved"`)
	b.wantRecord(`"kind":"mutation"`, `"revision":"`+strings.TrimSpace(check.Git(t, dir, "rev-parse", "HEAD"))+`"`)
	b.wantRecord(`"kind":"command"`, `"exit_code":3`)
	b.wantRecord(`"kind":"decision"`, "MISSING_OR_INVALID_INTENT")
	b.wantRecord(`"kind":"selection"`, "INT-001")
	trace := b.ok("query_trace", args{"path": "src/moved.txt"})
	records := trace.Object["records"].([]any)
	check.That(t, len(records) != 0, "query_trace knows nothing of the file")
	b.eventually("the intent map tells of the change", func() bool {
		return b.exists(".orchestration/intent_map.md") && strings.Contains(b.read(".orchestration/intent_map.md"), "`src/moved.txt`")
	})
	m := b.read(".orchestration/intent_map.md")
	check.That(t, strings.Contains(m, "## INT-001: Build Weather API") && strings.Contains(m, "`src/moved.txt`"), "intent map:\n%s", m)
}
