package tools_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

func lines(n int) string { return strings.Repeat("line\n", n) }

// An edit proves its knowledge by its search text, and no more than that: the lines around it have still not been seen.
func TestAnEditDoesNotShowTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "first\n" + lines(40000)})
	b.ok("edit_file", args{"path": "a", "old_string": "first", "new_string": "1st"})
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "a", "content": "gone\n"})
	b.ok("read_file", args{"path": "a", "limit": 20000})
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "a", "content": "gone\n"})
	// What was seen before an edit is still seen behind it.
	b.ok("edit_file", args{"path": "a", "old_string": "1st\n", "new_string": "1\n2\n3\n"})
	b.ok("read_file", args{"path": "a", "offset": 20003, "limit": 30000})
	b.ok("write_to_file", args{"path": "a", "content": "whole\n"})
}

// All lines delivered, in pieces and in any order, allow an overwrite.
func TestLinesDeliveredInPieces(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": lines(30000)})
	b.ok("read_file", args{"path": "a", "offset": 20001, "limit": 10000})
	b.ok("read_file", args{"path": "a", "limit": 10000})
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "a", "content": "x"})
	b.ok("read_file", args{"path": "a", "offset": 10001, "limit": 10000})
	b.ok("write_to_file", args{"path": "a", "content": "x"})
}

// Own writes count as seen, also behind a move; what moved away is forgotten.
func TestOwnWritesCountAsSeen(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\ntwo\n"})
	b.ok("read_file", args{"path": "a"})
	r := b.ok("write_to_file", args{"path": "a", "content": "1\n2\n"})
	if want := string(workspace.HashOf([]byte("1\n2\n"))); r.str("content_hash") != want {
		t.Errorf("content_hash %s, want that of the bytes on disk", r.str("content_hash"))
	}
	b.ok("write_to_file", args{"path": "a", "content": "1\n"})
	b.ok("apply_patch", call("*** Update File: a", "*** Move to: b", "@@", "-1", "+eins"))
	b.ok("write_to_file", args{"path": "b", "content": "b\n"})
	b.ok("write_to_file", args{"path": "a", "content": "new\n"})
	b.ok("apply_patch", call("*** Update File: b", "*** Move to: c"))
	b.ok("write_to_file", args{"path": "c", "content": "c\n"})
}

// Who has read that a file is gone can make it anew, also where a wider refusal hides that it is stale.
func TestReadingShowsThatAFileIsGone(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		b, _ := patched(t, map[string]string{"a": "one\n"})
		handle := args{}
		if with {
			handle["session"] = b.session
		}
		read, write := args{"path": "a"}, args{"path": "a", "content": "new\n"}
		maps.Copy(read, handle)
		maps.Copy(write, handle)
		b.ok("read_file", read)
		check.OK(t, os.Remove(filepath.Join(b.dir, "a")))
		b.refused("FILE_NOT_FOUND", "read_file", read)
		b.ok("write_to_file", write)
	}
}

// A move does not show what it moves.
func TestAMoveDoesNotShowTheFile(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n"})
	b.ok("apply_patch", call("*** Update File: a", "*** Move to: b"))
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "b", "content": "x"})
}

// A file that was seen and is gone is not what was seen.
func TestAFileThatIsGoneIsStale(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "one\n"})
	b.ok("read_file", args{"path": "a"})
	check.OK(t, os.Remove(filepath.Join(b.dir, "a")))
	r := b.refused("STALE_FILE", "write_to_file", args{"path": "a", "content": "x"})
	check.Equal(t, r.details()["content_hash"], "")
	b.ok("write_to_file", args{"path": "a", "content": "x"})
}

// STALE_FILE carries the difference from what was seen, and the next call can
// succeed; a part that was seen gets the content instead.
func TestStaleCarriesWhatIsLacking(t *testing.T) {
	t.Parallel()
	long := "first\n" + lines(1000)
	b, _ := patched(t, map[string]string{"a": long, "part": long})
	b.ok("read_file", args{"path": "a"})
	b.ok("read_file", args{"path": "part", "limit": 5})
	check.Write(t, b.dir, "a", long+"added\n")
	check.Write(t, b.dir, "part", long+"added\n")

	r := b.refused("STALE_FILE", "write_to_file", args{"path": "a", "content": "x"})
	if diff, _ := r.details()["diff_since_seen"].(string); !strings.Contains(diff, "+added") || r.details()["content"] != nil {
		t.Errorf("details: %v", r.details())
	}
	b.ok("write_to_file", args{"path": "a", "content": "x"})

	r = b.refused("STALE_FILE", "write_to_file", args{"path": "part", "content": "x"})
	check.Equal[any](t, r.details()["content"], long+"added\n", "no content")
	b.ok("write_to_file", args{"path": "part", "content": "x"})
}

// Over the bound nothing is quoted, and so nothing counts as seen.
func TestStaleOverTheBound(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "x\n"})
	b.ok("read_file", args{"path": "a"})
	check.Write(t, b.dir, "a", lines(100_000))
	for range 2 {
		r := b.refused("STALE_FILE", "write_to_file", args{"path": "a", "content": "y"})
		check.That(t, r.details()["content"] == nil && len(r.Text) <= 10_000, "a refusal of %d bytes", len(r.Text))
	}
	b.ok("write_to_file", args{"path": "a", "content": "y", "expected_content_hash": string(workspace.HashOf([]byte(lines(100_000))))})
}

// Diffs and edits are held to what the session has seen, and to a hash given.
func TestDiffsAreHeldToTheView(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\ntwo\n"})
	hash := b.ok("read_file", args{"path": "a"}).str("content_hash")
	diff := "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE"
	for _, c := range []struct {
		tool string
		args args
	}{
		{"apply_diff", args{"path": "a", "diff": diff}}, {"edit_file", args{"path": "a", "old_string": "one", "new_string": "1"}},
		{"apply_patch", call("*** Update File: a", "@@", "-one", "+1")},
		{"apply_diff", args{"path": "a", "diff": diff, "expected_content_hash": hash}},
		{"edit_file", args{"path": "a", "old_string": "one", "new_string": "1", "expected_content_hash": hash}},
	} {
		check.Write(t, b.dir, "a", "one\ntwo\n")
		b.call("read_file", args{"path": "a"})
		check.Write(t, b.dir, "a", "one\nedited\n")
		b.refused("STALE_FILE", c.tool, c.args)
		b.holds(map[string]string{"a": "one\nedited\n"})
	}
}

// A file that cannot be delivered as lines can be overwritten by whoever knows its hash.
func TestOverwritingBinary(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a.bin": "\x00\x01\x00\xff", "long": strings.Repeat("x", 1<<20)})
	hash := b.ok("read_file", args{"path": "a.bin"}).str("content_hash")
	r := b.refused("READ_REQUIRED", "write_to_file", args{"path": "a.bin", "content": "x"})
	if !strings.Contains(r.str("suggestion"), "expected_content_hash") {
		t.Errorf("%s", r.str("suggestion"))
	}
	b.ok("write_to_file", args{"path": "a.bin", "content": "x", "expected_content_hash": hash})

	hash = b.ok("read_file", args{"path": "long"}).str("content_hash")
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "long", "content": "x"})
	b.ok("write_to_file", args{"path": "long", "content": "x", "expected_content_hash": hash})
}

// A file that grew over the limit is too large, not gone.
func TestTooLargeIsNotStale(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(f *tools.Files) { f.Limit = 1000 })
	hash := b.ok("read_file", args{"path": "src/a.txt"}).str("content_hash")
	check.Write(t, b.dir, "src/a.txt", lines(1000))
	b.refused("TOO_LARGE", "read_file", args{"path": "src/a.txt"})
	b.refused("TOO_LARGE", "write_to_file", args{"path": "src/a.txt", "content": "x"})
	b.refused("TOO_LARGE", "write_to_file", args{"path": "src/a.txt", "content": "x", "expected_content_hash": hash})
	b.refused("TOO_LARGE", "write_to_file", args{"path": "src/n.txt", "content": lines(1000)})
	b.refused("TOO_LARGE", "apply_patch", args{"patch": patch("*** Add File: src/n.txt", "+"+strings.Repeat("x", 2000))})
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	unread := b.refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "new\n"})
	check.Equal(t, unread.details()["content"], "one\ntwo\nthree\n", "READ_REQUIRED does not carry the content")
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "mine\n"})
	check.Write(t, b.dir, "src/a.txt", "outside again\n")
	also := b.refused("STALE_FILE", "edit_file", args{"path": "src/a.txt", "old_string": "mine", "new_string": "x"})
	check.That(t, also.details()["also"] != nil, "staleness hides that the edit does not match: %v", also.Object)
	zero := "sha256:" + strings.Repeat("0", 64)
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/missing.txt", "content": "x", "expected_content_hash": zero})
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "x", "expected_content_hash": zero})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/a.txt", "content": "x", "expected_content_hash": "abc"})
}
