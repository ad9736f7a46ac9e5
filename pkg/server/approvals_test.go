package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// asks has the settings put everything askable to the operator.
func asks(o *server.Options) {
	a := &o.Settings.Approvals
	a.ScopeViolation, a.IgnoredPath, a.MissingIntent, a.ProgramConfig = settings.Ask, settings.Ask, settings.Ask, settings.Ask
}

// waits has calls wait for an answer that is sure to come.
func waits(o *server.Options) { o.Settings.Approvals.Wait = time.Minute }

// inbox is the operator's side, as another process of the same user has it.
func (b *bench) inbox() *approval.Store {
	b.t.Helper()
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	b.t.Cleanup(func() { root.Close() })
	return approval.Open(root, approval.Options{UserDir: settings.UserDir(os.Environ())})
}

func (b *bench) answers(id string, d approval.Decision, reason string) {
	b.t.Helper()
	_, _, err := b.inbox().Answer(id, approval.Answer{Decision: d, Reason: reason, By: "op", Via: approval.Inbox})
	check.OK(b.t, err)
}

// required makes a call that has to be answered, and returns the request.
func (b *bench) required(tool string, a args) string {
	b.t.Helper()
	id, _ := b.refused("APPROVAL_REQUIRED", tool, a).details()["approval_id"].(string)
	check.Must(b.t, strings.HasPrefix(id, "apr_"), "no id")
	return id
}

func TestApprovedCallPassesOnceAndNoOther(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"same call", "resume_approval"} {
		t.Run(how, func(t *testing.T) {
			b, s := start(t, newWorkspace(t), asks).under("INT-001")
			call := args{"session": s, "path": "docs/n.md", "content": "new\n"}
			id := b.required("write_to_file", call)
			b.answers(id, approval.Once, "")
			other := args{"session": s, "path": "docs/n.md", "content": "other\n"}
			check.Must(t, b.required("write_to_file", other) != id, "another content is the same request")
			if how == "same call" {
				b.ok("write_to_file", call)
			} else {
				r := b.ok("resume_approval", args{"session": s, "approval_id": id})
				check.That(t, r.str("status") == "executed" && r.str("tool") == "write_to_file" && strings.Contains(r.Text, "docs/n.md"),
					"%v", r.Object)
				b.refused("FILE_NOT_FOUND", "resume_approval", args{"session": s, "approval_id": id})
			}
			check.Equal(t, b.read("docs/n.md"), "new\n", "wrote")
			check.OK(t, os.Remove(filepath.Join(b.dir, "docs/n.md")))
			again := b.call("write_to_file", call)
			check.That(t, again.Error, "approved once, and it passed twice")
			b.wantRecord(`"outcome":"asked"`, id, "SCOPE_VIOLATION")
		})
	}
}

func TestDeniedCallSaysTheOperatorsWords(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	call := args{"session": s, "path": "docs/n.md", "content": "x"}
	id := b.required("write_to_file", call)
	b.answers(id, approval.Deny, "not \u202ein docs")
	for _, r := range []reply{
		b.refused("APPROVAL_REJECTED", "write_to_file", call),
		b.refused("APPROVAL_REJECTED", "resume_approval", args{"session": s, "approval_id": id}),
	} {
		check.That(t, r.details()["operator_reason"] == "not \u202ein docs" && !strings.Contains(r.str("error"), "\u202e"), "%s", r.Text)
	}
	check.OK(t, b.inbox().Revoke(id))
	check.That(t, b.required("write_to_file", call) != id, "a request that was taken back is asked about again")
}

// What changed since the question voids the answer.
func TestApprovalOfWhatChangedIsVoid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench){
		"file": func(b *bench) { check.Write(b.t, b.dir, "docs/other.md", "# Another\n") },
		"intent": func(b *bench) {
			check.Write(b.t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "Serve the weather.", "Serve it.", 1))
		},
		"link": func(b *bench) {
			_ = os.Remove(filepath.Join(b.dir, "docs/other.md"))
			check.Write(b.t, b.dir, "lib/target.md", "# Other\n")
			if err := os.Symlink("../lib/target.md", filepath.Join(b.dir, "docs/other.md")); err != nil {
				b.t.Skip("no links")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := start(t, newWorkspace(t), asks).under("INT-001")
			call := args{"session": s, "path": "docs/other.md", "old_string": "#", "new_string": "##"}
			id := b.required("edit_file", call)
			b.answers(id, approval.Once, "")
			change(b)
			if r := b.call("edit_file", call); !r.Error {
				t.Errorf("passed: %s", r.Text)
			} else if r.details()["approval_id"] == id {
				t.Error("the same question was put")
			}
			r := b.call("resume_approval", args{"session": s, "approval_id": id})
			check.That(t, r.Error, "resumed: %s", r.Text)
			check.That(t, !strings.Contains(b.read("docs/other.md"), "##"), "it was changed")
		})
	}
}

func TestGrantLastsUntilTheIntentEnds(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	put := func(path, content string) args { return args{"session": s, "path": path, "content": content} }
	b.answers(b.required("write_to_file", put("docs/a.md", "1")), approval.ForIntent, "")
	b.ok("write_to_file", put("docs/a.md", "1"))
	b.ok("write_to_file", put("docs/a.md", "2"))
	b.required("write_to_file", put("docs/b.md", "1"))
	b.required("apply_patch", args{"session": s, "patch": patch("*** Update File: docs/a.md", "@@", "-2", "+3", "*** Add File: docs/c.md", "+x")})
	// A link in the granted place leads elsewhere.
	b.answers(b.required("write_to_file", put("docs/link.md", "1")), approval.ForIntent, "")
	b.ok("write_to_file", put("docs/link.md", "1"))
	check.Write(t, b.dir, "lib/target", "x")
	_ = os.Remove(filepath.Join(b.dir, "docs/link.md"))
	if err := os.Symlink("../lib/target", filepath.Join(b.dir, "docs/link.md")); err == nil {
		b.required("edit_file", args{"session": s, "path": "docs/link.md", "old_string": "x", "new_string": "y"})
	}
	done := strings.Replace(intentsYAML, "status: IN_PROGRESS", "status: DONE", 1)
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", done)
	other := b.selects("INT-002")
	b.required("write_to_file", args{"session": other, "path": "lib/x", "content": "x"})
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML)
	s = b.selects("INT-001")
	b.required("write_to_file", put("docs/a.md", "3"))
	grants, err := b.inbox().Grants()
	check.That(t, err == nil && len(grants) == 0, "%+v %v", grants, err)
}

// An intent that an agent blocks and the operator opens again has no grants,
// also if nobody looked in between.
func TestGrantEndsWithTheStepThatEndsItsIntent(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-001")
	put := args{"session": s, "path": "docs/a.md", "content": "1"}
	b.answers(b.required("write_to_file", put), approval.ForIntent, "")
	b.ok("write_to_file", put)
	b.ok("update_intent", args{"session": s, "intent_id": "INT-001", "status": "BLOCKED", "note": "waiting"})
	grants, err := b.inbox().Grants()
	check.That(t, err == nil && len(grants) == 0, "the grants of a blocked intent stand: %+v %v", grants, err)
}

func TestProtectedPathsAreApprovedOnce(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), asks).under("INT-005")
	call := args{"session": s, "path": ".envrc", "content": "x"}
	id := b.required("write_to_file", call)
	_, _, err := b.inbox().Answer(id, approval.Answer{Decision: approval.ForIntent})
	check.That(t, err != nil, "a protected path was granted")
	b.answers(id, approval.Once, "")
	b.ok("write_to_file", call)
	// What no check may ask about is not asked about.
	b.refused("PROTECTED_PATH", "write_to_file", args{"session": s, "path": ".git/config", "content": "x"})
}

func TestMissingIntentIsRecordedAsUntracked(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), asks).connect()
	call := args{"path": "src/n", "content": "x"}
	b.answers(b.required("write_to_file", call), approval.Once, "")
	b.ok("write_to_file", call)
	b.wantRecord(`"kind":"mutation"`, `"intent_id":"UNTRACKED"`, "src/n")
}

func TestSelectionIsPutToTheOperator(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Approvals.SelectIntent = settings.Ask }).connect()
	id := b.required("select_active_intent", args{"intent_id": "INT-001"})
	b.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
	b.answers(id, approval.Once, "")
	check.That(t, b.required("select_active_intent", args{"intent_id": "INT-002"}) != id, "another intent is the same question")
	s := b.selects("INT-001")
	b.ok("write_to_file", args{"session": s, "path": "src/n", "content": "x"})
}

// approve: puts every change under the intent to the operator.
func TestApproveDirective(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-001\n")
	b, s := start(t, dir).under("INT-001")
	b.answers(b.required("execute_command", args{"session": s, "command": "echo hi"}), approval.Once, "")
	b.ok("execute_command", args{"session": s, "command": "echo hi"})
	b.required("execute_command", args{"session": s, "command": "echo hi"})
	b.required("execute_command", args{"session": s, "command": "echo hi", "timeout": 7})
}
