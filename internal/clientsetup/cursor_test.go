package clientsetup_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func TestCursorGuard(t *testing.T) {
	tests := []struct {
		input, want string
		keepRead    bool
	}{
		{input: `{"tool_name": "MCP:write_to_file"}`, want: "allow"},
		{input: `{"tool_name": "Task"}`, want: "allow"},
		{input: `{"tool_name": "Shell"}`, want: "deny"},
		{input: `{"tool_name": "Write"}`, want: "deny"},
		{input: `{"tool_name": "SomethingNew"}`, want: "deny"},
		{input: `{"tool_name": "Read"}`, want: "deny"},
		{input: `{"tool_name": "Read"}`, want: "allow", keepRead: true},
		{input: `{"tool_name": "Write"}`, want: "deny", keepRead: true},
		{input: `{}`, want: "deny"},
		{input: ``, want: "deny"},
		{input: `[1`, want: "deny"},
	}
	for _, test := range tests {
		var out strings.Builder
		check.OK(t, clientsetup.CursorGuard(strings.NewReader(test.input), &out, test.keepRead))
		answer := decodeJSON(t, out.String())
		check.That(t, answer["permission"] == test.want, "%s (reading kept: %v): %v", test.input, test.keepRead, answer)
		check.That(t, test.want != "deny" || strings.Contains(answer["user_message"].(string), "read_file"),
			"%s: the refusal does not say what to use: %v", test.input, answer)
	}
}

func TestMovedBinaryReplacesItsHook(t *testing.T) {
	p := newPlace(t)
	p.write(".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": [{"command": "mine.sh", "matcher": "Shell"}], "stop": [{"command": "x"}]}}`)
	p.apply("cursor")
	p.opts.Command = "/new place/orchestra-mcp"
	p.apply("cursor")
	hooks := decodeJSON(t, p.read(".cursor/hooks.json"))["hooks"].(map[string]any)
	list := hooks["preToolUse"].([]any)
	check.Must(t, len(list) == 2 && list[0].(map[string]any)["command"] == "mine.sh" && hooks["stop"] != nil, "hooks %v", hooks)
	ours := list[1].(map[string]any)
	check.That(t, ours["command"] == "'/new place/orchestra-mcp' client-guard cursor" && ours["failClosed"] == true, "our hook %v", ours)
}
