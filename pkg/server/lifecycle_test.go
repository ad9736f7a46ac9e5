package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// verifyYAML are intents whose end depends on commands.
const verifyYAML = `active_intents:
  - id: V-1 # one
    name: Verified
    status: IN_PROGRESS
    owned_scope: ["src/**"]
    verify: ["test -f src/a.txt", "test -f src/made.txt || { echo src/made.txt is missing; exit 4; }"]
  - id: V-2
    name: Another
    status: IN_PROGRESS
    owned_scope: ["docs/**"]
  - id: V-3
    name: Closed
    status: IN_PROGRESS
    owned_scope: ["x/**"]
    commands: {deny: ["touch"]}
    verify: ["touch ran"]
  - id: V-4
    name: Its verify changes the intent
    status: IN_PROGRESS
    verify: ["sed s/changes/changed/ .orchestration/active_intents.yaml > copy && cp copy .orchestration/active_intents.yaml"]
`

// An agent starts, blocks and ends intents; each step is one edit of the file
// and one record, and what the operator closed stays closed.
func TestUpdateIntent(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		b := start(t, newWorkspace(t)).connectAs(era)
		update := func(id, status, note string) args {
			a := args{"intent_id": id}
			if status != "" {
				a["status"] = status
			}
			if note != "" {
				a["note"] = note
			}
			return a
		}
		r := b.OK("update_intent", update("INT-002", "IN_PROGRESS", "beginning"))
		check.That(t, r.Str("from") == "TODO" && r.Str("status") == "IN_PROGRESS" && r.Str("record_id") != "", "%v", r.Object)
		b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-002"`, `"call":"update_intent"`, `"from":"TODO"`, `"note":"beginning"`, `"edit":{"after":"sha256:`, r.Str("record_id"))
		text := b.read(".orchestration/active_intents.yaml")
		check.That(t, strings.HasPrefix(text, "# The work of this test.\n") && strings.Contains(text, "started_at:"), "%s", text)
		lines := len(b.ledgerLines())
		again := b.OK("update_intent", update("INT-002", "IN_PROGRESS", ""))
		check.That(t, again.Str("record_id") == "" && len(b.ledgerLines()) == lines, "a record of nothing: %v", again.Object)
		b.OK("update_intent", update("INT-002", "", "half of it"))
		b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"INT-002"`, `"note":"half of it"`)

		s := b.Selects("INT-001")
		b.OK("update_intent", args{"intent_id": "INT-001", "status": "BLOCKED", "note": "no key", "session": s})
		b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"session": s, "path": "src/x", "content": "x"})
		stuck := b.Refused("INTENT_NOT_ACTIVE", "update_intent", update("INT-001", "IN_PROGRESS", ""))
		check.That(t, stuck.Str("action_hint") == "ask_user" && strings.Contains(stuck.Str("suggestion"), "orchestra-mcp intents start INT-001"),
			"%v", stuck.Object)
		done := b.Refused("INTENT_NOT_ACTIVE", "update_intent", update("INT-003", "IN_PROGRESS", ""))
		check.That(t, strings.Contains(done.Str("suggestion"), "intents reopen INT-003"), "%v", done.Object)
		b.Refused("INTENT_NOT_ACTIVE", "update_intent", update("INT-004", "DONE", ""))
		b.OK("update_intent", update("INT-005", "COMPLETED", ""))
		b.Refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-005"})

		b.Refused("MISSING_OR_INVALID_INTENT", "update_intent", update("INT-999", "DONE", ""))
		b.Refused("INVALID_ARGUMENTS", "update_intent", update("INT-002", "", ""))
		b.Refused("INVALID_ARGUMENTS", "update_intent", update("INT-002", "TODO", ""))
		check.Write(t, b.dir, ".intentignore", "intent:INT-002\n")
		b.Refused("INTENT_IGNORED", "update_intent", update("INT-002", "DONE", ""))
		check.Write(t, b.dir, ".orchestration/active_intents.yaml", "active_intents: [")
		b.Refused("INTENTS_UNREADABLE", "update_intent", update("INT-002", "DONE", ""))
	}
}

// Done means that the verify commands passed, under the law for commands: a selected intent, the gate, a record of each.
func TestDoneRunsVerify(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", verifyYAML)
	b := start(t, dir, unsandboxed).connect() // one of the commands writes the intents
	done := func(id string, more args) args {
		a := args{"intent_id": id, "status": "DONE"}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	unselected := b.Refused("MISSING_OR_INVALID_INTENT", "update_intent", done("V-1", nil))
	check.That(t, strings.Contains(unselected.Str("suggestion"), "select_active_intent with V-1"), "%v", unselected.Object)
	s := b.Selects("V-1")
	other := b.Selects("V-2")
	b.Refused("INTENT_MISMATCH", "update_intent", done("V-1", args{"session": other}))

	failed := b.Refused("VERIFY_FAILED", "update_intent", done("V-1", args{"session": s}))
	d := failed.Details()
	if d["exit_code"] != 4.0 || !strings.Contains(fmt.Sprint(d["output"]), "is missing") || len(d["passed"].([]any)) != 1 || failed.Str("action_hint") != "follow_constraints" {
		t.Errorf("%v", failed.Object)
	}
	b.wantRecord(`"kind":"command"`, `"intent_id":"V-1"`, `"exit_code":4`, fmt.Sprint(d["record_id"]))
	b.OK("write_to_file", args{"session": s, "path": "src/made.txt", "content": "x"})
	r := b.OK("update_intent", done("V-1", args{"session": s, "note": "made"}))
	verified := r.Object["verified"].([]any)
	check.Must(t, len(verified) == 2 && r.Str("status") == "DONE", "%v", r.Object)
	b.wantRecord(`"kind":"lifecycle"`, r.Str("record_id"), `"note":"made"`, `"verified":[{"command":"test -f src/a.txt"`, verified[1].(map[string]any)["record_id"].(string))
	b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"session": s, "path": "src/x", "content": "x"})

	three := b.Selects("V-3")
	closed := b.Refused("COMMAND_BLOCKED", "update_intent", done("V-3", args{"session": three}))
	check.Equal(t, closed.Details()["verify_command"], "touch ran")
	_, err := os.Stat(filepath.Join(dir, "ran"))
	check.That(t, err != nil, "a command that the intent closes was run to verify it")
	four := b.Selects("V-4")
	wrong := b.Refused("COMMAND_OUT_OF_SCOPE", "update_intent", done("V-4", args{"session": four}))
	if !strings.Contains(wrong.Str("error"), "cannot be marked done, because its verify command") || !strings.Contains(wrong.Str("error"), "ran and changed") {
		t.Errorf("%v", wrong.Object)
	}
	check.That(t, !strings.Contains(b.read(".orchestration/active_intents.yaml"), "V-4\n    name: Its verify changed the intent\n    status: DONE"),
		"an intent is done that its verify commands changed")
}

// An operator's step is the operator's record, with the same verify commands.
func TestOperatorUpdatesIntent(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", verifyYAML)
	b, agent := start(t, dir).under("V-1")
	var progress strings.Builder
	step := server.IntentStep{IntentID: "V-1", Status: intent.Done, Progress: func(text string) { progress.WriteString(text) }}
	if _, err := b.server.UpdateIntent(t.Context(), step); err == nil || !strings.Contains(err.Error(), "VERIFY_FAILED") {
		t.Fatalf("%v", err)
	}
	if text := progress.String(); !strings.Contains(text, "verify 2 of 2") || !strings.Contains(text, "is missing") {
		t.Errorf("%q", text)
	}
	step.SkipVerify = true
	taken, err := b.server.UpdateIntent(t.Context(), step)
	check.Must(t, err == nil && taken.From == "IN_PROGRESS" && taken.Status == "DONE" && len(taken.Verified) == 0, "%+v %v", taken, err)
	b.wantRecord(`"kind":"lifecycle"`, `"type":"human"`, `"verify_skipped":["test -f src/a.txt"`, taken.RecordID)
	b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"session": agent, "path": "src/x", "content": "x"})
	if taken, err = b.server.UpdateIntent(t.Context(), server.IntentStep{IntentID: "V-1", Status: intent.InProgress}); err != nil || taken.From != "DONE" {
		t.Fatalf("%+v %v", taken, err)
	}
	b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"session": agent, "path": "src/x", "content": "x"})
	b.OK("write_to_file", args{"session": b.Selects("V-1"), "path": "src/x", "content": "x"})
}

// What a rule or a program of the operator's refuses does not run to verify an
// intent, whoever makes it done; what they would ask about is noted.
func TestOperatorsVerifyIsUnderTheLaw(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rule, hook, want string }{
		"rule refuses": {rule: "refuse", want: "RULE_VIOLATION"},
		"hook refuses": {hook: "echo no >&2; exit 2", want: "HOOK_BLOCKED"},
		"rule asks":    {rule: "ask"},
		"hook asks":    {hook: `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			text := "active_intents:\n  - id: V-1\n    name: V\n    status: IN_PROGRESS\n    verify: [\"touch ran\"]\n"
			if c.rule != "" {
				text += `    rules: [{name: no-touch, when: 'command.line.contains("touch")', action: ` + c.rule + "}]\n"
			}
			check.Write(t, dir, ".orchestration/active_intents.yaml", text)
			b := start(t, dir, func(o *server.Options) {
				if c.hook != "" {
					o.Settings.Hooks = []settings.Hook{{Event: settings.EventPre, Command: c.hook, Tools: []string{"Bash"}}}
				}
			}).connect()
			_, err := b.server.UpdateIntent(t.Context(), server.IntentStep{IntentID: "V-1", Status: intent.Done})
			_, missing := os.Stat(filepath.Join(dir, "ran"))
			switch {
			case c.want == "" && (err != nil || missing != nil):
				t.Fatalf("%v, %v", err, missing)
			case c.want == "":
				b.wantRecord(`"kind":"command"`, "The operator let it through.")
			case err == nil || !strings.Contains(err.Error(), c.want) || missing == nil:
				t.Fatalf("want %s: %v, ran: %v", c.want, err, missing == nil)
			}
		})
	}
}

// Steps of two processes on one file are both in the file and in the ledger.
func TestTwoServersUpdateIntents(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	var list strings.Builder
	list.WriteString("active_intents:\n")
	const intents = 12
	for i := range intents {
		fmt.Fprintf(&list, "  - {id: N-%d, name: N, status: TODO} # %d\n", i, i)
	}
	check.Write(t, dir, ".orchestration/active_intents.yaml", list.String())
	servers := []*bench{start(t, dir).connect(), start(t, dir).connect()}
	ended := make(chan error, intents)
	for i := range intents {
		go func() {
			step := server.IntentStep{IntentID: fmt.Sprintf("N-%d", i), Status: intent.InProgress}
			for {
				_, err := servers[i%2].server.UpdateIntent(t.Context(), step)
				if err == nil || !strings.Contains(err.Error(), "BUSY") {
					ended <- err
					return
				}
			}
		}()
	}
	for range intents {
		check.NoError(t, <-ended)
	}
	text := servers[0].read(".orchestration/active_intents.yaml")
	check.Equal(t, strings.Count(text, "status: IN_PROGRESS"), intents)
	for i := range intents {
		check.That(t, strings.Contains(text, fmt.Sprintf("} # %d\n", i)), "the comment of N-%d is lost", i)
		records := 0
		for _, line := range servers[0].ledgerLines() {
			if strings.Contains(line, `"kind":"lifecycle"`) && strings.Contains(line, fmt.Sprintf(`"intent_id":"N-%d"`, i)) {
				records++
			}
		}
		check.Equal(t, records, 1, "N-%d has", i)
	}
}

// An operator's edit of an intent is one edit of the file and one record of what it changed; one of an intent that was changed
// meanwhile, by whomever, is refused.
func TestOperatorEditsIntent(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/active_intents.yaml", verifyYAML)
	b := start(t, dir).connect()
	version := func(id string) string {
		root := check.Value(os.OpenRoot(dir))(t)
		defer root.Close()
		in, _ := check.Value(intent.Open(root).Load())(t).Get(id)
		return in.Version()
	}
	name, scope := "Renamed", []string{"docs/api/**", "docs/x.md"}
	edit := intent.Edit{Version: version("V-2"), Name: &name, OwnedScope: &scope}
	check.OK(t, b.server.EditIntent(t.Context(), "V-2", edit))
	want := strings.NewReplacer("name: Another", "name: Renamed", `["docs/**"]`, `["docs/api/**", "docs/x.md"]`).Replace(verifyYAML)
	check.Equal(t, b.read(".orchestration/active_intents.yaml"), want)
	b.wantRecord(`"kind":"lifecycle"`, `"intent_id":"V-2"`, `"call":"edit_intent"`, `"edited":["name","owned_scope"]`,
		`"before":{"name":"Another","owned_scope":["docs/**"]}`, `"after":{"name":"Renamed","owned_scope":["docs/api/**","docs/x.md"]}`, `"edit":{"after":"sha256:`)
	lines := len(b.ledgerLines())
	edit.Version = version("V-2")
	check.OK(t, b.server.EditIntent(t.Context(), "V-2", edit))
	check.Equal(t, len(b.ledgerLines()), lines, "records of an edit that changes nothing")

	stale := intent.Edit{Version: version("V-2"), Name: &name}
	_, err := b.server.UpdateIntent(t.Context(), server.IntentStep{IntentID: "V-2", Status: intent.Blocked})
	check.OK(t, err)
	outside := []string{"../x"}
	for code, edit := range map[string]struct {
		id   string
		edit intent.Edit
	}{
		"STALE_FILE":                {"V-2", stale},
		"INVALID_ARGUMENTS":         {"V-1", intent.Edit{Version: version("V-1"), OwnedScope: &outside}},
		"MISSING_OR_INVALID_INTENT": {"V-9", stale},
	} {
		r, refused := refusal.As(b.server.EditIntent(t.Context(), edit.id, edit.edit))
		check.That(t, refused && string(r.Code()) == code, "want %s: %v", code, r)
	}
}
