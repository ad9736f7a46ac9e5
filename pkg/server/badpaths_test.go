package server_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// treeSum describes everything in a directory but the server's own records.
func treeSum(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if rel == ".orchestration" {
			return nil
		}
		if serversOwn(rel) {
			return skip(d)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", rel, info.Mode())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// Bad paths get a refusal of the catalogue from every tool that takes one,
// and nothing changes.
func TestBadPathsChangeNothing(t *testing.T) {
	dir := newWorkspace(t)
	outside := t.TempDir()
	check.Write(t, outside, "f", "TOPSECRET\n")
	for at, to := range map[string]string{
		"src/out": outside, "src/outfile": filepath.Join(outside, "f"), "src/dangling": "nowhere", "src/dangling-out": outside + "/none",
		"src/loop": "loop", "src/git": "../.git", "src/orch": "../.orchestration", "src/docs": "../docs",
	} {
		link(t, to, filepath.Join(dir, at))
	}
	mkfifo(t, filepath.Join(dir, "src/fifo"))
	// A socket's path is short on some systems: bind it by a relative name.
	t.Chdir(filepath.Join(dir, "src"))
	socket := check.Value(net.Listen("unix", "socket"))(t)
	defer socket.Close()
	b, _ := start(t, dir).under("INT-005")
	bad := []string{
		"..", "../x", "src/../../x", "/etc/passwd", outside + "/f", "src/out/x", "src/out/f", "src/outfile", "src/dangling-out", "src/loop",
		"a\x00b", "src/\x01", "src/" + strings.Repeat("n", 300), strings.Repeat("d/", 3000) + "x",
		".", "src", "src/", "src/a.txt/", "src/a.txt/x", "src/fifo", "src/socket",
		".git/hooks/pre-commit", ".git/config", ".GIT/config", ".git", "src/git/config", "src/git", "sub/.git/hooks/x", ".git /config", ".git./config", "GIT~1/config",
		".orchestration/active_intents.yaml", ".orchestration/agent_trace.jsonl", ".orchestration/intent_map.md", ".orchestration/AGENT.md",
		".orchestration/config.yaml", ".orchestration/.intentignore", ".orchestration/state/x", ".orchestration/new", ".ORCHESTRATION/x", "src/orch/config.yaml", ".intentignore", ".IntentIgnore",
	}
	before := treeSum(t, dir)
	for _, path := range bad {
		for tool, arguments := range map[string]args{
			"write_to_file": {"path": path, "content": "x"},
			"apply_diff":    {"path": path, "diff": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"},
			"edit_file":     {"path": path, "old_string": "x", "new_string": "y"},
			"add":           {"patch": patch("*** Add File: "+path, "+x")},
			"delete":        {"patch": patch("*** Delete File: " + path)},
			"move there":    {"patch": patch("*** Update File: src/a.txt", "*** Move to: "+path)},
			"move away":     {"patch": patch("*** Update File: "+path, "*** Move to: moved")},
		} {
			if arguments["patch"] != nil {
				tool = "apply_patch"
			}
			r := b.call(tool, arguments)
			switch code := r.Object["error_type"]; code {
			case "PATH_OUTSIDE_WORKSPACE", "NOT_A_REGULAR_FILE", "PROTECTED_PATH", "INVALID_ARGUMENTS":
			default:
				t.Errorf("%s of %.60q: %v: %.300s", tool, path, code, r.Text)
			}
			b.keeps(r)
		}
	}
	check.Equal(t, treeSum(t, dir), before, "something changed:\n")
	for path, code := range map[string]string{
		"src/out/x": "PATH_OUTSIDE_WORKSPACE", "src/outfile": "PATH_OUTSIDE_WORKSPACE", "src/dangling-out": "PATH_OUTSIDE_WORKSPACE", "a\x00b": "PATH_OUTSIDE_WORKSPACE",
		"src": "NOT_A_REGULAR_FILE", "src/fifo": "NOT_A_REGULAR_FILE", "src/git/config": "PROTECTED_PATH", ".vscode/tasks.json": "APPROVAL_REQUIRED",
	} {
		b.refused(code, "write_to_file", args{"path": path, "content": "x"})
	}
	for _, path := range []string{"..", "/etc/passwd", "src/out/f", "src/outfile", "src/fifo", "src/socket", "src", "a\x00b", "src/loop", "src/a.txt/x"} {
		if r := b.call("read_file", args{"path": path}); !r.Error || r.Object["error_type"] == "INTERNAL_ERROR" || strings.Contains(r.Text, "TOPSECRET") {
			t.Errorf("read_file %q: %s", path, r.Text)
		}
	}
	for _, cwd := range []string{"..", "/etc", "src/out", "src/a.txt", "none", ".git", "src/git", ".orchestration"} {
		if r := b.call("execute_command", args{"command": "touch made", "cwd": cwd}); !r.Error || r.Object["error_type"] == "INTERNAL_ERROR" {
			t.Errorf("cwd %q: %s", cwd, r.Text)
		}
	}
	check.Equal(t, treeSum(t, dir), before, "something changed:\n")
	// An absolute path inside the workspace is a path inside it.
	b.ok("write_to_file", args{"path": filepath.Join(dir, "src/abs.txt"), "content": "x"})
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "src/docs/x.md", "content": "x", "session": b.selects("INT-001")})
}

// Where the ledger cannot take a record nothing is changed, nor selected.
func TestNoLedgerNoChange(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.OK(t, os.MkdirAll(filepath.Join(ledgertest.File(dir), "x"), 0o755))
	b := start(t, dir)
	b.closed = true // there is no ledger to verify
	t.Cleanup(func() { _ = b.server.Close() })
	b.connect()
	before := treeSum(t, dir)
	b.refused("LEDGER_UNAVAILABLE", "select_active_intent", args{"intent_id": "INT-002"})
	b.refused("LEDGER_UNAVAILABLE", "propose_intent", args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"})
	b.ok("read_file", args{"path": "src/a.txt"})
	check.Equal(t, treeSum(t, dir), before, "something changed:\n")
}

// A ledger that fails under a live session stops the next change as well.
func TestLedgerFailsLater(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	b.closed = true // there is no ledger to verify
	t.Cleanup(func() { _ = b.server.Close() })
	b.connect()
	b.selects("INT-005")
	b.ok("write_to_file", args{"path": "src/n", "content": "x"})
	ledger := ledgertest.File(b.dir)
	check.OK(t, os.Remove(ledger))
	check.OK(t, os.MkdirAll(filepath.Join(ledger, "x"), 0o755))
	for tool, arguments := range map[string]args{
		"write_to_file": {"path": "src/m", "content": "x"}, "edit_file": {"path": "src/n", "old_string": "x", "new_string": "y"},
		"apply_patch": {"patch": patch("*** Delete File: src/n")}, "execute_command": {"command": "touch made"},
	} {
		b.refused("LEDGER_UNAVAILABLE", tool, arguments)
	}
	b.holds(map[string]string{"src/n": "x", "src/m": "", "made": ""})
}
