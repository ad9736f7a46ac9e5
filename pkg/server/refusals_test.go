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
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// What cannot be selected, and that an intent has one session on a connection. pkg/hooks/gate has the table of what is
// refused under an intent.
func TestSelectionRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	b.Refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-999"})
	b.Refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
	b.Refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-004"})
	one, five := b.Selects("INT-001"), b.Selects("INT-005")
	again := b.Selects("INT-001")
	check.That(t, one != five && again == one,
		"two intents share a session, or selecting again did not continue the selection: %s %s %s", one, five, again)
	check.Write(t, b.dir, ".orchestration/.intentignore", "intent:INT-001\n")
	b.Refused("INTENT_IGNORED", "select_active_intent", args{"intent_id": "INT-001"})
}

func TestSelectingStartsAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	r := b.OK("select_active_intent", args{"intent_id": "INT-002", "mutation_class": "AST_REFACTOR"})
	check.That(t, r.Str("status") == "IN_PROGRESS" && r.Str("mutation_class") == "AST_REFACTOR", "%v", r.Object)
	for _, part := range []string{"<intent_context>", "<id>INT-002</id>", "<glob>docs/**</glob>"} {
		if !strings.Contains(r.Str("context"), part) {
			t.Errorf("the context has no %s:\n%s", part, r.Str("context"))
		}
	}
	file := b.read(".orchestration/active_intents.yaml")
	check.That(t, strings.Contains(file, "# The work of this test.") && strings.Contains(file, "started_at"),
		"the file lost its comment or has no started_at:\n%s", file)
}

func link(t *testing.T, to, at string) {
	t.Helper()
	check.OK(t, os.Symlink(to, at))
}

func TestUninitialized(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.Write(t, dir, "a.txt", "a\n")
	b := start(t, dir).connect()
	r := b.Refused("WORKSPACE_NOT_INITIALIZED", "write_to_file", args{"path": "b.txt", "content": "x"})
	check.That(t, strings.Contains(r.Str("suggestion"), "orchestra-mcp init"), "%s", r.Text)
	b.OK("read_file", args{"path": "a.txt"})
	_, err := os.Stat(filepath.Join(dir, ".orchestration"))
	check.That(t, err != nil, "a refused call made .orchestration")
}

func TestUntracked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.Write(t, dir, "a.txt", "a\n")
	b := start(t, dir, func(o *server.Options) { o.Settings.Uninitialized = settings.Allow }).connect()
	r := b.OK("write_to_file", args{"path": "b.txt", "content": "x"})
	check.That(t, strings.Contains(r.Text, "no intents file and no ledger: this has no record") && r.Str("record_id") == "",
		"what is said of the record: %s", r.Text)
	b.Refused("READ_REQUIRED", "write_to_file", args{"path": "a.txt", "content": "x"})
	b.OK("write_to_file", args{"path": "a.txt", "content": "x"})
	b.Refused("PROTECTED_PATH", "write_to_file", args{"path": ".orchestration/active_intents.yaml", "content": "x"})
	b.Refused("PROTECTED_PATH", "write_to_file", args{"path": ".git/config", "content": "x"})
}

// Where nothing of the ignore rules can be read, no file is shown: one of them may be secret.
func TestUnusableIgnoreFileStopsReads(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T, path string){
		"link":      func(t *testing.T, path string) { link(t, "elsewhere", path) },
		"directory": func(t *testing.T, path string) { check.Write(t, path, "x", "") },
		"utf-16": func(t *testing.T, path string) {
			check.Write(t, filepath.Dir(path), filepath.Base(path), "\xff\xfes\x00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			make(t, filepath.Join(dir, ".intentignore"))
			b := start(t, dir).connect()
			b.Refused("INTENTS_UNREADABLE", "read_file", args{"path": "src/a.txt"})
			b.Refused("INTENTS_UNREADABLE", "search_files", args{"regex": "one"})
			b.Refused("INTENTS_UNREADABLE", "list_files", args{})
		})
	}
}

// Mode bits and extended attributes stay, whichever tool changes the file.
func TestMetadataStays(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n"})
	path := filepath.Join(b.dir, "a")
	check.OK(t, os.Chmod(path, 0o751))
	attributes := setAttribute(t, path)
	b.OK("read_file", args{"path": "a"})
	b.OK("write_to_file", args{"path": "a", "content": "two\n"})
	b.OK("edit_file", args{"path": "a", "old_string": "two", "new_string": "three"})
	b.OK("apply_patch", call("*** Update File: a", "*** Move to: b", "@@", "-three", "+four"))
	moved := filepath.Join(b.dir, "b")
	info, err := os.Stat(moved)
	check.That(t, err == nil && info.Mode().Perm() == 0o751, "mode %v, %v", info, err)
	check.That(t, !attributes || hasAttribute(t, moved), "an extended attribute is lost")
}

// `write.blind: allow` turns READ_REQUIRED off, and nothing else.
func TestBlindWrites(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, _ := start(t, dir, func(o *server.Options) { o.Settings.Write.Blind = settings.Allow }).under("INT-001")
	b.OK("write_to_file", args{"path": "src/a.txt", "content": "x"})
	check.Write(t, dir, "src/a.txt", "edited\n")
	b.Refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "y"})
}

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

// Bad paths get a refusal of the catalogue from every tool that takes one, and nothing changes.
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
			r := b.Call(tool, arguments)
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
		b.Refused(code, "write_to_file", args{"path": path, "content": "x"})
	}
	for _, path := range []string{"..", "/etc/passwd", "src/out/f", "src/outfile", "src/fifo", "src/socket", "src", "a\x00b", "src/loop", "src/a.txt/x"} {
		if r := b.Call("read_file", args{"path": path}); !r.Error || r.Object["error_type"] == "INTERNAL_ERROR" || strings.Contains(r.Text, "TOPSECRET") {
			t.Errorf("read_file %q: %s", path, r.Text)
		}
	}
	for _, cwd := range []string{"..", "/etc", "src/out", "src/a.txt", "none", ".git", "src/git", ".orchestration"} {
		if r := b.Call("execute_command", args{"command": "touch made", "cwd": cwd}); !r.Error || r.Object["error_type"] == "INTERNAL_ERROR" {
			t.Errorf("cwd %q: %s", cwd, r.Text)
		}
	}
	check.Equal(t, treeSum(t, dir), before, "something changed:\n")
	// An absolute path inside the workspace is a path inside it.
	b.OK("write_to_file", args{"path": filepath.Join(dir, "src/abs.txt"), "content": "x"})
	b.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "src/docs/x.md", "content": "x", "session": b.Selects("INT-001")})
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
	b.Refused("LEDGER_UNAVAILABLE", "select_active_intent", args{"intent_id": "INT-002"})
	b.Refused("LEDGER_UNAVAILABLE", "propose_intent", args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"})
	b.OK("read_file", args{"path": "src/a.txt"})
	check.Equal(t, treeSum(t, dir), before, "something changed:\n")
}
