package clienthook_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// closed: an output by which no client makes a call that is about to be made.
func closed(out clienthook.Output) bool {
	var said struct {
		Decision, Permission string
		Cancel               bool
		HookSpecificOutput   struct{ PermissionDecision string }
	}
	_ = json.Unmarshal(out.Stdout, &said)
	return out.ExitCode == 2 || said.Cancel || said.Decision == "deny" || said.Permission == "deny" || said.HookSpecificOutput.PermissionDecision == "deny"
}

// TestWhatIsUnreadableIsDenied: the error says what is wrong, and the denial is in the client's form.
func TestWhatIsUnreadableIsDenied(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"nothing":        {"", "no JSON object in UTF-8"},
		"no JSON":        {"deny me", "no JSON object in UTF-8"},
		"a list":         {"[1]", "no JSON object"},
		"a text":         {`"x"`, "no JSON object"},
		"no UTF-8":       {"{\"x\":\"\xff\"}", "UTF-8"},
		"two objects":    {`{} {}`, "after top-level"},
		"a member twice": {`{"a":1,"a":2}`, "duplicate"},
		"deeper":         {`{"tool_input":{"a":{"b":1,"b":2}}}`, "duplicate"},
		"cut off":        {`{"a":`, "EOF"},
		"no name":        {`{}`, "no name"},
	} {
		for _, client := range clienthook.Clients() {
			e, err := clienthook.Parse(client, []byte(c.raw))
			check.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s, %s: %v", name, client, err)
			check.That(t, e.Client == client && e.Phase == clienthook.Before, "%s, %s: %+v", name, client, e)
			check.That(t, closed(clienthook.Emit(e, clienthook.Answer{Verdict: clienthook.Deny})), "%s, %s: not denied", name, client)
		}
	}
}

func TestUnknownClient(t *testing.T) {
	e, err := clienthook.Parse("roo", []byte("{}"))
	check.That(t, err != nil && strings.Contains(err.Error(), "opencode"), "%v", err)
	check.That(t, closed(clienthook.Emit(e, clienthook.Answer{Verdict: clienthook.Deny, Reason: "no"})), "not denied")
	check.That(t, !clienthook.Client("roo").CanAsk("") && clienthook.Client("roo").Abilities("") == clienthook.Abilities{}, "it can do something")
}

// TestNamesAreExact: another reader may take a name in other letters for the same, or one of two values.
func TestNamesAreExact(t *testing.T) {
	const head = `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p",`
	for raw, want := range map[string]string{
		head + `"tool_name":"Write","tool_input":{"File_Path":"a","content":"b"}}`:            "path is missing",
		head + `"tool_name":"Write","tool_input":{"file_path":"a","path":"b","content":"c"}}`: "file_path and path differ",
		head + `"tool_name":"Write","tool_input":{"file_path":1,"content":"c"}}`:              "file_path is no text",
		head + `"tool_name":"Bash","tool_input":{"command":["a",1]}}`:                         "no list of texts",
		head + `"tool_name":"Bash","tool_input":{"command":""}}`:                              "command is empty",
		head + `"tool_name":"Bash","tool_input":{"command":"a","run_in_background":"maybe"}}`: "neither true nor false",
		head + `"tool_name":"Bash","tool_input":{"command":"a","timeout":-1}}`:                "no whole number",
		head + `"tool_name":"Bash"}`:                                                                  "command is missing",
		head + `"tool_name":"Bash","tool_input":"ls"}`:                                                "command is missing",
		head + `"tool_name":"Edit","tool_input":{"file_path":"a","old_string":"b"}}`:                  "new_string is missing",
		head + `"tool_name":"MultiEdit","tool_input":{"file_path":"a"}}`:                              "edits is missing",
		head + `"tool_name":"MultiEdit","tool_input":{"file_path":"a","edits":[{"old_string":"b"}]}}`: "new_string is missing",
		head + `"tool_input":{"command":"a"}}`:                                                        "tool_name is missing",
		`{"hook_event_name":"PreToolUse","cwd":"p","tool_name":"WebFetch","tool_input":{}}`:           "not absolute",
		`{"hook_event_name":"BeforeAnything","cwd":"/p","tool_name":"WebFetch"}`:                      "no event of a call",
		`{"hook_event_name":"Stop","hook_event_name":"PreToolUse","cwd":"/p"}`:                        "duplicate",
	} {
		e, err := clienthook.Parse(clienthook.ClaudeCode, []byte(raw))
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", raw, err)
		check.That(t, e.Phase == clienthook.Before, "%s: %s", raw, e.Phase)
	}
	for _, raw := range []string{`{"hook_event_name":"Notification","session_id":"s"}`, `{"hook_event_name":"New","new":[]}`, `{"hook_event_name":"Stop","agent_id":"a"}`} {
		e, err := clienthook.Parse(clienthook.ClaudeCode, []byte(raw))
		check.That(t, err == nil && e.Phase == clienthook.Other, "%s: %v, %s", raw, err, e.Phase)
	}
}

// TestReplacedCommands: in each event in which a client's command can be replaced, what the client reads then is the same
// call with the other line.
func TestReplacedCommands(t *testing.T) {
	const line = "orchestra-mcp exec 'ö\x00\"\\' </a>\n"
	replaced := map[clienthook.Client]int{}
	for _, r := range events(t) {
		e, err := clienthook.Parse(r.client, r.raw)
		before, is := e.Action.(clienthook.Command)
		if err != nil || !is || e.Phase != clienthook.Before {
			continue
		}
		out := clienthook.Emit(e, clienthook.Answer{Command: line})
		if closed(out) {
			continue
		}
		replaced[r.client]++
		input := inputIn(t, out)
		if e.Client != r.client {
			continue // it was run by another client, whose answer it gets
		}
		if r.client == clienthook.OpenCode {
			check.That(t, input == nil, "%s", input)
			continue
		}
		if before.Line = line; !bytes.Contains(r.raw, e.Input) { // arguments in a text
			continue
		}
		again, err := clienthook.Parse(r.client, bytes.Replace(r.raw, e.Input, input, 1))
		check.That(t, err == nil && reflect.DeepEqual(again.Action, clienthook.Action(before)), "%s/%s: %+v, %v", r.client, r.name, again.Action, err)
	}
	for _, client := range clienthook.Clients() {
		can := client.Abilities("").Rewrite || client.Abilities(clienthook.StructuredInput).Rewrite
		check.That(t, can == (replaced[client] > 0), "%s: %v, but %d replaced", client, can, replaced[client])
	}
}

// TestAnEventWithoutAnID: only Claude Code's always have one.
func TestAnEventWithoutAnID(t *testing.T) {
	for client, tool := range map[clienthook.Client]string{clienthook.VSCode: "run_in_terminal", clienthook.Codex: "Bash", clienthook.ClaudeCode: "Bash"} {
		raw := bytes.Replace(before(client, tool, `{"command":"ls"}`), []byte(`"tool_use_id":"c",`), nil, 1)
		e, err := clienthook.Parse(client, raw)
		check.NoError(t, err)
		out := clienthook.Emit(e, clienthook.Answer{Command: "replaced"})
		check.That(t, closed(out) == (client == clienthook.ClaudeCode) && closed(out) != bytes.Contains(out.Stdout, []byte("replaced")), "%s: %+v", client, out)
	}
}

// inputIn finds the input in an answer.
func inputIn(t *testing.T, out clienthook.Output) json.RawMessage {
	t.Helper()
	var said struct {
		UpdatedInput       json.RawMessage `json:"updated_input"`
		ModifiedArgs       json.RawMessage
		OverrideInput      json.RawMessage
		HookSpecificOutput struct {
			UpdatedInput json.RawMessage
			ToolInput    json.RawMessage `json:"tool_input"`
		}
	}
	check.OK(t, json.Unmarshal(out.Stdout, &said))
	for _, input := range []json.RawMessage{said.UpdatedInput, said.ModifiedArgs, said.OverrideInput, said.HookSpecificOutput.UpdatedInput, said.HookSpecificOutput.ToolInput} {
		if input != nil {
			return input
		}
	}
	return nil
}

// TestNoVerdictIsLeftOut: a denial denies whatever the event, and what a client cannot be told is a denial.
func TestNoVerdictIsLeftOut(t *testing.T) {
	for _, r := range events(t) {
		e, _ := clienthook.Parse(r.client, r.raw)
		if e.Phase != clienthook.Before {
			continue
		}
		for _, a := range []clienthook.Answer{{Verdict: clienthook.Deny}, {Verdict: clienthook.Deny, Reason: " \n", Command: "x"}} {
			check.That(t, closed(clienthook.Emit(e, a)), "%s/%s: %+v is not denied", r.client, r.name, a)
		}
		ask := clienthook.Emit(e, clienthook.Answer{Verdict: clienthook.Ask})
		check.That(t, closed(ask) || r.client.CanAsk(e.Mode) && bytes.Contains(ask.Stdout, []byte(`"ask"`)), "%s/%s: %s", r.client, r.name, ask.Stdout)
		check.That(t, !closed(clienthook.Emit(e, clienthook.Answer{})), "%s/%s: passing is denied", r.client, r.name)
		with := clienthook.Emit(e, clienthook.Answer{Command: "replaced"})
		check.That(t, closed(with) || bytes.Contains(with.Stdout, []byte(`"replaced"`)), "%s/%s: %s", r.client, r.name, with.Stdout)
	}
}

func TestWhoCanAsk(t *testing.T) {
	for mode, want := range map[string]bool{"default": true, "acceptEdits": true, "plan": true, "auto": false, "dontAsk": false, "bypassPermissions": false, "": false} {
		check.Equal(t, clienthook.ClaudeCode.CanAsk(mode), want, mode)
	}
	for _, client := range clienthook.Clients() {
		check.That(t, !client.CanAsk(""), "%s asks in a mode that it does not tell", client)
		limit := client.Abilities("").LimitSeconds
		check.That(t, limit >= 20 && limit < 30, "%s: %d s", client, limit)
	}
}

// FuzzParse: what is read without an error of a call has an action, and what is read with one can be denied.
func FuzzParse(f *testing.F) {
	for _, r := range events(f) {
		f.Add(string(r.client), r.raw)
	}
	f.Fuzz(func(t *testing.T, client string, raw []byte) {
		e, err := clienthook.Parse(clienthook.Client(client), raw)
		made := e.Phase == clienthook.After || e.Phase == clienthook.Failed
		if err == nil && (made || e.Phase == clienthook.Before) {
			check.That(t, e.Action != nil && e.Tool != "", "%s: %s: no action", client, raw)
		}
		if e.Phase == clienthook.Before {
			check.That(t, closed(clienthook.Emit(e, clienthook.Answer{Verdict: clienthook.Deny, Reason: string(raw)})), "%s: %s: not denied", client, raw)
			out := clienthook.Emit(e, clienthook.Answer{Command: "replaced"})
			check.That(t, closed(out) || json.Valid(out.Stdout) && bytes.Contains(out.Stdout, []byte(`"replaced"`)), "%s: %s: %s", client, raw, out.Stdout)
		}
	})
}
