package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// request_scope_expansion is about the selected intent, else about intent_id;
// neither is MISSING_OR_INVALID_INTENT.
func TestRequestScopeExpansion(t *testing.T) {
	for _, era := range []string{legacy, modern} {
		b := start(t, newWorkspace(t)).connectAs(era)
		ask := func(more args) args {
			a := args{"paths": []string{"lib/**"}, "reason": "needed"}
			for k, v := range more {
				a[k] = v
			}
			return a
		}
		b.refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", ask(nil))
		b.refused("MISSING_OR_INVALID_INTENT", "request_scope_expansion", ask(args{"intent_id": "INT-999"}))
		r := b.ok("request_scope_expansion", ask(args{"intent_id": "INT-002"}))
		if !strings.Contains(r.str("operator_command"), "intents scope INT-002 --add 'lib/**'") || !strings.Contains(r.Text, r.str("operator_command")) {
			t.Errorf("%s", r.Text)
		}
		s := b.selects("INT-001")
		r = b.ok("request_scope_expansion", ask(args{"session": s}))
		if !strings.Contains(r.str("operator_command"), "intents scope INT-001") {
			t.Errorf("%s", r.Text)
		}
		b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-001"`, "request_scope_expansion", r.str("approval_id"))
		again := b.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": r.str("approval_id")})
		if again.details()["operator_command"] != r.str("operator_command") {
			t.Errorf("%v", again.Object)
		}
		write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, `["src/**", "go.mod"]`, `["src/**", "lib/**"]`, 1))
		if done := b.ok("resume_approval", args{"approval_id": r.str("approval_id")}); done.str("status") != "done" {
			t.Errorf("%v", done.Object)
		}
		b.ok("write_to_file", args{"session": s, "path": "lib/x", "content": "x"})

		b.refused("PROTECTED_PATH", "request_scope_expansion", ask(args{"session": s, "paths": []string{".git/**"}}))
		b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask(args{"session": s, "paths": []string{"../**"}}))
		b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask(args{"session": s, "paths": []string{}}))
		b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask(args{"session": s, "reason": strings.Repeat("x", 5000)}))
		write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: OPEN, name: open, status: IN_PROGRESS}\n")
		b.refused("INVALID_ARGUMENTS", "request_scope_expansion", ask(args{"session": b.selects("OPEN")}))
	}
}

// The suggestion of a scope refusal can be followed to the letter, also for
// names with characters that globs use.
func TestScopeSuggestionCanBeFollowed(t *testing.T) {
	for _, path := range []string{"app/[id]/page{1}.tsx", "app/what?.ts", "app/a*b", "!app/x", "app/plain.ts"} {
		b := start(t, newWorkspace(t)).connect()
		b.selects("INT-001")
		r := b.refused("SCOPE_VIOLATION", "write_to_file", args{"path": path, "content": "x"})
		_, rest, _ := strings.Cut(r.str("suggestion"), "paths: [")
		quoted, _, _ := strings.Cut(rest, "] and")
		var glob string
		if _, err := fmt.Sscanf(quoted, "%q", &glob); err != nil {
			t.Fatalf("%s: %v", r.str("suggestion"), err)
		}
		b.ok("request_scope_expansion", args{"paths": []string{glob}, "reason": "r"})
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

// What an operator is to paste is one shell command with the agent's words as
// words: nothing in them runs or hides.
func TestOperatorCommandCannotBeForged(t *testing.T) {
	b := start(t, newWorkspace(t)).connect()
	hostile := "x'; touch pwned; echo '$(touch pwned)`touch pwned`\n\u202e\u200b-rf\x1b[2J"
	r := b.ok("propose_intent", args{
		"name": hostile, "owned_scope": []string{"new/$(touch pwned)/**"}, "description": hostile,
		"constraints": []string{hostile}, "acceptance_criteria": []string{"it's done"},
	})
	line := r.str("operator_command")
	for _, bad := range []string{"\n", "\u202e", "\u200b", "\x1b"} {
		if strings.Contains(line, bad) {
			t.Errorf("the command has %q", bad)
		}
	}
	bin := t.TempDir()
	write(t, bin, "orchestra-mcp", "#!/bin/sh\nprintf '%s\\n' \"$#\"\n")
	if err := os.Chmod(bin+"/orchestra-mcp", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = bin, []string{"PATH=" + bin + ":/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "12\n" {
		t.Errorf("%s\ncame to %q, %v", line, out, err)
	}
	if _, err := os.Stat(bin + "/pwned"); err == nil {
		t.Error("the agent's words were run")
	}
}

// A request expires, and says how to go on.
func TestRequestsExpire(t *testing.T) {
	now := time.Now()
	b := start(t, newWorkspace(t), func(o *server.Options) { o.Clock = func() time.Time { return now } }).connect()
	r := b.ok("propose_intent", args{"name": "n", "owned_scope": []string{"n/**"}, "description": "d"})
	now = now.Add(25 * time.Hour)
	gone := b.refused("FILE_NOT_FOUND", "resume_approval", args{"approval_id": r.str("approval_id")})
	if gone.str("action_hint") != "ask_user" {
		t.Errorf("%v", gone.Object)
	}
}

// Governance tools need no selected intent, but a readable file and a ledger.
func TestGovernanceToolsNeedTheFile(t *testing.T) {
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
