package server_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// The way of an agent that does everything right, in both eras.
func TestHappyPath(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) { happyPath(t, era) })
	}
}

func happyPath(t *testing.T, era string) {
	dir := newWorkspace(t)
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	b := start(t, dir, func(o *server.Options) { o.Settings.Durability = settings.Full }).connectAs(era)
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/new.txt", "content": "x\n"})

	session := b.selects("INT-001")
	read := b.ok("read_file", args{"path": "src/a.txt", "session": session})
	if read.str("content") != "one\ntwo\nthree\n" || !strings.Contains(read.Text, "2 | two") {
		t.Errorf("read: %v\n%s", read.Object, read.Text)
	}
	edited := b.ok("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	if got := b.read("src/a.txt"); got != "one\n2\nthree\n" {
		t.Errorf("file is %q", got)
	}
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "session": session, "expected_content_hash": edited.str("content_hash")})
	b.ok("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	if b.read("src/moved.txt") != "whole again\n" || b.read("src/b/new.txt") != "hello\n" {
		t.Error("the patch did not do what it says")
	}
	b.ok("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Delete File: src/b/new.txt\n*** End Patch"})
	ran := b.ok("execute_command", args{"session": session, "command": "echo out; exit 3"})
	if ran.Object["exit_code"] != 3.0 || !strings.Contains(ran.str("output"), "out") {
		t.Errorf("command: %v", ran.Object)
	}
	b.ok("read_command_output", args{"artifact_id": ran.str("artifact_id")})
	b.wantRecord(`"kind":"mutation"`, `"call":"apply_patch"`, `"op":"moved"`)
	b.wantRecord(`"kind":"mutation"`, `"revision":"`+strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))+`"`)
	b.wantRecord(`"kind":"command"`, `"exit_code":3`)
	b.wantRecord(`"kind":"decision"`, "MISSING_OR_INVALID_INTENT")
	b.wantRecord(`"kind":"selection"`, "INT-001")
	trace := b.ok("query_trace", args{"path": "src/moved.txt"})
	if records := trace.Object["records"].([]any); len(records) == 0 {
		t.Error("query_trace knows nothing of the file")
	}
	b.eventually("the intent map tells of the change", func() bool {
		return b.exists(".orchestration/intent_map.md") && strings.Contains(b.read(".orchestration/intent_map.md"), "`src/moved.txt`")
	})
	if m := b.read(".orchestration/intent_map.md"); !strings.Contains(m, "## INT-001: Build Weather API") || !strings.Contains(m, "`src/moved.txt`") {
		t.Errorf("intent map:\n%s", m)
	}
}
