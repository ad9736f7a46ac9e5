package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// A guard that was asked for and cannot stand yet refuses; it is never passed over in silence.
func TestGuardsThatCannotStandRefuse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		code, tool string
		set        func(*settings.Settings)
	}{
		"rules":           {"RULE_VIOLATION", "write_to_file", func(s *settings.Settings) { s.Rules = []settings.Rule{{Name: "r", When: "true"}} }},
		"commands.deny":   {"COMMAND_BLOCKED", "execute_command", func(s *settings.Settings) { s.Commands.Deny = []settings.CommandRule{{Prefix: "true"}} }},
		"commands.ask":    {"APPROVAL_REQUIRED", "execute_command", func(s *settings.Settings) { s.Commands.Ask = []settings.CommandRule{{Prefix: "true"}} }},
		"network":         {"COMMAND_BLOCKED", "execute_command", func(s *settings.Settings) { s.Commands.Network = settings.Deny }},
		"default":         {"COMMAND_BLOCKED", "ls", func(s *settings.Settings) { s.Commands.Default = settings.Deny }},
		"sandbox":         {"SANDBOX_UNAVAILABLE", "execute_command", func(s *settings.Settings) { s.Sandbox = settings.Require }},
		"sandbox kernel":  {"SANDBOX_UNAVAILABLE", "execute_command", func(s *settings.Settings) { s.Sandbox = settings.RequireLandlock }},
		"scope.required":  {"SCOPE_VIOLATION", "write_to_file", func(s *settings.Settings) { s.Scope.Required = true }},
		"program_config":  {"APPROVAL_REQUIRED", "write_config", func(*settings.Settings) {}},
		"program_config2": {"APPROVAL_REQUIRED", "write_config", func(s *settings.Settings) { s.Approvals.ProgramConfig = settings.Refuse }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: A, name: a, status: TODO}\n")
			b, session := start(t, dir, unsandboxed, func(o *server.Options) { c.set(&o.Settings) }).under("A")
			switch c.tool {
			case "write_to_file":
				b.refused(c.code, c.tool, args{"path": "x.txt", "content": "x", "session": session})
			case "write_config":
				b.refused(c.code, "write_to_file", args{"path": ".mcp.json", "content": "{}", "session": session})
			case "ls":
				b.refused(c.code, "execute_command", args{"command": "ls", "session": session})
			default:
				b.refused(c.code, c.tool, args{"command": "true", "session": session})
			}
		})
	}
}

func TestSelectionThatHasToBeAsked(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Approvals.SelectIntent = settings.Ask }).connect()
	r := b.refused("APPROVAL_REQUIRED", "select_active_intent", args{"intent_id": "INT-001"})
	b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": r.details()["approval_id"].(string)})
	b.refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/x", "content": "x"})
}

// What a hook had to say while it allowed reaches the agent.
func TestNotesReachTheResult(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: A, name: a, status: TODO}\n")
	b, session := start(t, dir).under("A")
	r := b.ok("write_to_file", args{"path": "x.txt", "content": "x", "session": session})
	warnings := r.Object["warnings"].([]any)
	check.That(t, len(warnings) == 1 && warnings[0] == "A has no owned_scope: every path is in scope", "%v", warnings)
}

// Prompts written for Roo send null for what they leave out.
func TestNullMeansLeftOut(t *testing.T) {
	t.Parallel()
	b, session := start(t, newWorkspace(t)).under("INT-001")
	b.ok("execute_command", args{"command": "true", "cwd": nil, "timeout": nil, "session": session})
	b.ok("search_files", args{"regex": "one", "path": ".", "file_pattern": nil})
	b.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "content": nil, "session": session})
}

// A cloned repository in-process: what an embedder hands over without a word of trust is not trusted.
func TestAClonedRepositoryIsNotTheOperator(t *testing.T) {
	t.Parallel()
	origin := newWorkspace(t)
	check.Write(t, origin, ".intentignore", "unscoped:**\n")
	check.Write(t, origin, ".orchestration/config.yaml", "write.blind: allow\nsandbox: \"off\"\nhooks: [{event: pre, command: \"touch ran\"}]\n")
	check.Git(t, origin, "add", "-f", ".")
	check.Git(t, origin, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "hostile")
	dir := t.TempDir()
	check.Git(t, dir, "clone", "-q", origin, ".")
	trusted := false
	b := start(t, dir, func(o *server.Options) {
		o.Trusted = func(hash string) bool { return trusted && hash == settings.ContentHash([]byte("unscoped:**\n")) }
		o.Withheld = []string{"config.yaml:1: write.blind = allow"}
	}).connect()
	s := b.selects("INT-002")
	r := b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, r.details()["untrusted"] == ".intentignore:1" && strings.Contains(r.str("suggestion"), "orchestra-mcp trust"), "%s", r.Text)
	list, _ := r.details()["untrusted_settings"].([]any)
	check.That(t, len(list) == 2, "%s", r.Text)
	r = b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, r.details()["untrusted_settings"] == nil, "said twice: %s", r.Text)
	trusted = true
	r = b.ok("write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, strings.Contains(r.Text, ".intentignore:1 lets it pass"), "the result does not say why it passed: %s", r.Text)
	// It exempts from the scope and from nothing else.
	b.refused("PROTECTED_PATH", "write_to_file", args{"session": s, "path": ".git/config", "content": "x"})
	b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": ".mcp.json", "content": "x"})
	b.refused("READ_REQUIRED", "write_to_file", args{"session": s, "path": "src/a.txt", "content": "x"})
	b.holds(map[string]string{"ran": ""})
}

// The verify commands of a cloned repository need no trust, and get none: they
// run under the law of an agent's commands.
func TestVerifyNeedsNoTrust(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"echo built > src/built.txt":          "",
		"echo x > .git/hooks/pre-commit":      "PROTECTED_PATH",
		"make install":                        "COMMAND_BLOCKED",
		"echo x > docs/far.txt || false":      "SCOPE_VIOLATION",
		"cat .env && echo x > src/leaked.txt": "VERIFY_FAILED",
	} {
		dir := newWorkspace(t)
		check.Write(t, dir, ".orchestration/active_intents.yaml", fmt.Sprintf(
			"active_intents:\n  - {id: V-1, name: V, owned_scope: [src/**], commands: {deny: [make], allow: [cat]}, verify: [%q]}\n", command))
		b := start(t, dir, func(o *server.Options) {
			o.Trusted = func(string) bool { return false }
			o.Settings.Sandbox = settings.Best
		}).connect()
		s := b.selects("V-1")
		if want == "" {
			b.ok("update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
			b.wantRecord(`"kind":"command"`, `"intent_id":"V-1"`)
			continue
		}
		b.refused(want, "update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
		text := b.read(".orchestration/active_intents.yaml")
		check.That(t, !strings.Contains(text, "DONE"), "%s: done all the same: %s", command, text)
	}
}

// The order of the gate: each fault is added in front of all that were there before it, and must win over all of them.
func TestTheFirstFailingStepWins(t *testing.T) {
	t.Parallel()
	zero := "sha256:" + strings.Repeat("0", 64)
	faults := []struct {
		code string
		set  func(t *testing.T, dir string, a args)
	}{
		{"DIFF_NOT_APPLIED", func(t *testing.T, dir string, a args) {
			check.Write(t, dir, "src/a.txt", "one\n")
			a["path"], a["diff"] = "src/a.txt", "<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE"
		}},
		{"STALE_FILE", func(_ *testing.T, _ string, a args) { a["expected_content_hash"] = zero }},
		{"SCOPE_VIOLATION", func(t *testing.T, dir string, a args) {
			check.Write(t, dir, "docs/x.key", "one\n")
			a["path"] = "docs/x.key"
		}},
		{"INTENTIGNORE_PATH_BLOCKED", func(t *testing.T, dir string, _ args) {
			check.Write(t, dir, ".orchestration/.intentignore", "secret:*.key\n")
		}},
		{"PROTECTED_PATH", func(t *testing.T, dir string, a args) {
			check.Write(t, dir, ".git/x.key", "one\n")
			a["path"] = ".git/x.key"
		}},
		{"PATH_OUTSIDE_WORKSPACE", func(_ *testing.T, _ string, a args) { a["path"] = "../.git/x.key" }},
		{"INTENT_MISMATCH", func(_ *testing.T, _ string, a args) { a["intent_id"] = "INT-005" }},
		{"INTENTS_UNREADABLE", func(t *testing.T, dir string, _ args) {
			check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents: [\n")
		}},
		{"INVALID_ARGUMENTS", func(_ *testing.T, _ string, a args) { a["surprise"] = true }},
	}
	b := start(t, newWorkspace(t)).connect()
	call := args{"session": b.selects("INT-001")}
	for _, f := range faults {
		f.set(t, b.dir, call)
		r := b.refused(f.code, "apply_diff", call)
		check.That(t, !strings.Contains(r.Text, `one\n`) || f.code == "STALE_FILE" || f.code == "DIFF_NOT_APPLIED",
			"%s quotes the file: %s", f.code, r.Text)
	}
}

// A failure that is put aside to be asked about stands when a later check
// fails: nobody is asked, the later code is named, and no content is.
func TestAFailurePutAside(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".envrc", "export PASSWORD=hunter2\n")
	b, s := start(t, dir).under("INT-005")
	for _, c := range []struct {
		tool, also string
		args       args
	}{
		{"write_to_file", "READ_REQUIRED", args{"path": ".envrc", "content": "x"}},
		{"write_to_file", "STALE_FILE", args{"path": ".envrc", "content": "x", "expected_content_hash": "sha256:" + strings.Repeat("0", 64)}},
		{"edit_file", "DIFF_NOT_APPLIED", args{"path": ".envrc", "old_string": "export P=", "new_string": "x"}},
		{"edit_file", "FILE_NOT_FOUND", args{"path": ".cursor/x.json", "old_string": "a", "new_string": "x"}},
	} {
		c.args["session"] = s
		r := b.refused("APPROVAL_REQUIRED", c.tool, c.args)
		if also, _ := r.details()["also"].([]any); len(also) != 1 || also[0] != c.also {
			t.Errorf("%s: also %v, want %s", c.tool, r.details()["also"], c.also)
		}
		check.That(t, r.details()["approval_id"] == nil && !strings.Contains(r.Text, "hunter2"), "%s: asked, or quoted: %s", c.tool, r.Text)
	}
	b.holds(map[string]string{".envrc": "export PASSWORD=hunter2\n"})
}

// Files of other programs need an approval inside the scope too. The request
// has an id, is recorded, and the refusal says how to go on.
func TestProgramConfigAsks(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-005")
	for _, path := range []string{".mcp.json", ".cursor/x", ".ROO/x", ".vscode/tasks.json", ".claude/settings.json", ".EnvRC", "sub/.vscode/x"} {
		r := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": path, "content": "x"})
		id, _ := r.details()["approval_id"].(string)
		check.That(t, strings.HasPrefix(id, "apr_") && r.details()["expires_at"] != nil && strings.Contains(r.str("suggestion"), id),
			"%s: %s", path, r.Text)
		same := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": path, "content": "x"})
		check.Equal[any](t, same.details()["approval_id"], id, "%s: the same call made another request", path)
		again := b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": id})
		if s := again.str("suggestion"); strings.HasSuffix(strings.TrimSpace(s), ":") || s == "" {
			t.Errorf("the suggestion ends in nothing: %q", s)
		}
		b.wantRecord(`"kind":"decision"`, "APPROVAL_REQUIRED", path)
	}
	b.refused("APPROVAL_REQUIRED", "apply_patch", args{"session": s, "patch": patch("*** Update File: src/a.txt", "*** Move to: .envrc")})
}
