package server_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// The order of the gate: each fault is added in front of all that were there
// before it, and must win over all of them.
func TestTheFirstFailingStepWins(t *testing.T) {
	t.Parallel()
	zero := "sha256:" + strings.Repeat("0", 64)
	faults := []struct {
		code string
		set  func(t *testing.T, dir string, a args)
	}{
		{"DIFF_NOT_APPLIED", func(t *testing.T, dir string, a args) {
			write(t, dir, "src/a.txt", "one\n")
			a["path"], a["diff"] = "src/a.txt", "<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE"
		}},
		{"STALE_FILE", func(_ *testing.T, _ string, a args) { a["expected_content_hash"] = zero }},
		{"SCOPE_VIOLATION", func(t *testing.T, dir string, a args) {
			write(t, dir, "docs/x.key", "one\n")
			a["path"] = "docs/x.key"
		}},
		{"INTENTIGNORE_PATH_BLOCKED", func(t *testing.T, dir string, _ args) {
			write(t, dir, ".orchestration/.intentignore", "secret:*.key\n")
		}},
		{"PROTECTED_PATH", func(t *testing.T, dir string, a args) {
			write(t, dir, ".git/x.key", "one\n")
			a["path"] = ".git/x.key"
		}},
		{"PATH_OUTSIDE_WORKSPACE", func(_ *testing.T, _ string, a args) { a["path"] = "../.git/x.key" }},
		{"INTENT_MISMATCH", func(_ *testing.T, _ string, a args) { a["intent_id"] = "INT-005" }},
		{"INTENTS_UNREADABLE", func(t *testing.T, dir string, _ args) {
			write(t, dir, ".orchestration/active_intents.yaml", "active_intents: [\n")
		}},
		{"INVALID_ARGUMENTS", func(_ *testing.T, _ string, a args) { a["surprise"] = true }},
	}
	b := start(t, newWorkspace(t)).connect()
	call := args{"session": b.selects("INT-001")}
	for _, f := range faults {
		f.set(t, b.dir, call)
		r := b.refused(f.code, "apply_diff", call)
		if strings.Contains(r.Text, `one\n`) && f.code != "STALE_FILE" && f.code != "DIFF_NOT_APPLIED" {
			t.Errorf("%s quotes the file: %s", f.code, r.Text)
		}
	}
}

// Within step 4 and between steps, over every path: a hard failure of the
// last path stands before an askable one of the first.
func TestOrderOverSeveralPaths(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/.intentignore", "frozen/**\nsecret:*.key\n")
	b := start(t, dir).connect()
	b.selects("INT-005")
	for _, c := range []struct {
		code  string
		patch []string
	}{
		{"INTENTIGNORE_PATH_BLOCKED", []string{"*** Add File: .envrc", "+x", "*** Add File: frozen/a", "+x"}},
		{"INTENTIGNORE_PATH_BLOCKED", []string{"*** Add File: frozen/a", "+x", "*** Add File: a.key", "+x"}},
		{"PROTECTED_PATH", []string{"*** Add File: a.key", "+x", "*** Add File: .git/hooks/x", "+x"}},
		{"PATH_OUTSIDE_WORKSPACE", []string{"*** Add File: .git/x", "+x", "*** Add File: ../x", "+x"}},
		{"NOT_A_REGULAR_FILE", []string{"*** Add File: .git/x", "+x", "*** Add File: docs", "+x"}},
		{"PROTECTED_PATH", []string{"*** Update File: src/a.txt", "*** Move to: .git/hooks/pre-commit"}},
		{"INTENTIGNORE_PATH_BLOCKED", []string{"*** Update File: src/a.txt", "*** Move to: b.key"}},
	} {
		b.refused(c.code, "apply_patch", args{"patch": patch(c.patch...)})
	}
}

// Settings that this version cannot evaluate stop a call at their own step.
func TestStepsOfSettings(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/active_intents.yaml", `active_intents:
  - {id: INT-001, name: rules, status: IN_PROGRESS, owned_scope: ["src/**"], rules: [{name: r, when: 'true', action: refuse, message: m}]}
  - {id: INT-002, name: commands, status: IN_PROGRESS, owned_scope: ["src/**"], commands: {deny: ["true"]}}
  - {id: INT-003, name: open, status: IN_PROGRESS}
`)
	b := start(t, dir, func(o *server.Options) { o.Settings.Scope.Required = true }).connect()
	one, two, three := b.selects("INT-001"), b.selects("INT-002"), b.selects("INT-003")
	b.refused("RULE_VIOLATION", "write_to_file", args{"session": one, "path": "src/a.txt", "content": "x"})
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": one, "path": "a.txt", "content": "x"})
	b.refused("COMMAND_BLOCKED", "execute_command", args{"session": two, "command": "true"})
	b.refused("PROTECTED_PATH", "execute_command", args{"session": two, "command": "true", "cwd": ".git"})
	b.ok("write_to_file", args{"session": two, "path": "src/n.txt", "content": "x"})
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": three, "path": "src/n.txt", "content": "x"})
}

// A failure that is put aside to be asked about stands when a later check
// fails: nobody is asked, the later code is named, and no content is.
func TestAFailurePutAside(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".envrc", "export PASSWORD=hunter2\n")
	b := start(t, dir).connect()
	s := b.selects("INT-005")
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
		if r.details()["approval_id"] != nil || strings.Contains(r.Text, "hunter2") {
			t.Errorf("%s: asked, or quoted: %s", c.tool, r.Text)
		}
	}
	b.holds(map[string]string{".envrc": "export PASSWORD=hunter2\n"})
}

// Files of other programs need an approval inside the scope too. The request
// has an id, is recorded, and the refusal says how to go on.
func TestProgramConfigAsks(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	s := b.selects("INT-005")
	for _, path := range []string{".mcp.json", ".cursor/x", ".ROO/x", ".vscode/tasks.json", ".claude/settings.json", ".EnvRC", "sub/.vscode/x"} {
		r := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": path, "content": "x"})
		id, _ := r.details()["approval_id"].(string)
		if !strings.HasPrefix(id, "apr_") || r.details()["expires_at"] == nil || !strings.Contains(r.str("suggestion"), id) {
			t.Errorf("%s: %s", path, r.Text)
		}
		same := b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": path, "content": "x"})
		if same.details()["approval_id"] != id {
			t.Errorf("%s: the same call made another request", path)
		}
		again := b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": id})
		if s := again.str("suggestion"); strings.HasSuffix(strings.TrimSpace(s), ":") || s == "" {
			t.Errorf("the suggestion ends in nothing: %q", s)
		}
		b.wantRecord(`"kind":"decision"`, "APPROVAL_REQUIRED", path)
	}
	b.refused("APPROVAL_REQUIRED", "apply_patch", args{"session": s, "patch": patch("*** Update File: src/a.txt", "*** Move to: .envrc")})
}

// Where the settings say so, scope and ignored paths are asked about as well,
// and refuse where they say that.
func TestAskableFailures(t *testing.T) {
	t.Parallel()
	set := func(scope, ignored, missing, config hooks.Policy) func(*server.Options) {
		return func(o *server.Options) {
			a := &o.Settings.Approvals
			a.ScopeViolation, a.IgnoredPath = settings.Choice(scope), settings.Choice(ignored)
			a.MissingIntent, a.ProgramConfig = settings.Choice(missing), settings.Choice(config)
		}
	}
	for name, c := range map[string]struct {
		set                            func(*server.Options)
		scope, ignored, missing, rcode string
	}{
		"ask":    {set(hooks.PolicyAsk, hooks.PolicyAsk, hooks.PolicyAsk, hooks.PolicyAsk), "APPROVAL_REQUIRED", "APPROVAL_REQUIRED", "APPROVAL_REQUIRED", "APPROVAL_REQUIRED"},
		"refuse": {set(hooks.PolicyRefuse, hooks.PolicyRefuse, hooks.PolicyRefuse, hooks.PolicyRefuse), "SCOPE_VIOLATION", "INTENTIGNORE_PATH_BLOCKED", "MISSING_OR_INVALID_INTENT", "APPROVAL_REQUIRED"},
		"elicit": {set(hooks.PolicyElicit, hooks.PolicyElicit, hooks.PolicyElicit, hooks.PolicyElicit), "SCOPE_VIOLATION", "INTENTIGNORE_PATH_BLOCKED", "MISSING_OR_INVALID_INTENT", "APPROVAL_REQUIRED"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			write(t, dir, ".intentignore", "src/frozen/**\n")
			b := start(t, dir, c.set).connect()
			b.refused(c.missing, "write_to_file", args{"path": "src/n", "content": "x"})
			b.selects("INT-001")
			b.refused(c.scope, "write_to_file", args{"path": "docs/n", "content": "x"})
			b.refused(c.ignored, "write_to_file", args{"path": "src/frozen/n", "content": "x"})
			b.refused(c.rcode, "write_to_file", args{"path": "src/.envrc", "content": "x"})
			b.holds(map[string]string{"src/n": "", "docs/n": "", "src/frozen/n": "", "src/.envrc": ""})
		})
	}
}
