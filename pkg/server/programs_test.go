//go:build unix

package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// script is the command line of a script of testdata/hooks, as a person would write it into the settings.
func script(t *testing.T, name, interpreter string) string {
	t.Helper()
	if _, err := exec.LookPath(interpreter); err != nil {
		check.Must(t, os.Getenv("CI") == "", "%v", err)
		t.Skip(err)
	}
	path := check.Value(filepath.Abs(filepath.Join("testdata", "hooks", name)))(t)
	return "'" + path + "'"
}

func withHooks(list ...settings.Hook) func(*server.Options) {
	return func(o *server.Options) { o.Settings.Hooks = list }
}

func pre(command string, tools ...string) settings.Hook {
	return settings.Hook{Event: settings.EventPre, Command: command, Tools: tools}
}

func post(command string, tools ...string) settings.Hook {
	return settings.Hook{Event: settings.EventPost, Command: command, Tools: tools}
}

func reason(r reply) string { s, _ := r.Object["error"].(string); return s }

func warnings(r reply) string {
	list, _ := r.Object["warnings"].([]any)
	return fmt.Sprint(list...)
}

func TestGuardInShellRunsUnchanged(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), withHooks(pre(script(t, "protect.sh", "bash")))).under("INT-001")
	b.OK("write_to_file", args{"path": "src/free.txt", "content": "x\n", "session": s})
	r := b.Refused("HOOK_BLOCKED", "write_to_file", args{"path": "src/locked/x.txt", "content": "x\n", "session": s})
	if !strings.Contains(reason(r), "is generated, change its source") || r.Details()["path"] != "src/locked/x.txt" || b.exists("src/locked/x.txt") {
		t.Errorf("%v", r.Object)
	}
	// A patch is shown file by file; one refused file stops all.
	r = b.Refused("HOOK_BLOCKED", "apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Add File: src/one.txt\n+1\n*** Add File: src/locked/two.txt\n+2\n*** End Patch\n"})
	check.That(t, !b.exists("src/one.txt") && strings.Contains(reason(r), "Write of src/locked/two.txt"), "%v", r.Object)
	r = b.Refused("HOOK_BLOCKED", "execute_command", args{"command": "rm -rf src", "session": s})
	check.That(t, strings.Contains(reason(r), "Destructive command blocked by hook") && b.exists("src/a.txt"), "%v", r.Object)
	r = b.Refused("APPROVAL_REQUIRED", "execute_command", args{"command": "npm publish", "session": s})
	check.That(t, strings.Contains(reason(r), "Publishing is final"), "%v", r.Object)
	b.wantRecord(`"decision"`, `"hook":"external: `, "HOOK_BLOCKED")
}

func TestGuardInPythonRunsUnchanged(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), withHooks(pre(script(t, "validate.py", "python3"), "Bash", "Write|Edit", "Read"))).under("INT-001")
	r := b.Refused("HOOK_BLOCKED", "execute_command", args{"command": "grep -r x .", "session": s})
	check.That(t, strings.Contains(reason(r), "Use rg instead of grep"), "%v", r.Object)
	b.OK("execute_command", args{"command": "echo grep | cat", "session": s})
	b.OK("read_file", args{"path": "src/a.txt", "session": s})
	r = b.Refused("HOOK_BLOCKED", "edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "AKIAABCDEFGHIJKLMNOP", "session": s})
	check.That(t, strings.Contains(reason(r), "access key") && b.read("src/a.txt") == "one\ntwo\nthree\n", "%v", r.Object)
	b.OK("edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2", "session": s})
}

func TestFeedbackFromNodeRunsUnchanged(t *testing.T) {
	t.Parallel()
	b, s := start(t, newWorkspace(t), withHooks(post(script(t, "feedback.js", "node"), "Write"))).under("INT-001")
	for content, want := range map[string]string{
		"// TODO later\n": "x.js has a TODO",
		"var x = 1\n":     "Use let or const",
	} {
		r := b.OK("write_to_file", args{"path": "src/x.js", "content": content, "session": s})
		check.That(t, strings.Contains(warnings(r), want) && b.read("src/x.js") == content, "%q: %v", content, r.Object)
	}
	r := b.OK("write_to_file", args{"path": "src/x.js", "content": "let x    = 1\n", "session": s})
	w := warnings(r)
	check.That(t, strings.Contains(w, "Formatted.") && strings.Contains(w, "src/x.js was changed again behind the call"), "%v", r.Object)
	b.Refused("STALE_FILE", "write_to_file", args{"path": "src/x.js", "content": "let y\n", "session": s})
	check.Equal(t, warnings(b.OK("write_to_file", args{"path": "src/x.js", "content": "let y\n", "session": s})), "")
}

// Each way in which a program can end.
func TestOutcomesOfHooks(t *testing.T) {
	t.Parallel()
	const specific = `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",%s}}'`
	cases := map[string]struct{ command, code, says string }{
		"silence":            {"true", "", ""},
		"a note":             {"echo looks fine", "", "looks fine"},
		"allow":              {fmt.Sprintf(specific, `"permissionDecision":"allow","permissionDecisionReason":"ok"`), "", ""},
		"context":            {fmt.Sprintf(specific, `"additionalContext":"remember \u001b[31mthe tests"`), "", "remember the tests"},
		"old approve":        {`echo '{"decision":"approve"}'`, "", ""},
		"unknown fields":     {`echo '{"whatever":{"x":[1]},"suppressOutput":true}'`, "", ""},
		"deny by code":       {"echo no way >&2; exit 2", "HOOK_BLOCKED", "no way"},
		"deny, not by JSON":  {`echo '{"decision":"approve"}'; exit 2`, "HOOK_BLOCKED", "gives no reason"},
		"deny":               {fmt.Sprintf(specific, `"permissionDecision":"deny","permissionDecisionReason":"never"`), "HOOK_BLOCKED", "never"},
		"old block":          {`echo '{"decision":"block","reason":"old no"}'`, "HOOK_BLOCKED", "old no"},
		"stop":               {`echo '{"continue":false,"stopReason":"lunch"}'`, "HOOK_BLOCKED", "lunch"},
		"the stricter":       {`echo '{"decision":"block","reason":"b","hookSpecificOutput":{"permissionDecision":"allow"}}'`, "HOOK_BLOCKED", "b"},
		"ask":                {fmt.Sprintf(specific, `"permissionDecision":"ask","permissionDecisionReason":"really?"`), "APPROVAL_REQUIRED", "really?"},
		"changed input":      {fmt.Sprintf(specific, `"permissionDecision":"allow","updatedInput":{"content":"evil"}`), "HOOK_BLOCKED", "updatedInput"},
		"other event":        {`echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}'`, "HOOK_BLOCKED", "PostToolUse"},
		"unknown decision":   {fmt.Sprintf(specific, `"permissionDecision":"perhaps"`), "HOOK_BLOCKED", "perhaps"},
		"unknown old":        {`echo '{"decision":"maybe"}'`, "HOOK_BLOCKED", "maybe"},
		"other exit":         {"echo broken >&2; exit 1", "HOOK_BLOCKED", "exit code 1, saying: broken"},
		"no such program":    {"/nowhere/guard", "HOOK_BLOCKED", "exit code 127"},
		"killed":             {"kill -9 $$", "HOOK_BLOCKED", "exit code 137"},
		"half JSON":          {`echo '{"decision":'`, "HOOK_BLOCKED", "cannot be read"},
		"two objects":        {`echo '{} {}'`, "HOOK_BLOCKED", "cannot be read"},
		"a decision twice":   {`echo '{"decision":"block","decision":"approve"}'`, "HOOK_BLOCKED", "cannot be read"},
		"wrong type":         {`echo '{"continue":"no"}'`, "HOOK_BLOCKED", "cannot be read"},
		"too slow":           {"sleep 100", "HOOK_BLOCKED", "no answer within its time"},
		"a flood":            {"head -c 5000000 /dev/zero | tr '\\0' x", "", ""},
		"a flood of JSON":    {"echo '{'; head -c 5000000 /dev/zero | tr '\\0' ' '; echo '}'", "HOOK_BLOCKED", "more than"},
		"a flood of reasons": {"head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 2", "HOOK_BLOCKED", "xxx"},
		"input unread":       {"exec <&-; true", "", ""},
		"forks away":         {"(setsid sleep 1000 >/dev/null 2>&1 &) ; sleep 1000 & true", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcomeOfHook(t, c.command, c.code, c.says)
		})
	}
}

func outcomeOfHook(t *testing.T, command, code, says string) {
	hook := pre(command)
	hook.Timeout = 30 * time.Second
	if strings.HasPrefix(command, "sleep") {
		hook.Timeout = 100 * time.Millisecond
	}
	b, s := start(t, quietWorkspace(t), withHooks(hook)).under("INT-001")
	// More than a pipe holds: a program that does not read must not hang.
	call := args{"path": "src/new.txt", "content": strings.Repeat("long\n", 50_000), "session": s}
	if code == "" {
		r := b.OK("write_to_file", call)
		check.That(t, strings.Contains(warnings(r), says) && len(warnings(r)) <= 3000, "warnings %.3100q", warnings(r))
		return
	}
	r := b.Refused(code, "write_to_file", call)
	check.That(t, strings.Contains(reason(r), says) && len(reason(r)) <= 3000 && !b.exists("src/new.txt"), "%.3100s", reason(r))
}

// quietWorkspace is newWorkspace for tests that run side by side: they set no environment.
func quietWorkspace(t *testing.T) string {
	dir := t.TempDir()
	check.Write(t, dir, ".orchestration/active_intents.yaml", intentsYAML)
	check.Write(t, dir, "src/a.txt", "one\ntwo\nthree\n")
	return dir
}

// events has a hook write down what it reads, and returns that.
func events(t *testing.T, b *bench, log string) []map[string]any {
	t.Helper()
	content := check.Value(os.ReadFile(log))(t)
	var all []map[string]any
	for line := range strings.Lines(string(content)) {
		var e map[string]any
		err := json.Unmarshal([]byte(line), &e)
		check.Must(t, err == nil, "%v: %s", err, line)
		check.That(t, e["tool_use_id"] != "" && e["session_id"] != "" && e["cwd"] != "", "without its surroundings: %s", line)
		all = append(all, e)
	}
	return all
}

func TestWhatHooksSee(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	record := "cat >> '" + log + "'"
	b, s := start(t, dir, withHooks(pre(record), post(record))).under("INT-001")
	b.OK("read_file", args{"path": "src/a.txt", "session": s})
	b.OK("apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Add File: src/new.txt\n+new\n" +
		"*** Update File: src/a.txt\n@@\n one\n-two\n+2\n three\n*** End Patch\n"})
	b.OK("apply_patch", args{"session": s, "patch": "*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: src/b.txt\n@@\n one\n-2\n+zwei\n three\n*** Delete File: src/new.txt\n*** End Patch\n"})
	b.OK("execute_command", args{"command": "echo done", "cwd": "src", "session": s})

	abs := func(name string) string { return filepath.Join(b.server.Workspace().Dir(), name) }
	want := [][]string{ // event, tool, path or command, old, new or content
		{"Write", abs("src/new.txt"), "", "new\n"},
		{"Edit", abs("src/a.txt"), "two\n", "2\n"},
		{"Write", abs("src/new.txt"), "", "new\n"},
		{"Edit", abs("src/a.txt"), "two\n", "2\n"},
		{"Edit", abs("src/a.txt"), "one\n2\nthree\n", ""},
		{"Write", abs("src/b.txt"), "", "one\nzwei\nthree\n"},
		{"Edit", abs("src/new.txt"), "new\n", ""},
		{"Edit", abs("src/a.txt"), "one\n2\nthree\n", ""},
		{"Write", abs("src/b.txt"), "", "one\nzwei\nthree\n"},
		{"Edit", abs("src/new.txt"), "new\n", ""},
		{"Bash", "echo done", "", ""},
		{"Bash", "echo done", "", ""},
	}
	got := events(t, b, log)
	check.Must(t, len(got) == len(want), "%d events, want %d: %v", len(got), len(want), got)
	for i, e := range got {
		in := e["tool_input"].(map[string]any)
		text := func(keys ...string) string {
			for _, key := range keys {
				if s, ok := in[key].(string); ok {
					return s
				}
			}
			return ""
		}
		is := []string{e["tool_name"].(string), text("file_path", "command"), text("old_string"), text("new_string", "content")}
		check.Equal(t, fmt.Sprint(is), fmt.Sprint(want[i]), "event %d is %q, want %q", i, is, want[i])
		check.Equal(t, e["hook_event_name"] == "PostToolUse", (e["tool_response"] != nil), "event %d: %v", i, e)
	}
	last := got[len(got)-1]
	out := last["tool_response"].(map[string]any)["stdout"]
	check.That(t, out == "done\n" && last["cwd"] == abs("src"), "%v", last)
	id := last["orchestra"].(map[string]any)["record_id"]
	check.That(t, id != "" && id != nil, "%v", last)
}

func TestHooksRunInOrderAndOnlyWhereTheyMatch(t *testing.T) {
	dir := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	say := func(word string) string { return "echo " + word + " >> '" + log + "'" }
	t.Setenv("HOOK_TOKEN", "secret")
	t.Setenv("ORCHESTRA_AUTH_TOKEN", "secret")
	b := start(t, dir, withHooks(
		pre(say("one"), "write_to_file"), pre(say("two"), "mcp__orchestra__.*"), pre(say("never"), "Wri", "write", "Bash|Read"),
		pre(say("env")+`; test -z "$HOOK_TOKEN$ORCHESTRA_AUTH_TOKEN" && test "$CLAUDE_PROJECT_DIR" = "$PWD" || exit 2`, "Write"),
		pre("exit 2", "Write"), pre(say("behind"), "*"),
	)).connect()
	s := b.Selects("INT-001")
	if err := os.Remove(log); err != nil { // "two" and "behind" saw the selection
		t.Fatal(err)
	}
	b.Refused("HOOK_BLOCKED", "write_to_file", args{"path": "src/x.txt", "content": "x\n", "session": s})
	said, _ := os.ReadFile(log)
	check.That(t, string(said) == "one\ntwo\nenv\n", "%s", said)
	// What the gate refuses is not shown to programs.
	b.Refused("SCOPE_VIOLATION", "write_to_file", args{"path": "docs/x.md", "content": "x\n", "session": s})
	b.Refused("READ_REQUIRED", "write_to_file", args{"path": "src/a.txt", "content": "x\n", "session": s})
	if said, _ := os.ReadFile(log); string(said) != "one\ntwo\nenv\n" {
		t.Errorf("%s", said)
	}
}

// A post-hook never turns a success into a failure.
func TestFailingPostHooksAreWarnings(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"echo broken >&2; exit 1":   "exit code 1, saying: broken",
		"echo '{'":                  "cannot be read",
		"echo style >&2; exit 2":    "objects to Write of src/x.txt, which stands: style",
		"sleep 100":                 "no answer within its time",
		`echo '{"continue":false}'`: "objects",
		`echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'`: "for a call that is over",
	} {
		hook := post(command)
		hook.Timeout = 20 * time.Second
		if strings.HasPrefix(command, "sleep") {
			hook.Timeout = 100 * time.Millisecond
		}
		b := start(t, newWorkspace(t), withHooks(hook)).connect()
		r := b.OK("write_to_file", args{"path": "src/x.txt", "content": "x\n", "session": b.Selects("INT-001")})
		check.That(t, strings.Contains(warnings(r), want) && b.read("src/x.txt") == "x\n" && r.Str("record_id") != "", "%s: %v", command, r.Object)
	}
}
