package agents

import (
	"runtime"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
)

// arch is the machine in the words of npm.
func arch() string {
	return map[string]string{"amd64": "x64"}[runtime.GOARCH] + map[string]string{"arm64": "arm64"}[runtime.GOARCH]
}

// Claude is Claude Code.
func Claude() Client {
	return Client{
		Client: scripted.Claude(),
		Program: func(t testing.TB) []string {
			return []string{installed(t, "@anthropic-ai", "claude-code-linux-"+arch(), "claude")}
		},
		Hooked: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied",
			"SubagentStart", "SubagentStop", "Stop", "SessionEnd"},
		Shell: func(command string) Call {
			return Call{Name: "Bash", Input: object{"command": command, "description": "Run it"}}
		},
		Edit: func(path, old, new string) Call {
			return Call{Name: "Edit", Input: object{"file_path": path, "old_string": old, "new_string": new}}
		},
		Read: func(path string) Call { return Call{Name: "Read", Input: object{"file_path": path}} },
		install: func(t testing.TB, p Place, c Client, argv []string) {
			hooks := object{}
			for _, event := range c.Hooked {
				hooks[event] = []object{{"hooks": []object{{"type": "command", "command": argv[0], "args": argv[1:], "onFailure": "block", "timeout": 20}}}}
			}
			write(t, object{"hooks": hooks}, p.Home, ".claude", "settings.json")
		},
	}
}
