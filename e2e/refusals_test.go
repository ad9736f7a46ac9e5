package e2e_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// provocation is a situation in which a call is refused.
type provocation struct {
	code refusal.Code
	name string
	// strict asks for a server that requires a sandbox and allows small files
	// only.
	strict  bool
	provoke func(w *workspace, a agent)
}

// unprovoked are the codes that no call can bring about in this version, and
// why.
func unprovoked() map[refusal.Code]string {
	return map[refusal.Code]string{
		refusal.Cancelled:     "who cancels a call gets no answer",
		refusal.HookBlocked:   "see TestEmbeddedFaults",
		refusal.InternalError: "see TestEmbeddedFaults",
	}
}

func TestRefusals(t *testing.T) {
	provoked := make(map[refusal.Code]bool)
	for _, p := range provocations() {
		provoked[p.code] = true
	}
	for _, entry := range refusal.Catalogue() {
		if _, excused := unprovoked()[entry.Code]; excused == provoked[entry.Code] {
			t.Errorf("%s: provoked is %v, excused is %v", entry.Code, provoked[entry.Code], excused)
		}
	}
	for _, c := range connections() {
		if !slices.Contains([]string{"typescript1/stdio", "typescript1/http", "typescript2/http/modern"}, c.name) {
			continue // each client that validates what comes back, each era, each transport
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provokeAll(t, c, false, "ORCHESTRA_SANDBOX=off") // else the kernel keeps a command from what is out of scope
			provokeAll(t, c, true, "ORCHESTRA_SANDBOX=require", noFullLevel, "ORCHESTRA_LIMITS_FILE_SIZE=4KiB", "ORCHESTRA_MUTATION_CLASS=enforce")
		})
	}
}

// noFullLevel keeps a server from finding out whether the level full works.
const noFullLevel = "TMPDIR=/no/such/directory"

// provokeAll runs the provocations that need these settings against one
// server.
func provokeAll(t *testing.T, c connection, strict bool, settings ...string) {
	w := newWorkspace(t)
	w.write(".orchestration/active_intents.yaml", intentsYAML+refusingIntents)
	a := agent{t, c.connect(w, settings...)}
	var tools any
	a.get("listTools", nil, &tools) // the clients learn here what to validate against
	for _, p := range provocations() {
		if p.strict == strict {
			t.Run(string(p.code)+"/"+p.name, func(t *testing.T) { p.provoke(w.on(t), a.on(t)) })
		}
	}
}

// refusingIntents stand behind those of intentsYAML.
const refusingIntents = `  - id: INT-006
    name: With rules
    status: IN_PROGRESS
    owned_scope: ["src/**"]
    commands: {deny: ["rm"]}
    rules:
      - {name: no-eval, when: 'effect.after.contains("eval(")', action: refuse}
  - {id: INT-007, name: Never done, status: IN_PROGRESS, owned_scope: ["verified/**"], verify: ["exit 3"]}
`

func provocations() []provocation {
	return slices.Concat(intentProvocations(), pathProvocations(), contentProvocations(), stateProvocations())
}

func intentProvocations() []provocation {
	anything := args{"path": "src/new.txt", "content": "x"}
	return []provocation{
		{refusal.MissingOrInvalidIntent, "none selected", false, func(_ *workspace, a agent) {
			r := a.refused("MISSING_OR_INVALID_INTENT", "write_to_file", anything)
			if r.str("action_hint") != "select_active_intent" || r.str("classification") != "destructive" {
				a.t.Errorf("%v", r.Fields)
			}
		}},
		{refusal.MissingOrInvalidIntent, "unknown", false, func(_ *workspace, a agent) {
			a.refused("MISSING_OR_INVALID_INTENT", "select_active_intent", args{"intent_id": "INT-999"})
		}},
		{refusal.IntentNotActive, "done and blocked", false, func(_ *workspace, a agent) {
			a.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-003"})
			a.refused("INTENT_NOT_ACTIVE", "select_active_intent", args{"intent_id": "INT-004"})
		}},
		{refusal.IntentMismatch, "another intent_id", false, func(_ *workspace, a agent) {
			a.refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/n", "content": "", "session": a.selects("INT-001"), "intent_id": "INT-005"})
		}},
		{refusal.SessionExpired, "invented handle", false, func(_ *workspace, a agent) {
			a.refused("SESSION_EXPIRED", "write_to_file", args{"path": "src/n", "content": "", "session": "ses_" + strings.Repeat("a", 32)})
		}},
		{refusal.IntentIgnored, "intent: line", false, func(w *workspace, a agent) {
			session := a.selects("INT-001")
			w.write(".orchestration/.intentignore", "intent:INT-001\n")
			defer w.remove(".orchestration/.intentignore")
			a.refused("INTENT_IGNORED", "write_to_file", args{"path": "src/n", "content": "", "session": session})
			a.refused("INTENT_IGNORED", "select_active_intent", args{"intent_id": "INT-001"})
		}},
		{refusal.ApprovalRequired, "approve: line", false, func(w *workspace, a agent) {
			session := a.selects("INT-001")
			w.write(".orchestration/.intentignore", "approve:INT-001\n")
			defer w.remove(".orchestration/.intentignore")
			r := a.refused("APPROVAL_REQUIRED", "write_to_file", args{"path": "src/n", "content": "", "session": session})
			a.refused("APPROVAL_REQUIRED", "resume_approval", args{"approval_id": r.details()["approval_id"], "session": session})
		}},
		{refusal.ApprovalRejected, "the operator's no", false, func(w *workspace, a agent) {
			call := args{"path": ".envrc", "content": "x", "session": a.selects("INT-005")}
			id, _ := a.refused("APPROVAL_REQUIRED", "write_to_file", call).details()["approval_id"].(string)
			w.commands("approvals", "deny", "--reason", "not here", id)
			check.Equal(a.t, a.refused("APPROVAL_REJECTED", "write_to_file", call).details()["operator_reason"], "not here")
			a.refused("APPROVAL_REJECTED", "resume_approval", args{"approval_id": id, "session": call["session"]})
		}},
		{refusal.RuleViolation, "rule of the intent", false, func(_ *workspace, a agent) {
			a.refused("RULE_VIOLATION", "write_to_file", args{"path": "src/eval.js", "content": "eval(x)\n", "session": a.selects("INT-006")})
		}},
		{refusal.CommandBlocked, "denied by the intent", false, func(_ *workspace, a agent) {
			a.refused("COMMAND_BLOCKED", "execute_command", args{"command": "rm -rf src", "session": a.selects("INT-006")})
		}},
		{refusal.VerifyFailed, "a verify command fails", false, func(_ *workspace, a agent) {
			r := a.refused("VERIFY_FAILED", "update_intent", args{"intent_id": "INT-007", "status": "DONE", "session": a.selects("INT-007")})
			check.Equal(a.t, r.details()["exit_code"], 3.0)
		}},
		{refusal.CommandOutOfScope, "a program writes elsewhere", false, func(w *workspace, a agent) {
			defer w.remove("elsewhere.txt")
			r := a.refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{"command": "touch elsewhere.txt", "session": a.selects("INT-001")})
			if r.str("action_hint") != "request_scope_expansion" || !strings.Contains(r.text(), "elsewhere.txt") || r.Fields["exit_code"] != 0.0 {
				a.t.Errorf("%v", r.Fields)
			}
		}},
		{refusal.MutationClassMismatch, "no refactor", true, func(w *workspace, a agent) {
			w.write("src/sum.go", "package src\n\nfunc sum(a, b int) int { return a + b }\n")
			r := a.refused("MUTATION_CLASS_MISMATCH", "edit_file", args{"path": "src/sum.go", "old_string": "a + b", "new_string": "a - b",
				"mutation_class": "AST_REFACTOR", "session": a.selects("INT-001")})
			if r.str("action_hint") != "correct_mutation_class" || !strings.Contains(r.text(), "src/sum.go:3:") {
				a.t.Errorf("%s", r.text())
			}
			a.ok("edit_file", args{"path": "src/sum.go", "old_string": "a, b int) int { return a + b", "new_string": "x, b int) int { return x + b",
				"mutation_class": "AST_REFACTOR", "session": a.selects("INT-001")})
		}},
		{refusal.SandboxUnavailable, "required", true, func(_ *workspace, a agent) {
			a.refused("SANDBOX_UNAVAILABLE", "execute_command", args{"command": "true", "session": a.selects("INT-001")})
		}},
	}
}

func pathProvocations() []provocation {
	table := func(code refusal.Code, name string, paths ...string) provocation {
		return provocation{code, name, false, func(_ *workspace, a agent) {
			session := a.selects("INT-005")
			for _, path := range paths {
				a.refused(string(code), "write_to_file", args{"path": path, "content": "x", "session": session})
			}
		}}
	}
	return []provocation{
		{refusal.ScopeViolation, "every tool", false, func(w *workspace, a agent) {
			session := a.selects("INT-001")
			for _, path := range []string{"docs/other.md", "src2/a.txt", "a.txt"} {
				r := a.refused("SCOPE_VIOLATION", "write_to_file", args{"path": path, "content": "x", "session": session})
				if r.details()["path"] != path || r.str("action_hint") != "request_scope_expansion" {
					a.t.Errorf("%v", r.Fields)
				}
			}
			a.refused("SCOPE_VIOLATION", "apply_diff", args{"path": "docs/other.md", "diff": "no diff at all", "session": session})
			a.refused("SCOPE_VIOLATION", "edit_file", args{"path": "docs/other.md", "old_string": "a", "new_string": "b", "session": session})
			a.refused("SCOPE_VIOLATION", "apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/p.txt\n+x\n*** Add File: docs/p.txt\n+x\n*** End Patch"})
			if _, err := os.Stat(w.path("src/p.txt")); !errors.Is(err, os.ErrNotExist) {
				a.t.Error("a refused patch changed a file")
			}
		}},
		{refusal.IntentignorePathBlocked, "frozen and secret", false, func(w *workspace, a agent) {
			session := a.selects("INT-001")
			w.write(".orchestration/.intentignore", "src/frozen/**\nsecret:*.key\n")
			defer w.remove(".orchestration/.intentignore")
			w.write("src/private.key", "TOP SECRET\n")
			a.refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "src/frozen/x", "content": "x", "session": session})
			r := a.refused("INTENTIGNORE_PATH_BLOCKED", "read_file", args{"path": "src/private.key", "session": session})
			if strings.Contains(r.text(), "TOP") {
				a.t.Error("a refusal quotes a secret")
			}
		}},
		table(refusal.ProtectedPath, "git and governance", ".git/hooks/pre-commit", ".GIT/config", ".orchestration/active_intents.yaml", ".intentignore"),
		table(refusal.PathOutsideWorkspace, "outside", "../x", "src/../../x", "/etc/passwd", "src/"+strings.Repeat("n", 300), "src/a\x00b"),
		table(refusal.ApprovalRequired, "other programs' files", ".vscode/tasks.json", ".Envrc", ".mcp.json"),
		{refusal.PathOutsideWorkspace, "through a link", false, func(w *workspace, a agent) {
			w.link(w.t.TempDir(), "src/out")
			defer w.remove("src/out")
			a.refused("PATH_OUTSIDE_WORKSPACE", "write_to_file", args{"path": "src/out/x", "content": "x", "session": a.selects("INT-001")})
		}},
		{refusal.NotARegularFile, "directory and pipe", false, func(w *workspace, a agent) {
			check.OK(w.t, mkfifo(w.path("src/fifo")))
			defer w.remove("src/fifo")
			session := a.selects("INT-001")
			a.refused("NOT_A_REGULAR_FILE", "read_file", args{"path": "src/fifo"})
			a.refused("NOT_A_REGULAR_FILE", "write_to_file", args{"path": "src/fifo", "content": "x", "session": session})
			a.refused("NOT_A_REGULAR_FILE", "write_to_file", args{"path": "src", "content": "x", "session": session})
		}},
	}
}

func contentProvocations() []provocation {
	block := func(search string) string {
		return "<<<<<<< SEARCH\n" + search + "\n=======\nx\n>>>>>>> REPLACE"
	}
	return []provocation{
		{refusal.ReadRequired, "never read", false, func(w *workspace, a agent) {
			w.write("src/unread.txt", "unseen\n")
			r := a.refused("READ_REQUIRED", "write_to_file", args{"path": "src/unread.txt", "content": "x", "session": a.selects("INT-001")})
			check.Equal(a.t, r.details()["content"], "unseen\n", "it does not hand over what is missing")
		}},
		{refusal.StaleFile, "edited outside", false, func(w *workspace, a agent) {
			w.write("src/stale.txt", "before\n")
			session := a.selects("INT-001")
			a.ok("read_file", args{"path": "src/stale.txt", "session": session})
			w.write("src/stale.txt", "by a person\n")
			r := a.refused("STALE_FILE", "write_to_file", args{"path": "src/stale.txt", "content": "mine\n", "session": session})
			if !strings.Contains(r.text(), "by a person") {
				a.t.Errorf("it does not show what changed: %s", r.text())
			}
			w.want("src/stale.txt", "by a person\n")
			a.ok("write_to_file", args{"path": "src/stale.txt", "content": "mine\n", "session": session})
		}},
		{refusal.DiffNotApplied, "no match", false, func(_ *workspace, a agent) {
			session := a.selects("INT-001")
			r := a.refused("DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/a.txt", "diff": block("nothing like it"), "session": session})
			if r.details()["failed_blocks"] == nil {
				a.t.Errorf("no failed blocks: %v", r.Fields)
			}
			a.refused("DIFF_NOT_APPLIED", "edit_file", args{"path": "src/a.txt", "old_string": "zzz", "new_string": "x", "session": session})
		}},
		{refusal.AmbiguousMatch, "twice", false, func(w *workspace, a agent) {
			w.write("src/twice.txt", "same\nother\nsame\n")
			a.refused("AMBIGUOUS_MATCH", "apply_diff", args{"path": "src/twice.txt", "diff": block("same"), "session": a.selects("INT-001")})
		}},
		{refusal.FileNotFound, "missing", false, func(_ *workspace, a agent) {
			a.refused("FILE_NOT_FOUND", "read_file", args{"path": "src/none"})
			a.refused("FILE_NOT_FOUND", "apply_diff", args{"path": "src/none", "diff": block("a"), "session": a.selects("INT-001")})
			a.refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": "../../../etc/passwd"})
		}},
		{refusal.InvalidArguments, "against the schema", false, func(_ *workspace, a agent) {
			session := a.selects("INT-001")
			a.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "content": "x", "surprise": true, "session": session})
			a.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "session": session})
			a.refused("INVALID_ARGUMENTS", "write_to_file", args{"path": 7, "content": "x", "session": session})
			a.refused("INVALID_ARGUMENTS", "search_files", args{"regex": "("})
		}},
		{refusal.TooLarge, "over limits.file_size", true, func(_ *workspace, a agent) {
			a.refused("TOO_LARGE", "write_to_file", args{"path": "src/large", "content": strings.Repeat("x", 5000), "session": a.selects("INT-001")})
		}},
	}
}

func stateProvocations() []provocation {
	write := func(a agent, session string) args {
		return args{"path": "src/" + strings.ReplaceAll(a.t.Name(), "/", "-"), "content": "x", "session": session}
	}
	const intents, trace = ".orchestration/active_intents.yaml", ".orchestration/agent_trace.jsonl"
	return []provocation{
		{refusal.Busy, "another program writes", false, func(w *workspace, a agent) {
			w.write("src/busy.txt", "text\n")
			writer := check.Value(os.OpenFile(w.path("src/busy.txt"), os.O_RDWR, 0))(w.t)
			defer writer.Close()
			a.refused("BUSY", "edit_file", args{"path": "src/busy.txt", "old_string": "text", "new_string": "x", "session": a.selects("INT-001")})
			w.want("src/busy.txt", "text\n")
		}},
		{refusal.IntentsUnreadable, "malformed", false, func(w *workspace, a agent) {
			session, kept := a.selects("INT-001"), w.read(intents)
			defer w.write(intents, kept)
			w.write(intents, "active_intents:\n  - id: [\n")
			r := a.refused("INTENTS_UNREADABLE", "write_to_file", write(a, session))
			if line, _ := r.details()["line"].(float64); line < 1 {
				a.t.Errorf("no line: %v", r.Fields)
			}
			a.ok("read_file", args{"path": "src/a.txt", "session": session})
		}},
		{refusal.WorkspaceNotInitialized, "no intents file", false, func(w *workspace, a agent) {
			session, kept := a.selects("INT-001"), w.read(intents)
			defer w.write(intents, kept)
			w.remove(intents)
			r := a.refused("WORKSPACE_NOT_INITIALIZED", "write_to_file", write(a, session))
			if !strings.Contains(r.str("suggestion"), "orchestra-mcp init") {
				a.t.Errorf("%s", r.text())
			}
		}},
		{refusal.LedgerUnavailable, "a directory in its place", false, func(w *workspace, a agent) {
			session := a.selects("INT-001")
			place := ledgertest.File(w.dir)
			check.OK(w.t, os.Rename(place, w.path("aside")))
			check.OK(w.t, os.Mkdir(place, 0o755))
			defer func() {
				check.OK(w.t, os.RemoveAll(place))
				check.OK(w.t, os.Rename(w.path("aside"), place))
				a.ok("write_to_file", write(a, session))
			}()
			a.refused("LEDGER_UNAVAILABLE", "write_to_file", write(a, session))
			if _, err := os.Stat(w.path(write(a, session)["path"].(string))); !errors.Is(err, os.ErrNotExist) {
				w.t.Error("a file was changed without a ledger")
			}
		}},
	}
}
