package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// briefly has calls give up waiting for the operator at once, and shares the
// inbox with operator.
func briefly(t *testing.T) func(*server.Options) {
	dir := filepath.Join(t.TempDir(), "user")
	return func(o *server.Options) {
		o.UserDir = dir
		o.Settings.Approvals.Wait = time.Millisecond
	}
}

// operator is the inbox of the workspace as another process of the user has it.
func (b *bench) operator(setting func(*server.Options)) *approval.Store {
	b.t.Helper()
	var o server.Options
	setting(&o)
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = root.Close() })
	return approval.Open(root, approval.Options{UserDir: o.UserDir})
}

// asks demands that a call waits for the operator, and gives the request.
func (b *bench) asks(inbox *approval.Store, tool string, arguments args) approval.Request {
	b.t.Helper()
	id, _ := b.refused("APPROVAL_REQUIRED", tool, arguments).details()["approval_id"].(string)
	r, err := inbox.Get(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func answers(t *testing.T, inbox *approval.Store, r approval.Request, d approval.Decision, reason string) {
	t.Helper()
	if _, _, err := inbox.Answer(r.ID, approval.Answer{Decision: d, Reason: reason, By: "tester", Via: approval.Inbox}); err != nil {
		t.Fatal(err)
	}
}

// A proposal is shown as the very change of the file, and after a yes stands
// in it: comments kept, one record, the approval in it. It passes once.
func TestProposedIntentStandsAfterAYes(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		way := briefly(t)
		b := start(t, newWorkspace(t), way).connectAs(era)
		inbox := b.operator(way)
		proposal := args{"name": "New: work", "owned_scope": []string{"new/**"}, "description": "Because.", "constraints": []string{"C"}, "acceptance_criteria": []string{"D"}}
		r := b.asks(inbox, "propose_intent", proposal)
		if b.read(".orchestration/active_intents.yaml") != intentsYAML {
			t.Fatal("the file was changed before the yes")
		}
		if len(r.Diffs) != 1 || !strings.Contains(r.Diffs[0].Hunks, "+  - id: INT-006\n") || strings.Contains(r.Diffs[0].Hunks, "\n-") || !r.Once {
			t.Fatalf("%+v", r)
		}
		answers(t, inbox, r, approval.Once, "")
		done := b.ok("resume_approval", args{"approval_id": r.ID})
		result := done.Object["result"].(map[string]any)
		if result["intent_id"] != "INT-006" || result["status"] != "TODO" {
			t.Errorf("%v", done.Object)
		}
		text := b.read(".orchestration/active_intents.yaml")
		if !strings.HasPrefix(text, intentsYAML) || !strings.Contains(text, "Because.") {
			t.Errorf("%s", text)
		}
		b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-006"`, `"call":"propose_intent"`, r.ID, `"edit":{"after"`)
		b.wantRecord(`"kind":"decision"`, `"outcome":"asked"`, r.ID)
		b.ok("write_to_file", args{"session": b.selects("INT-006"), "path": "new/x", "content": "x"})
		if again := b.ok("propose_intent", proposal); again.str("intent_id") != "INT-006" || again.str("record_id") != "" {
			t.Errorf("%v", again.Object)
		}
		b.refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": r.ID})
	}
}

// A scope is widened by the same call after a yes; a no reaches the agent in
// the operator's words and changes nothing.
func TestScopeExpansionIsAnswered(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	b := start(t, newWorkspace(t), way).connect()
	inbox := b.operator(way)
	s := b.selects("INT-001")
	wider := args{"session": s, "paths": []string{"lib/**"}, "reason": "needed"}
	b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "lib/x", "content": "x"})
	r := b.asks(inbox, "request_scope_expansion", wider)
	if !strings.Contains(r.Diffs[0].Hunks, `+    owned_scope: ["src/**", "go.mod", "lib/**"]`) || !strings.Contains(r.Checks[0].Reason, "needed") || r.IntentID != "INT-001" {
		t.Errorf("%+v", r)
	}
	answers(t, inbox, r, approval.Once, "")
	if done := b.ok("request_scope_expansion", wider); fmt.Sprint(done.Object["owned_scope"]) != "[src/** go.mod lib/**]" {
		t.Errorf("%v", done.Object)
	}
	b.ok("write_to_file", args{"session": s, "path": "lib/x", "content": "x"})
	b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-001"`, `"scope_added":["lib/**"]`, `"reason":"needed"`, r.ID)
	if again := b.ok("request_scope_expansion", wider); again.str("record_id") != "" {
		t.Errorf("%v", again.Object)
	}

	other := args{"session": s, "paths": []string{"web/**"}, "reason": "also"}
	no := b.asks(inbox, "request_scope_expansion", other)
	before := b.read(".orchestration/active_intents.yaml")
	answers(t, inbox, no, approval.Deny, "not the web")
	denied := b.refused("APPROVAL_REJECTED", "request_scope_expansion", other)
	if !strings.Contains(denied.str("error"), "not the web") || b.read(".orchestration/active_intents.yaml") != before {
		t.Errorf("%v", denied.Object)
	}
	if _, _, err := inbox.Answer(b.asks(inbox, "request_scope_expansion", args{"session": s, "paths": []string{"x/**"}, "reason": "r"}).ID, approval.Answer{Decision: approval.ForIntent, Via: approval.Inbox}); err == nil {
		t.Error("changes of the intents can be granted beforehand")
	}
}

// The yes is to the difference that was shown: on another file it is void.
func TestApprovedProposalIsBoundToTheFile(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	b := start(t, newWorkspace(t), way).connect()
	inbox := b.operator(way)
	wider := args{"intent_id": "INT-002", "paths": []string{"lib/**"}, "reason": "needed"}
	r := b.asks(inbox, "request_scope_expansion", wider)
	answers(t, inbox, r, approval.Once, "")
	write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML+"# by hand\n")
	if anew := b.asks(inbox, "request_scope_expansion", wider); anew.ID == r.ID || anew.Digest == r.Digest {
		t.Errorf("the approval of another file was taken for this: %+v", anew)
	}
	if text := b.read(".orchestration/active_intents.yaml"); text != intentsYAML+"# by hand\n" {
		t.Errorf("%s", text)
	}
}

// What no yes could make work is refused before anybody is asked.
func TestProposalsThatCannotStand(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	write(t, dir, ".intentignore", "secret:keys/\nsecret:*.pem\nintent:INT-005\n")
	b := start(t, dir, way).connect()
	ask := func(path string, more args) args {
		a := args{"intent_id": "INT-001", "paths": []string{"ok/**", path}, "reason": "r"}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	for path, code := range map[string]string{
		".git/**": "PROTECTED_PATH", ".GIT/config": "PROTECTED_PATH", "sub/.orchestration": "PROTECTED_PATH", "{src,.git}/**": "PROTECTED_PATH",
		".g[i]t/**": "PROTECTED_PATH", "a/.gi?/b": "PROTECTED_PATH", `.gi\t/x`: "PROTECTED_PATH", "**/.intentignore": "PROTECTED_PATH",
		"../out": "INVALID_ARGUMENTS", "/etc/**": "INVALID_ARGUMENTS", "a/../../b": "INVALID_ARGUMENTS", "[": "INVALID_ARGUMENTS", "!x": "INVALID_ARGUMENTS",
		"keys/**": "INTENTIGNORE_PATH_BLOCKED", "deploy/key.pem": "INTENTIGNORE_PATH_BLOCKED",
	} {
		b.refused(code, "request_scope_expansion", ask(path, nil))
		b.refused(code, "propose_intent", args{"name": "n", "description": "d", "owned_scope": []string{path}})
	}
	b.refused("INTENT_NOT_ACTIVE", "request_scope_expansion", ask("x", args{"intent_id": "INT-003"}))
	b.refused("INTENT_IGNORED", "request_scope_expansion", ask("x", args{"intent_id": "INT-005"}))
	b.refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", ask("x", args{"intent_id": "INT-999"}))
	b.refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", args{"paths": []string{"x"}, "reason": "r"})
	b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask("x", args{"reason": strings.Repeat("x", 5000)}))
	if pending, err := os.ReadDir(filepath.Join(dir, ".orchestration/state/approvals")); err == nil && len(pending) > 0 {
		t.Errorf("%d requests were made", len(pending))
	}
	write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: OPEN, name: open, status: IN_PROGRESS}\n")
	b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask("x", args{"intent_id": "OPEN"}))
}

// Under an approve: line the operator is asked for each step of the intent.
func TestStepsOfAWatchedIntentAreAsked(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	write(t, dir, ".intentignore", "approve:INT-002\n")
	b := start(t, dir, way).connect()
	inbox := b.operator(way)
	step := args{"intent_id": "INT-002", "status": "DONE"}
	r := b.asks(inbox, "update_intent", step)
	if !strings.Contains(r.Diffs[0].Hunks, "+    status: DONE") {
		t.Errorf("%+v", r)
	}
	answers(t, inbox, r, approval.Once, "")
	b.ok("update_intent", step)
	b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-002"`, `"from":"TODO"`, r.ID)
	b.ok("update_intent", args{"intent_id": "INT-001", "status": "BLOCKED"})
}
