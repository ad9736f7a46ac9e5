package clienthook_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// before is the event of a client's call.
func before(client clienthook.Client, tool, input string) []byte {
	form := `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_use_id":"c","tool_name":%s,"tool_input":%s}`
	switch client {
	case clienthook.Gemini:
		form = strings.Replace(form, "PreToolUse", "BeforeTool", 1)
	case clienthook.Cursor:
		form = strings.Replace(form, "PreToolUse", "preToolUse", 1)
	case clienthook.Cline:
		form = `{"hookName":"tool_call","taskId":"s","workspaceRoots":["/p"],"tool_call":{"id":"c","name":%s,"input":%s}}`
	case clienthook.OpenCode:
		form = `{"event":"before","session":"s","call":"c","directory":"/p","tool":%s,"args":%s}`
	}
	name, _ := json.Marshal(tool)
	return fmt.Appendf(nil, form, name, input)
}

// TestTools has what the recorded events do not have.
func TestTools(t *testing.T) {
	type command = clienthook.Command
	type read = clienthook.Read
	for _, c := range []struct {
		client      clienthook.Client
		tool, input string
		want        clienthook.Action // nil for an error
	}{
		{clienthook.ClaudeCode, "Monitor", `{"description":"d","timeout_ms":5,"command":"tail -f x"}`, command{Line: "tail -f x", Background: true, TimeoutMS: 5}},
		{clienthook.ClaudeCode, "Monitor", `{"description":"d","timeout_ms":5,"ws":{"url":"u"}}`, clienthook.Foreign{}},
		{clienthook.ClaudeCode, "Edit", `{"file_path":"/p/n","old_string":"","new_string":"x"}`, clienthook.Write{Path: "/p/n", Content: "x"}},
		{clienthook.ClaudeCode, "MultiEdit", `{"file_path":"/p/n","edits":[{"old_string":"","new_string":"x"},{"old_string":"x","new_string":"y"}]}`, clienthook.Change{Paths: []string{"/p/n"}}},
		{clienthook.ClaudeCode, "Grep", `{"pattern":"x","path":"/etc","offset":2}`, clienthook.Look{Path: "/etc", Contents: true}},
		{clienthook.ClaudeCode, "Glob", `{"pattern":"*"}`, clienthook.Look{}},
		{clienthook.ClaudeCode, "mcp__orchestra-two__read_file", `{}`, clienthook.Governed{Tool: "read_file"}},
		{clienthook.ClaudeCode, "mcp__orchestral__read_file", `{}`, clienthook.Foreign{}},
		{clienthook.ClaudeCode, "Shell", `{"command":"ls","cwd":"/q"}`, command{Line: "ls", Cwd: "/q"}},
		{clienthook.ClaudeCode, "exec", `{"command":"ls","shell_id":"m"}`, command{Line: "ls"}},
		{clienthook.Codex, "shell", `{"command":["echo",7]}`, nil},
		{clienthook.Codex, "apply_patch", `{"patch":"*** Begin Patch"}`, clienthook.Patch{Text: "*** Begin Patch"}},
		{clienthook.Codex, "apply_patch", `{"path":"a"}`, nil},
		{clienthook.Cursor, "Delete", `{"paths":["a","b"]}`, clienthook.Delete{Paths: []string{"a", "b"}}},
		{clienthook.Cursor, "Write", `{"content":"x"}`, nil},
		{clienthook.Cursor, "Read", `{"path":"a","offset":-5}`, nil},
		{clienthook.Copilot, "str_replace_editor", `{"command":"create","path":"a","file_text":"x"}`, clienthook.Write{Path: "a", Content: "x"}},
		{clienthook.Copilot, "str_replace_editor", `{"command":"view","path":"a","view_range":[0,-1]}`, read{Path: "a"}},
		{clienthook.Copilot, "str_replace_editor", `{"command":"insert","path":"a","insert_line":1,"new_str":"x"}`, clienthook.Change{Paths: []string{"a"}}},
		{clienthook.Copilot, "view", `{"path":"a","view_range":[9,3]}`, nil},
		{clienthook.Copilot, "view", `{"path":"a","view_range":"all"}`, nil},
		{clienthook.Copilot, "Bash", `"*** Begin Patch"`, nil},
		{clienthook.VSCode, "create_directory", `{"dirPath":"/p/d"}`, clienthook.Change{Paths: []string{"/p/d"}}},
		{clienthook.VSCode, "editFiles", `{"files":[]}`, nil},
		{clienthook.VSCode, "multi_replace_string_in_file", `{"replacements":[]}`, nil},
		{clienthook.VSCode, "vscode_renameSymbol", `{}`, nil},
		{clienthook.Gemini, "replace", `{"file_path":"a","old_string":"x","new_string":"y","allow_multiple":true}`, clienthook.Edit{Path: "a", Replaces: []clienthook.Replace{{Old: "x", New: "y", All: true}}}},
		{clienthook.Gemini, "list_directory", `{"dir_path":"sub"}`, clienthook.Look{Path: "sub"}},
		{clienthook.Gemini, "read_file", `{"file_path":"a","offset":0,"limit":10}`, read{Path: "a", From: 1, Lines: 10}},
		{clienthook.Cline, "editor", `{"path":"a","new_text":"x"}`, clienthook.Write{Path: "a", Content: "x"}},
		{clienthook.Cline, "editor", `{"path":"a","new_text":"x","insert_line":"3"}`, clienthook.Change{Paths: []string{"a"}}},
		{clienthook.Cline, "run_commands", `{"commands":["ls"]}`, command{Line: "ls"}},
		{clienthook.Cline, "run_commands", `{"command":"ls"}`, command{Line: "ls"}},
		{clienthook.Cline, "run_commands", `"ls"`, command{Line: "ls"}},
		{clienthook.Cline, "run_commands", `{"commands":[]}`, nil},
		{clienthook.Cline, "read_files", `{"path":"a"}`, read{Path: "a"}},
		{clienthook.Cline, "read_files", `{"files":[{"start_line":1}]}`, nil},
		{clienthook.Cline, "replace_in_file", `{"path":"a","diff":"------- SEARCH\n=======\nall\n+++++++ REPLACE"}`, clienthook.Write{Path: "a", Content: "all\n"}},
		{clienthook.Cline, "replace_in_file", `{"path":"a","diff":"text\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE"}`, clienthook.Change{Paths: []string{"a"}}},
		{clienthook.Cline, "replace_in_file", `{"path":"a","diff":"------- SEARCH\na\n------- SEARCH\nb\n=======\nc\n+++++++ REPLACE"}`, clienthook.Change{Paths: []string{"a"}}},
		{clienthook.Cline, "orchestra__read_file", `{}`, clienthook.Governed{Tool: "read_file"}},
		{clienthook.OpenCode, "multiedit", `{"filePath":"a","edits":[{"oldString":"x","newString":"y"}]}`, clienthook.Edit{Path: "a", Replaces: []clienthook.Replace{{Old: "x", New: "y"}}}},
		{clienthook.OpenCode, "other_apply_patch", `{}`, clienthook.Foreign{}},
	} {
		e, err := clienthook.Parse(c.client, before(c.client, c.tool, c.input))
		if c.want == nil {
			check.That(t, err != nil, "%s: %s(%s) is %+v", c.client, c.tool, c.input, e.Action)
			continue
		}
		check.That(t, err == nil && reflect.DeepEqual(e.Action, c.want), "%s: %s(%s) is %T%+v, %v", c.client, c.tool, c.input, e.Action, e.Action, err)
	}
}

// TestReplacedInputs: what is no text that a client would run is left to nobody.
func TestReplacedInputs(t *testing.T) {
	for _, c := range []struct {
		client             clienthook.Client
		tool, input, after string // "" for a denial
	}{
		{clienthook.ClaudeCode, "Bash", `{"x":{"command":"y"},"command":"ls", "n":1.0}`, `{"x":{"command":"y"},"command":"new", "n":1.0}`},
		{clienthook.ClaudeCode, "Bash", `{"cmd":"ls","command":"ls"}`, `{"cmd":"new","command":"new"}`},
		{clienthook.ClaudeCode, "Bash", `{"command":"ls","cmd":null}`, `{"command":"new","cmd":null}`},
		{clienthook.ClaudeCode, "Bash", `{"command":["ls"]}`, ""},
		{clienthook.ClaudeCode, "Write", `{"file_path":"a","content":"b","command":"c"}`, ""},
		{clienthook.Codex, "apply_patch", `{"command":"*** Begin Patch"}`, ""},
		{clienthook.Cline, "run_commands", `{"commands":["a","b"]}`, `{"commands":["new"]}`},
		{clienthook.Cline, "run_commands", `{"commands":"a"}`, `{"commands":"new"}`},
		{clienthook.Cline, "run_commands", `"a"`, ""},
		{clienthook.Devin, "exec", `{"command":"ls"}`, ""},
	} {
		e, err := clienthook.Parse(c.client, before(c.client, c.tool, c.input))
		check.NoError(t, err)
		out := clienthook.Emit(e, clienthook.Answer{Command: "new"})
		check.That(t, closed(out) == (c.after == "") && strings.Contains(string(out.Stdout), c.after), "%s: %s: %s", c.client, c.input, out.Stdout)
	}
}

// TestControlsOfWindsurf: they are taken as they are in a text, and nowhere else.
func TestControlsOfWindsurf(t *testing.T) {
	for raw, want := range map[string]string{
		"\"a\tb\\\\\n\\\"c\r\"": "a\tb\\\n\"c\r", "\"\\\t\"": "", "\t\"x\"\n": "x", "\"\x00\"": "\x00", "\"\x1f\\u000a\"": "\x1f\n",
	} {
		e, err := clienthook.Parse(clienthook.Windsurf, []byte(`{"agent_action_name":"pre_run_command","tool_info":{"command_line":`+raw+`}}`))
		line, _ := e.Action.(clienthook.Command)
		check.That(t, (err == nil) == (want != "") && (err != nil || line.Line == want), "%q: %q, %v", raw, line.Line, err)
	}
}
