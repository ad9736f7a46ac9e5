package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// The suggestion of a scope refusal can be followed to the letter, also for
// names with characters that globs use.
func TestScopeSuggestionCanBeFollowed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"app/[id]/page{1}.tsx", "app/what?.ts", "app/a*b", "!app/x", "app/plain.ts"} {
		b := start(t, newWorkspace(t), briefly(t)).connect()
		b.selects("INT-001")
		r := b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": path, "content": "x"})
		_, rest, _ := strings.Cut(r.str("suggestion"), "paths: [")
		quoted, _, _ := strings.Cut(rest, "] and")
		var glob string
		if _, err := fmt.Sscanf(quoted, "%q", &glob); err != nil {
			t.Fatalf("%s: %v", r.str("suggestion"), err)
		}
		b.refused("APPROVAL_REQUIRED", "request_scope_expansion", args{"paths": []string{glob}, "reason": "r"})
		scope, err := intent.CompileScope([]string{glob})
		if err != nil || !scope.Match(path) {
			t.Errorf("%s does not cover %s: %v", glob, path, err)
		}
		b.refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-0"})
		if covering := fmt.Sprint(r.details()["covering_intents"]); covering != "[INT-005]" || !strings.Contains(r.str("suggestion"), "INT-005") {
			t.Errorf("covering: %s; %s", covering, r.str("suggestion"))
		}
	}
}

// A request expires, and says how to go on.
func TestRequestsExpire(t *testing.T) {
	t.Parallel()
	now := clockFrom(time.Now())
	b := start(t, newWorkspace(t), briefly(t), now.set).connect()
	r := b.refused("APPROVAL_REQUIRED", "propose_intent", args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"})
	now.forward(25 * time.Hour)
	gone := b.refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": r.details()["approval_id"]})
	if gone.str("action_hint") != "ask_user" {
		t.Errorf("%v", gone.Object)
	}
}

// Governance tools need no selected intent, but a readable file and a ledger.
func TestGovernanceToolsNeedTheFile(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents: [\n")
	propose := args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"}
	b.refused("INTENTS_UNREADABLE", "propose_intent", propose)
	for _, tool := range []string{"list_intents", "get_active_intent"} {
		r := b.refused("INTENTS_UNREADABLE", tool, args{})
		if r.details()["line"] == nil || !strings.Contains(r.str("suggestion"), "orchestra-mcp intents validate") {
			t.Errorf("%s: %v", tool, r.Object)
		}
	}
	b.refused("INTENTS_UNREADABLE", "select_active_intent", args{"intent_id": "INT-001"})
}

// list_intents filters by status in both vocabularies and says what can be selected.
func TestListIntents(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	write(t, dir, ".intentignore", "intent:INT-005\n")
	b := start(t, dir).connect()
	for status, want := range map[string]string{"": "INT-001 INT-002 INT-003! INT-004! INT-005!", "TODO": "INT-002", "PENDING": "INT-002", "DONE": "INT-003!", "COMPLETED": "INT-003!", "BLOCKED": "INT-004!"} {
		arguments := args{}
		if status != "" {
			arguments["status"] = status
		}
		r := b.ok("list_intents", arguments)
		var got []string
		for _, in := range r.Object["intents"].([]any) {
			in := in.(map[string]any)
			id := in["id"].(string)
			if !strings.Contains(r.Text, id) {
				t.Errorf("the text lacks %s", id)
			}
			if in["selectable"] != true {
				id += "!"
			}
			got = append(got, id)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", status, got)
		}
	}
	b.refused("INVALID_ARGUMENTS", "list_intents", args{"status": "OPEN"})
}
