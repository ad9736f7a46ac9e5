package server_test

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// A guard that was asked for and cannot stand yet refuses; it is never passed over in silence.
func TestGuardsThatCannotStandRefuse(t *testing.T) {
	t.Parallel()
	write, config, run := args{"path": "x.txt", "content": "x"}, args{"path": ".mcp.json", "content": "{}"}, args{"command": "true"}
	for name, c := range map[string]struct {
		code string
		args args
		set  func(*settings.Settings)
	}{
		"rules":           {"RULE_VIOLATION", write, func(s *settings.Settings) { s.Rules = []settings.Rule{{Name: "r", When: "true"}} }},
		"commands.deny":   {"COMMAND_BLOCKED", run, func(s *settings.Settings) { s.Commands.Deny = []settings.CommandRule{{Prefix: "true"}} }},
		"commands.ask":    {"APPROVAL_REQUIRED", run, func(s *settings.Settings) { s.Commands.Ask = []settings.CommandRule{{Prefix: "true"}} }},
		"network":         {"COMMAND_BLOCKED", run, func(s *settings.Settings) { s.Commands.Network = settings.Deny }},
		"default":         {"COMMAND_BLOCKED", args{"command": "ls"}, func(s *settings.Settings) { s.Commands.Default = settings.Deny }},
		"sandbox":         {"SANDBOX_UNAVAILABLE", run, func(s *settings.Settings) { s.Sandbox = settings.Require }},
		"sandbox kernel":  {"SANDBOX_UNAVAILABLE", run, func(s *settings.Settings) { s.Sandbox = settings.RequireLandlock }},
		"scope.required":  {"SCOPE_VIOLATION", write, func(s *settings.Settings) { s.Scope.Required = true }},
		"program_config":  {"APPROVAL_REQUIRED", config, func(*settings.Settings) {}},
		"program_config2": {"APPROVAL_REQUIRED", config, func(s *settings.Settings) { s.Approvals.ProgramConfig = settings.Refuse }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newWorkspace(t)
			check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents:\n  - {id: A, name: a, status: TODO}\n")
			b, session := start(t, dir, unsandboxed, func(o *server.Options) { c.set(&o.Settings) }).under("A")
			tool := map[bool]string{true: "execute_command", false: "write_to_file"}[c.args["command"] != nil]
			c.args["session"] = session
			b.Refused(c.code, tool, c.args)
		})
	}
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
	var trusted atomic.Bool // the server also asks by itself
	b := start(t, dir, func(o *server.Options) {
		o.Trusted = func(hash string) bool { return trusted.Load() && hash == settings.ContentHash([]byte("unscoped:**\n")) }
		o.Withheld = []string{"config.yaml:1: write.blind = allow"}
	}).connect()
	s := b.Selects("INT-002")
	r := b.Refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, r.Details()["untrusted"] == ".intentignore:1" && strings.Contains(r.Str("suggestion"), "orchestra-mcp trust"), "%s", r.Text)
	list, _ := r.Details()["untrusted_settings"].([]any)
	check.That(t, len(list) == 2, "%s", r.Text)
	r = b.Refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, r.Details()["untrusted_settings"] == nil, "said twice: %s", r.Text)
	trusted.Store(true)
	r = b.OK("write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	check.That(t, strings.Contains(r.Text, ".intentignore:1 lets it pass"), "the result does not say why it passed: %s", r.Text)
	// It exempts from the scope and from nothing else.
	b.Refused("PROTECTED_PATH", "write_to_file", args{"session": s, "path": ".git/config", "content": "x"})
	b.Refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": ".mcp.json", "content": "x"})
	b.Refused("READ_REQUIRED", "write_to_file", args{"session": s, "path": "src/a.txt", "content": "x"})
	b.holds(map[string]string{"ran": ""})
}

// The verify commands of a cloned repository need no trust, and get none: they run under the law of an agent's commands.
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
		s := b.Selects("V-1")
		if want == "" {
			b.OK("update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
			b.wantRecord(`"kind":"command"`, `"intent_id":"V-1"`)
			continue
		}
		b.Refused(want, "update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
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
	call := args{"session": b.Selects("INT-001")}
	for _, f := range faults {
		f.set(t, b.dir, call)
		r := b.Refused(f.code, "apply_diff", call)
		check.That(t, !strings.Contains(r.Text, `one\n`) || f.code == "STALE_FILE" || f.code == "DIFF_NOT_APPLIED",
			"%s quotes the file: %s", f.code, r.Text)
	}
}

// Two chats over one process: each has its session, a call with neither
// session nor intent_id is refused with what to add, and intent_id chooses.
func TestTwoChatsOnOneConnection(t *testing.T) {
	t.Parallel()
	b, one := start(t, newWorkspace(t)).under("INT-001")
	b.OK("write_to_file", args{"path": "src/only.txt", "content": "x"})
	five := b.Selects("INT-005")
	r := b.Refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x"})
	for _, part := range []string{one, five, "INT-001", "INT-005"} {
		if !strings.Contains(r.Str("suggestion"), part) {
			t.Errorf("the suggestion lacks %s: %s", part, r.Str("suggestion"))
		}
	}
	r = b.Refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x", "intent_id": "INT-002"})
	check.That(t, !strings.Contains(r.Str("error"), one), "the error has a handle; only the suggestion may")
	b.OK("write_to_file", args{"path": "anywhere", "content": "x", "intent_id": "INT-005"})
	b.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "anywhere", "content": "y", "intent_id": "INT-001"})
	b.Refused("INTENT_MISMATCH", "write_to_file", args{"path": "src/b", "content": "x", "session": one, "intent_id": "INT-005"})
	// A read without handle counts for every live selection.
	b.OK("read_file", args{"path": "src/a.txt"})
	b.OK("write_to_file", args{"path": "src/a.txt", "content": "1\n", "session": one})
	b.Refused("STALE_FILE", "write_to_file", args{"path": "src/a.txt", "content": "2\n", "session": five})
	for _, line := range b.ledgerLines() {
		check.Must(t, !strings.Contains(line, one) && !strings.Contains(line, five), "a record has a handle: %s", line)
	}
}

// A modern request without a handle has no state, whatever was selected before it on the same connection.
func TestModernHasNoStateWithoutHandle(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connectAs(modern)
	s := b.Selects("INT-001")
	b.Refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/b", "content": "x"})
	b.Refused("MISSING_OR_INVALID_INTENT", "get_active_intent", args{})
	b.OK("read_file", args{"path": "src/a.txt"})
	b.Refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "x", "session": s})
	again := b.Selects("INT-001")
	check.That(t, again != s, "selecting again without a handle continued a session that nobody named")
}

// A handle serves on another connection; what is keyed by the connection does not.
func TestHandleOnAnotherConnection(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t)).under("INT-001")
	for _, era := range []string{legacy, modern} {
		other := b.another(era)
		other.Refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/b", "content": "x"})
		other.OK("write_to_file", args{"path": "src/by-" + era, "content": "x", "session": s})
		other.hangUp()
	}
	b.OK("write_to_file", args{"path": "src/after.txt", "content": "x"})
}

// A selection ends when its intent is done or blocked, also by a person's hand in the file.
func TestSelectionEndsWithItsIntent(t *testing.T) {
	t.Parallel()
	for status, eras := range map[string][]string{"DONE": {legacy, modern}, "BLOCKED": {legacy}, "COMPLETED": {modern}} {
		for _, era := range eras {
			b := start(t, newWorkspace(t)).connectAs(era)
			s := b.Selects("INT-001")
			b.OK("write_to_file", args{"path": "src/b", "content": "x", "session": s})
			check.Write(t, b.dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "status: IN_PROGRESS", "status: "+status, 1))
			r := b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"path": "src/b", "content": "y", "session": s})
			available, _ := r.Details()["available"].([]any)
			check.That(t, len(available) != 0 && !strings.Contains(fmt.Sprint(available), "INT-001"), "available: %v", available)
			b.OK("read_file", args{"path": "src/a.txt", "session": s})
			// Reopening it does not bring the selection back.
			check.Write(t, b.dir, ".orchestration/active_intents.yaml", intentsYAML)
			b.Refused("INTENT_NOT_ACTIVE", "write_to_file", args{"path": "src/b", "content": "y", "session": s})
			b.OK("write_to_file", args{"path": "src/c", "content": "y", "session": b.Selects("INT-001")})
		}
	}
}

// A handle expires after its idle lifetime, and every tool that is given it says so.
func TestHandleExpires(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		now := clockFrom(time.Now())
		b := start(t, newWorkspace(t), now.set, func(o *server.Options) { o.Settings.Session.Idle = time.Hour }).connectAs(era)
		r := b.OK("select_active_intent", args{"intent_id": "INT-001"})
		left := r.Object["expires_in_seconds"].(float64)
		check.That(t, left >= 3500 && left <= 3600, "expires_in_seconds %v", left)
		s := r.Str("session")
		now.forward(50 * time.Minute)
		b.OK("write_to_file", args{"path": "src/b", "content": "x", "session": s})
		now.forward(50 * time.Minute) // used in between
		b.OK("write_to_file", args{"path": "src/b", "content": "y", "session": s})
		now.forward(61 * time.Minute)
		for tool, arguments := range map[string]args{
			"write_to_file": {"path": "src/b", "content": "z"}, "read_file": {"path": "src/a.txt"}, "get_active_intent": {},
			"select_active_intent": {"intent_id": "INT-001"}, "request_scope_expansion": {"paths": []string{"lib/**"}, "reason": "r", "intent_id": "INT-001"},
		} {
			arguments["session"] = s
			b.Refused("SESSION_EXPIRED", tool, arguments)
		}
		b.Refused("SESSION_EXPIRED", "read_file", args{"path": "src/a.txt", "session": "ses_" + strings.Repeat("x", 40)})
	}
}

// A restart of the server keeps handles and what was seen.
func TestRestartKeepsSessions(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b, s := start(t, dir).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt", "session": s})
	b.OK("write_to_file", args{"path": "src/own.txt", "content": "x", "session": s})
	b.hangUp()
	b.close()
	for _, era := range []string{modern, legacy} {
		b = start(t, dir).connectAs(era)
		b.OK("write_to_file", args{"path": "src/a.txt", "content": era, "session": s})
		b.OK("write_to_file", args{"path": "src/own.txt", "content": era, "session": s})
		b.hangUp()
		b.close()
	}
}

// callLine is a tools/call with its arguments as they are.
func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

// Numbers at the edge of what can be held are numbers. pkg/tools has the whole table of arguments.
func TestNumbersAtTheEdge(t *testing.T) {
	t.Parallel()
	b, _ := start(t, newWorkspace(t)).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt", "limit": math.MaxInt64})
	b.Refused("INVALID_ARGUMENTS", "read_file", args{"path": "src/a.txt", "offset": math.MaxInt64})
	b.Refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": "x", "offset": math.MaxInt64, "limit": math.MaxInt64})
	b.Refused("DIFF_NOT_APPLIED", "edit_file", args{"path": "src/a.txt", "old_string": "one", "new_string": "1", "expected_replacements": math.MaxInt64})
	b.Refused("INVALID_ARGUMENTS", "write_to_file", args{"path": "src/x", "file_path": "docs/x", "content": "x"})
}

// The way of an agent that does everything right, in both eras.
func TestHappyPath(t *testing.T) {
	t.Parallel()
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) { happyPath(t, era) })
	}
}

func happyPath(t *testing.T, era string) {
	dir := newWorkspace(t)
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
	b := start(t, dir, func(o *server.Options) { o.Settings.Durability = settings.Full }).connectAs(era)
	b.Refused("MISSING_OR_INVALID_INTENT", "write_to_file", args{"path": "src/new.txt", "content": "x\n"})

	session := b.Selects("INT-001")
	read := b.OK("read_file", args{"path": "src/a.txt", "session": session})
	check.That(t, read.Str("content") == "one\ntwo\nthree\n" && strings.Contains(read.Text, "2 | two"), "read: %v\n%s", read.Object, read.Text)
	edited := b.OK("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": session})
	check.Equal(t, b.read("src/a.txt"), "one\n2\nthree\n", "file is")
	b.OK("write_to_file", args{"path": "src/a.txt", "content": "whole\n", "session": session, "expected_content_hash": edited.Str("content_hash")})
	b.OK("apply_diff", args{"path": "src/a.txt", "session": session, "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\nwhole\n=======\nWHOLE\n>>>>>>> REPLACE"})
	b.OK("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Add File: src/b/new.txt\n+hello\n*** Update File: src/a.txt\n*** Move to: src/moved.txt\n@@\n-WHOLE\n+whole again\n*** End Patch"})
	check.That(t, b.read("src/moved.txt") == "whole again\n" && b.read("src/b/new.txt") == "hello\n", "the patch did not do what it says")
	b.OK("apply_patch", args{"session": session, "patch": "*** Begin Patch\n*** Delete File: src/b/new.txt\n*** End Patch"})
	ran := b.OK("execute_command", args{"session": session, "command": "echo out; exit 3"})
	check.That(t, ran.Object["exit_code"] == 3.0 && strings.Contains(ran.Str("output"), "out"), "command: %v", ran.Object)
	b.OK("read_command_output", args{"artifact_id": ran.Str("artifact_id")})
	b.wantRecord(`"kind":"mutation"`, `"call":"apply_patch"`, `"op":"moved"`)
	b.wantRecord(`"kind":"mutation"`, `"revision":"`+strings.TrimSpace(check.Git(t, dir, "rev-parse", "HEAD"))+`"`)
	b.wantRecord(`"kind":"command"`, `"exit_code":3`)
	b.wantRecord(`"kind":"decision"`, "MISSING_OR_INVALID_INTENT")
	b.wantRecord(`"kind":"selection"`, "INT-001")
	trace := b.OK("query_trace", args{"path": "src/moved.txt"})
	records := trace.Object["records"].([]any)
	check.That(t, len(records) != 0, "query_trace knows nothing of the file")
	b.eventually("the intent map tells of the change", func() bool {
		return b.exists(".orchestration/intent_map.md") && strings.Contains(b.read(".orchestration/intent_map.md"), "`src/moved.txt`")
	})
	m := b.read(".orchestration/intent_map.md")
	check.That(t, strings.Contains(m, "## INT-001: Build Weather API") && strings.Contains(m, "`src/moved.txt`"), "intent map:\n%s", m)
}
