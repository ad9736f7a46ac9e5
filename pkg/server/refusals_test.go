package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// What cannot be selected, and that an intent has one session on a connection. pkg/hooks/gate has the table of what is
// refused under an intent.
func TestSelectionRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	b.refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-999"})
	b.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
	b.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-004"})
	one, five := b.selects("INT-001"), b.selects("INT-005")
	again := b.selects("INT-001")
	check.That(t, one != five && again == one,
		"two intents share a session, or selecting again did not continue the selection: %s %s %s", one, five, again)
	check.Write(t, b.dir, ".orchestration/.intentignore", "intent:INT-001\n")
	b.refused("INTENT_IGNORED", "select_active_intent", args{"intent_id": "INT-001"})
}

func TestSelectingStartsAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	r := b.ok("select_active_intent", args{"intent_id": "INT-002", "mutation_class": "AST_REFACTOR"})
	check.That(t, r.str("status") == "IN_PROGRESS" && r.str("mutation_class") == "AST_REFACTOR", "%v", r.Object)
	for _, part := range []string{"<intent_context>", "<id>INT-002</id>", "<glob>docs/**</glob>"} {
		if !strings.Contains(r.str("context"), part) {
			t.Errorf("the context has no %s:\n%s", part, r.str("context"))
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
	r := b.refused("WORKSPACE_NOT_INITIALIZED", "write_to_file", args{"path": "b.txt", "content": "x"})
	check.That(t, strings.Contains(r.str("suggestion"), "orchestra-mcp init"), "%s", r.Text)
	b.ok("read_file", args{"path": "a.txt"})
	_, err := os.Stat(filepath.Join(dir, ".orchestration"))
	check.That(t, err != nil, "a refused call made .orchestration")
}

func TestUntracked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.Write(t, dir, "a.txt", "a\n")
	b := start(t, dir, func(o *server.Options) { o.Settings.Uninitialized = settings.Allow }).connect()
	r := b.ok("write_to_file", args{"path": "b.txt", "content": "x"})
	check.That(t, strings.Contains(r.Text, "no intents file and no ledger: this has no record") && r.str("record_id") == "",
		"what is said of the record: %s", r.Text)
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "a.txt", "content": "x"})
	b.ok("write_to_file", args{"path": "a.txt", "content": "x"})
	b.refused("PROTECTED_PATH", "write_to_file", args{"path": ".orchestration/active_intents.yaml", "content": "x"})
	b.refused("PROTECTED_PATH", "write_to_file", args{"path": ".git/config", "content": "x"})
}

// Where nothing of the ignore rules can be read, no file is shown: one of them
// may be secret.
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
			b.refused("INTENTS_UNREADABLE", "read_file", args{"path": "src/a.txt"})
			b.refused("INTENTS_UNREADABLE", "search_files", args{"regex": "one"})
			b.refused("INTENTS_UNREADABLE", "list_files", args{})
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
	b.ok("read_file", args{"path": "a"})
	b.ok("write_to_file", args{"path": "a", "content": "two\n"})
	b.ok("edit_file", args{"path": "a", "old_string": "two", "new_string": "three"})
	b.ok("apply_patch", call("*** Update File: a", "*** Move to: b", "@@", "-three", "+four"))
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
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "x"})
	check.Write(t, dir, "src/a.txt", "edited\n")
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "y"})
}
