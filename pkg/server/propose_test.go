package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// briefly has calls give up waiting for the operator at once, and shares the inbox with operator.
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
	root := check.Value(os.OpenRoot(b.dir))(b.t)
	b.t.Cleanup(func() { _ = root.Close() })
	return approval.Open(root, approval.Options{UserDir: o.UserDir})
}

// asks demands that a call waits for the operator, and gives the request.
func (b *bench) asks(inbox *approval.Store, tool string, arguments args) approval.Request {
	b.t.Helper()
	id, _ := b.Refused("APPROVAL_REQUIRED", tool, arguments).Details()["approval_id"].(string)
	return check.Value(inbox.Get(id))(b.t)
}

func answers(t *testing.T, inbox *approval.Store, r approval.Request, d approval.Decision, reason string) {
	t.Helper()
	_, _, err := inbox.Answer(r.ID, approval.Answer{Decision: d, Reason: reason, By: "tester", Via: approval.Inbox})
	check.OK(t, err)
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
		check.Must(t, b.read(".orchestration/active_intents.yaml") == intentsYAML, "the file was changed before the yes")
		if len(r.Diffs) != 1 || !strings.Contains(r.Diffs[0].Hunks, "+  - id: INT-006\n") || strings.Contains(r.Diffs[0].Hunks, "\n-") || !r.Once {
			t.Fatalf("%+v", r)
		}
		answers(t, inbox, r, approval.Once, "")
		done := b.OK("resume_approval", args{"approval_id": r.ID})
		result := done.Object["result"].(map[string]any)
		check.That(t, result["intent_id"] == "INT-006" && result["status"] == "TODO", "%v", done.Object)
		text := b.read(".orchestration/active_intents.yaml")
		check.That(t, strings.HasPrefix(text, intentsYAML) && strings.Contains(text, "Because."), "%s", text)
		b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-006"`, `"call":"propose_intent"`, r.ID, `"edit":{"after"`)
		b.wantRecord(`"kind":"decision"`, `"outcome":"asked"`, r.ID)
		b.OK("write_to_file", args{"session": b.Selects("INT-006"), "path": "new/x", "content": "x"})
		again := b.OK("propose_intent", proposal)
		check.That(t, again.Str("intent_id") == "INT-006" && again.Str("record_id") == "", "%v", again.Object)
		b.Refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": r.ID})
	}
}

// A scope is widened by the same call after a yes; a no reaches the agent in the operator's words and changes nothing.
func TestScopeExpansionIsAnswered(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	b := start(t, newWorkspace(t), way).connect()
	inbox := b.operator(way)
	s := b.Selects("INT-001")
	wider := args{"session": s, "paths": []string{"lib/**"}, "reason": "needed"}
	b.Refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "lib/x", "content": "x"})
	r := b.asks(inbox, "request_scope_expansion", wider)
	if !strings.Contains(r.Diffs[0].Hunks, `+    owned_scope: ["src/**", "go.mod", "lib/**"]`) || !strings.Contains(r.Checks[0].Reason, "needed") || r.IntentID != "INT-001" {
		t.Errorf("%+v", r)
	}
	answers(t, inbox, r, approval.Once, "")
	done := b.OK("request_scope_expansion", wider)
	check.That(t, fmt.Sprint(done.Object["owned_scope"]) == "[src/** go.mod lib/**]", "%v", done.Object)
	b.OK("write_to_file", args{"session": s, "path": "lib/x", "content": "x"})
	b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-001"`, `"scope_added":["lib/**"]`, `"reason":"needed"`, r.ID)
	check.Equal(t, b.OK("request_scope_expansion", wider).Str("record_id"), "")

	other := args{"session": s, "paths": []string{"web/**"}, "reason": "also"}
	no := b.asks(inbox, "request_scope_expansion", other)
	before := b.read(".orchestration/active_intents.yaml")
	answers(t, inbox, no, approval.Deny, "not the web")
	denied := b.Refused("APPROVAL_REJECTED", "request_scope_expansion", other)
	check.That(t, strings.Contains(denied.Str("error"), "not the web") && b.read(".orchestration/active_intents.yaml") == before, "%v", denied.Object)
	_, _, err := inbox.Answer(b.asks(inbox, "request_scope_expansion", args{"session": s, "paths": []string{"x/**"}, "reason": "r"}).ID, approval.Answer{Decision: approval.ForIntent, Via: approval.Inbox})
	check.That(t, err != nil, "changes of the intents can be granted beforehand")
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
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML+"# by hand\n")
	anew := b.asks(inbox, "request_scope_expansion", wider)
	check.That(t, anew.ID != r.ID && anew.Digest != r.Digest, "the approval of another file was taken for this: %+v", anew)
	check.Equal(t, b.read(".orchestration/active_intents.yaml"), intentsYAML+"# by hand\n")
}

// What no yes could make work is refused before anybody is asked.
func TestProposalsThatCannotStand(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "secret:keys/\nsecret:*.pem\nintent:INT-005\n")
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
		b.Refused(code, "request_scope_expansion", ask(path, nil))
		b.Refused(code, "propose_intent", args{"name": "n", "description": "d", "owned_scope": []string{path}})
	}
	b.Refused("INTENT_NOT_ACTIVE", "request_scope_expansion", ask("x", args{"intent_id": "INT-003"}))
	b.Refused("INTENT_IGNORED", "request_scope_expansion", ask("x", args{"intent_id": "INT-005"}))
	b.Refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", ask("x", args{"intent_id": "INT-999"}))
	b.Refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", args{"paths": []string{"x"}, "reason": "r"})
	b.Refused("INVALID_ARGUMENTS", "request_scope_expansion", ask("x", args{"reason": strings.Repeat("x", 5000)}))
	pending, err := os.ReadDir(filepath.Join(dir, ".orchestration/state/approvals"))
	check.That(t, err != nil || len(pending) == 0, "%d requests were made", len(pending))
	check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: OPEN, name: open, status: IN_PROGRESS}\n")
	b.Refused("INVALID_ARGUMENTS", "request_scope_expansion", ask("x", args{"intent_id": "OPEN"}))
}

// Under an approve: line the operator is asked for each step of the intent.
func TestStepsOfAWatchedIntentAreAsked(t *testing.T) {
	t.Parallel()
	way := briefly(t)
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "approve:INT-002\n")
	b := start(t, dir, way).connect()
	inbox := b.operator(way)
	step := args{"intent_id": "INT-002", "status": "DONE"}
	r := b.asks(inbox, "update_intent", step)
	check.That(t, strings.Contains(r.Diffs[0].Hunks, "+    status: DONE"), "%+v", r)
	answers(t, inbox, r, approval.Once, "")
	b.OK("update_intent", step)
	b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-002"`, `"from":"TODO"`, r.ID)
	b.OK("update_intent", args{"intent_id": "INT-001", "status": "BLOCKED"})
}

// The suggestion of a scope refusal can be followed to the letter, also for names with characters that globs use.
func TestScopeSuggestionCanBeFollowed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"app/[id]/page{1}.tsx", "app/what?.ts", "app/a*b", "!app/x", "app/plain.ts"} {
		b, _ := start(t, newWorkspace(t), briefly(t)).under("INT-001")
		r := b.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": path, "content": "x"})
		_, rest, _ := strings.Cut(r.Str("suggestion"), "paths: [")
		quoted, _, _ := strings.Cut(rest, "] and")
		var glob string
		if _, err := fmt.Sscanf(quoted, "%q", &glob); err != nil {
			t.Fatalf("%s: %v", r.Str("suggestion"), err)
		}
		b.Refused("APPROVAL_REQUIRED", "request_scope_expansion", args{"paths": []string{glob}, "reason": "r"})
		scope, err := intent.CompileScope([]string{glob})
		check.That(t, err == nil && scope.Match(path), "%s does not cover %s: %v", glob, path, err)
		b.Refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-0"})
		if covering := fmt.Sprint(r.Details()["covering_intents"]); covering != "[INT-005]" || !strings.Contains(r.Str("suggestion"), "INT-005") {
			t.Errorf("covering: %s; %s", covering, r.Str("suggestion"))
		}
	}
}

// Governance tools need no selected intent, but a readable file and a ledger.
func TestGovernanceToolsNeedTheFile(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	check.Write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents: [\n")
	propose := args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"}
	b.Refused("INTENTS_UNREADABLE", "propose_intent", propose)
	for _, tool := range []string{"list_intents", "get_active_intent"} {
		r := b.Refused("INTENTS_UNREADABLE", tool, args{})
		check.That(t, r.Details()["line"] != nil && strings.Contains(r.Str("suggestion"), "orchestra-mcp intents validate"), "%s: %v", tool, r.Object)
	}
	b.Refused("INTENTS_UNREADABLE", "select_active_intent", args{"intent_id": "INT-001"})
}

// list_intents filters by status in both vocabularies and says what can be selected.
func TestListIntents(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".intentignore", "intent:INT-005\n")
	b := start(t, dir).connect()
	for status, want := range map[string]string{"": "INT-001 INT-002 INT-003! INT-004! INT-005!", "TODO": "INT-002", "PENDING": "INT-002", "DONE": "INT-003!", "COMPLETED": "INT-003!", "BLOCKED": "INT-004!"} {
		arguments := args{}
		if status != "" {
			arguments["status"] = status
		}
		r := b.OK("list_intents", arguments)
		var got []string
		for _, in := range r.Object["intents"].([]any) {
			in := in.(map[string]any)
			id := in["id"].(string)
			check.That(t, strings.Contains(r.Text, id), "the text lacks %s", id)
			if in["selectable"] != true {
				id += "!"
			}
			got = append(got, id)
		}
		check.Equal(t, strings.Join(got, " "), want, "%s: %v", status, got)
	}
	b.Refused("INVALID_ARGUMENTS", "list_intents", args{"status": "OPEN"})
}
