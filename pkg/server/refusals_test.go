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

func TestIntentRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	w := args{"path": "src/new.txt", "content": "x"}
	none := b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", w)
	if none.str("action_hint") != "select_active_intent" || none.str("classification") != "destructive" {
		t.Errorf("%v", none.Object)
	}
	b.refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-999"})
	b.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
	b.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-004"})
	b.refused("SESSION_EXPIRED", "write_to_file", args{"path": "src/n", "content": "", "session": "ses_" + strings.Repeat("a", 32)})

	one := b.selects("INT-001")
	b.refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/n", "content": "", "session": one, "intent_id": "INT-005"})
	two := b.selects("INT-005")
	if one == two {
		t.Fatal("two intents share a session")
	}
	check.Equal(t, b.selects("INT-001"), one, "selecting again did not continue the selection")
	ambiguous := b.refused("INTENT_MISMATCH", "write_to_file", w)
	if s := ambiguous.str("suggestion"); !strings.Contains(s, one) || !strings.Contains(s, "INT-005") {
		t.Errorf("the suggestion does not say what to add: %s", s)
	}
	b.ok("write_to_file", args{"path": "src/chosen.txt", "content": "x", "intent_id": "INT-001"})

	write(t, b.dir, ".orchestration/.intentignore", "intent:INT-001\n")
	b.refused("INTENT_IGNORED", "write_to_file", args{"path": "src/n", "content": "", "session": one})
	b.refused("INTENT_IGNORED", "select_active_intent", args{"intent_id": "INT-001"})
}

func TestSelectingStartsAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	r := b.ok("select_active_intent", args{"intent_id": "INT-002", "mutation_class": "AST_REFACTOR"})
	if r.str("status") != "IN_PROGRESS" || r.str("mutation_class") != "AST_REFACTOR" {
		t.Errorf("%v", r.Object)
	}
	for _, part := range []string{"<intent_context>", "<id>INT-002</id>", "<glob>docs/**</glob>"} {
		if !strings.Contains(r.str("context"), part) {
			t.Errorf("the context has no %s:\n%s", part, r.str("context"))
		}
	}
	if file := b.read(".orchestration/active_intents.yaml"); !strings.Contains(file, "# The work of this test.") || !strings.Contains(file, "started_at") {
		t.Errorf("the file lost its comment or has no started_at:\n%s", file)
	}
}

func TestScopeRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.selects("INT-001")
	for _, path := range []string{"docs/other.md", "src2/a.txt", "srcx", "a.txt", "docs/src/a.txt"} {
		r := b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": path, "content": "x", "session": s})
		if r.str("action_hint") != "request_scope_expansion" || r.details()["path"] != path {
			t.Errorf("%s: %v", path, r.Object)
		}
	}
	r := b.refused("SCOPE_VIOLATION", "apply_diff", args{"path": "docs/other.md", "diff": "no diff at all", "session": s})
	if !strings.Contains(r.str("error"), "Scope Violation: INT-001 is not authorized to edit [docs/other.md]") {
		t.Errorf("%s", r.Text)
	}
	if strings.Contains(r.Text, "# Other") {
		t.Error("a scope refusal quotes the file")
	}
	if covering := r.details()["covering_intents"].([]any); len(covering) == 0 || covering[0] != "INT-002" {
		t.Errorf("covering intents: %v", covering)
	}
	b.refused("SCOPE_VIOLATION", "apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Update File: src/a.txt\n@@\n-one\n+1\n*** Add File: docs/new.md\n+x\n*** End Patch"})
	b.refused("SCOPE_VIOLATION", "apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: docs/a.txt\n@@\n-one\n+1\n*** End Patch"})
	check.Equal(t, b.read("src/a.txt"), "one\ntwo\nthree\n", "a refused patch changed a file")
}

func TestPathRefusals(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	outside := t.TempDir()
	write(t, outside, "secret.txt", "outside\n")
	link(t, outside, filepath.Join(dir, "src/out"))
	link(t, filepath.Join(outside, "secret.txt"), filepath.Join(dir, "src/file-link"))
	link(t, filepath.Join(outside, "not-there"), filepath.Join(dir, "src/dangling"))
	link(t, filepath.Join(dir, "docs"), filepath.Join(dir, "src/docs-link"))
	link(t, filepath.Join(dir, ".git"), filepath.Join(dir, "src/git-link"))
	mkfifo(t, filepath.Join(dir, "src/fifo"))
	b := start(t, dir).connect()
	s := b.selects("INT-005")
	cases := []struct{ code, path string }{
		{"PATH_OUTSIDE_WORKSPACE", "../x"}, {"PATH_OUTSIDE_WORKSPACE", "src/../../x"}, {"PATH_OUTSIDE_WORKSPACE", "/etc/passwd"},
		{"PATH_OUTSIDE_WORKSPACE", "src/out/new.txt"}, {"PATH_OUTSIDE_WORKSPACE", "src/file-link"}, {"PATH_OUTSIDE_WORKSPACE", "src/dangling"},
		{"PATH_OUTSIDE_WORKSPACE", "src/a\x00b"}, {"PATH_OUTSIDE_WORKSPACE", "src/" + strings.Repeat("n", 300)},
		{"NOT_A_REGULAR_FILE", "src"}, {"NOT_A_REGULAR_FILE", "src/fifo"},
		{"PROTECTED_PATH", ".git/hooks/pre-commit"}, {"PROTECTED_PATH", ".GIT/config"}, {"PROTECTED_PATH", "src/git-link/config"},
		{"PROTECTED_PATH", ".orchestration/active_intents.yaml"}, {"PROTECTED_PATH", ".orchestration/agent_trace.jsonl"},
		{"PROTECTED_PATH", ".orchestration/config.yaml"}, {"PROTECTED_PATH", ".intentignore"}, {"PROTECTED_PATH", "sub/.git/config"},
		{"APPROVAL_REQUIRED", ".vscode/tasks.json"}, {"APPROVAL_REQUIRED", ".Envrc"}, {"APPROVAL_REQUIRED", ".roomodes"},
		{"APPROVAL_REQUIRED", ".github/agents/a.agent.md"},
	}
	for _, c := range cases {
		b.refused(c.code, "write_to_file", args{"path": c.path, "content": "x", "session": s})
	}
	for _, path := range []string{"", "."} {
		r := b.call("write_to_file", args{"path": path, "content": "x", "session": s})
		if !r.Error {
			t.Errorf("path %q was accepted", path)
		}
	}
	for _, path := range []string{"src/", "src/a.txt/"} {
		r := b.call("write_to_file", args{"path": path, "content": "x", "session": s})
		if code := r.Object["error_type"]; code != "NOT_A_REGULAR_FILE" && code != "PATH_OUTSIDE_WORKSPACE" {
			t.Errorf("path %q: %v", path, code)
		}
	}
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": "src/docs-link/x.md", "content": "x", "session": b.selects("INT-001")})
	for _, path := range []string{"src/out/secret.txt", "src/file-link", "../x"} {
		b.refused("PATH_OUTSIDE_WORKSPACE", "read_file", args{"path": path})
	}
	b.refused("NOT_A_REGULAR_FILE", "read_file", args{"path": "src/fifo"})
	b.refused("FILE_NOT_FOUND", "read_file", args{"path": "src/none"})
	if got, err := os.ReadFile(filepath.Join(outside, "secret.txt")); err != nil || string(got) != "outside\n" {
		t.Errorf("a file outside changed: %q %v", got, err)
	}
	// An absolute path inside the workspace is a path inside it.
	b.ok("write_to_file", args{"path": filepath.Join(dir, "src/abs.txt"), "content": "x", "session": s})
}

func link(t *testing.T, to, at string) {
	t.Helper()
	check.OK(t, os.Symlink(to, at))
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.selects("INT-001")
	unread := b.refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "new\n", "session": s})
	check.Equal(t, unread.details()["content"], "one\ntwo\nthree\n", "READ_REQUIRED does not carry the content")
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "new\n", "session": s})

	write(t, b.dir, "src/a.txt", "edited outside\n")
	stale := b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "mine\n", "session": s})
	if !strings.Contains(stale.Text, "edited outside") {
		t.Errorf("STALE_FILE does not show what changed: %s", stale.Text)
	}
	b.ok("write_to_file", args{"path": "src/a.txt", "content": "mine\n", "session": s})

	write(t, b.dir, "src/a.txt", "outside again\n")
	also := b.refused("STALE_FILE", "edit_file", args{"path": "src/a.txt", "old_string": "mine", "new_string": "x", "session": s})
	if also.details()["also"] == nil {
		t.Errorf("staleness hides that the edit does not match: %v", also.Object)
	}
	zero := "sha256:" + strings.Repeat("0", 64)
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/missing.txt", "content": "x", "expected_content_hash": zero, "session": s})
	b.refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "x", "expected_content_hash": zero, "session": s})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/a.txt", "content": "x", "expected_content_hash": "abc", "session": s})

	write(t, b.dir, "src/long.txt", strings.Repeat("line\n", 3000))
	b.ok("read_file", args{"path": "src/long.txt", "limit": 10, "session": s})
	b.refused("READ_REQUIRED", "write_to_file", args{"path": "src/long.txt", "content": "x", "session": s})
	write(t, b.dir, "src/b.txt", "unseen\n")
	b.refused("READ_REQUIRED", "apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Delete File: src/b.txt\n*** End Patch"})
}

func TestEditRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.selects("INT-001")
	write(t, b.dir, "src/twice.txt", "same\nother\nsame\n")
	block := func(search, replace string) string {
		return "<<<<<<< SEARCH\n" + search + "\n=======\n" + replace + "\n>>>>>>> REPLACE"
	}
	no := b.refused("DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/a.txt", "diff": block("nothing like it", "x"), "session": s})
	if no.details()["failed_blocks"] == nil {
		t.Errorf("no failed blocks: %v", no.Object)
	}
	b.refused("AMBIGUOUS_MATCH", "apply_diff", args{"path": "src/twice.txt", "diff": block("same", "x"), "session": s})
	b.refused("DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/a.txt", "diff": "gibberish", "session": s})
	b.refused("FILE_NOT_FOUND", "apply_diff", args{"path": "src/none.txt", "diff": block("a", "b"), "session": s})
	b.refused("DIFF_NOT_APPLIED", "edit_file", args{"path": "src/a.txt", "old_string": "zzz", "new_string": "x", "session": s})
	b.refused("INVALID_ARGUMENTS", "apply_patch", args{"patch": "nothing", "session": s})
	b.refused("DIFF_NOT_APPLIED", "apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Add File: src/new.txt\n+x\n*** Update File: src/a.txt\n@@\n-not there\n+x\n*** End Patch"})
	if _, err := os.Stat(filepath.Join(b.dir, "src/new.txt")); err == nil {
		t.Error("a patch that failed created a file")
	}
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "content": "x", "surprise": true, "session": s})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "session": s})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": 7, "content": "x", "session": s})
	b.refused("INVALID_ARGUMENTS", "search_files", args{"regex": "("})
	b.refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": "../../../etc/passwd"})
	b.refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": "apr_x"})
}

func TestUnreadableIntents(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{
		"malformed": "active_intents:\n  - id: [\n", "duplicate": "active_intents:\n  - {id: A, name: a}\n  - {id: A, name: b}\n",
		"wrong type": "active_intents: 3\n", "escaping": "active_intents:\n  - {id: A, name: a, owned_scope: [\"../x/**\"]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, newWorkspace(t)).connect()
			s := b.selects("INT-001")
			write(t, b.dir, ".orchestration/active_intents.yaml", yaml)
			r := b.refused("INTENTS_UNREADABLE", "write_to_file", args{"path": "src/x.txt", "content": "x", "session": s})
			if line, _ := r.details()["line"].(float64); line < 1 {
				t.Errorf("no line: %v", r.Object)
			}
			b.ok("read_file", args{"path": "src/a.txt", "session": s})
		})
	}
}

func TestIgnoreRules(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/.intentignore", "src/frozen/**\nsecret:*.key\napprove:INT-005\n")
	write(t, dir, "src/private.key", "TOP SECRET\n")
	b := start(t, dir).connect()
	s := b.selects("INT-001")
	b.refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "src/frozen/x", "content": "x", "session": s})
	for _, call := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "src/private.key"}}, {"write_to_file", args{"path": "src/private.key", "content": "x"}},
		{"apply_diff", args{"path": "src/private.key", "diff": "x"}}, {"edit_file", args{"path": "src/private.key", "old_string": "T", "new_string": "x"}},
	} {
		call.args["session"] = s
		if r := b.refused("INTENTIGNORE_PATH_BLOCKED", call.tool, call.args); strings.Contains(r.Text, "TOP SECRET") {
			t.Errorf("%s quotes a secret file", call.tool)
		}
	}
	if r := b.ok("search_files", args{"regex": "SECRET"}); strings.Contains(r.Text, "TOP") {
		t.Error("search_files shows a secret file")
	}
	five := b.selects("INT-005")
	r := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"path": "src/x", "content": "x", "session": five})
	b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": r.details()["approval_id"].(string), "session": five})
	write(t, b.dir, ".orchestration/.intentignore", "secert:*.key\n")
	b.refused("INTENTS_UNREADABLE", "write_to_file", args{"path": "src/x", "content": "x", "session": s})
}

func TestUninitialized(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.txt", "a\n")
	b := start(t, dir).connect()
	r := b.refused("WORKSPACE_NOT_INITIALIZED", "write_to_file", args{"path": "b.txt", "content": "x"})
	if !strings.Contains(r.str("suggestion"), "orchestra-mcp init") {
		t.Errorf("%s", r.Text)
	}
	b.ok("read_file", args{"path": "a.txt"})
	if _, err := os.Stat(filepath.Join(dir, ".orchestration")); err == nil {
		t.Error("a refused call made .orchestration")
	}
}

func TestUntracked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.txt", "a\n")
	b := start(t, dir, func(o *server.Options) { o.Settings.Uninitialized = settings.Allow }).connect()
	r := b.ok("write_to_file", args{"path": "b.txt", "content": "x"})
	if !strings.Contains(r.Text, "no intents file and no ledger: this has no record") || r.str("record_id") != "" {
		t.Errorf("what is said of the record: %s", r.Text)
	}
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
		"directory": func(t *testing.T, path string) { write(t, path, "x", "") },
		"utf-16":    func(t *testing.T, path string) { write(t, filepath.Dir(path), filepath.Base(path), "\xff\xfes\x00") },
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

// Listings hide the server's own temporary files, so agents cannot make one.
func TestTemporaryNamesAreProtected(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.selects("INT-001")
	for _, path := range []string{"src/.orchestra-abc.tmp", "src/.ORCHESTRA-ABC.TMP"} {
		b.refused("PROTECTED_PATH", "write_to_file", args{"path": path, "content": "x", "session": s})
	}
}
