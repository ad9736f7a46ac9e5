package agents

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
)

// Codex is Codex CLI.
func Codex() Client {
	codex := scripted.Codex()
	codex.Trusting = append(codex.Trusting, "--dangerously-bypass-hook-trust")
	return Client{
		Client: codex,
		Program: func(t testing.TB) []string {
			machine := map[string]string{"x64": "x86_64", "arm64": "aarch64"}[arch()]
			return []string{installed(t, "@openai", "codex-linux-"+arch(), "vendor", machine+"-unknown-linux-musl", "bin", "codex")}
		},
		Hooked: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"},
		Shell:  func(command string) Call { return Call{Name: "exec_command", Input: object{"cmd": command}} },
		Edit: func(path, old, new string) Call {
			return Call{Name: "apply_patch", Input: "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + new + "\n*** End Patch"}
		},
		install: func(t testing.TB, p Place, c Client, argv []string) {
			hooks := object{}
			for _, event := range c.Hooked {
				hooks[event] = []object{{"hooks": []object{{"type": "command", "command": quoted(argv), "timeout": 20}}}}
			}
			write(t, object{"hooks": hooks}, p.Home, ".codex", "hooks.json")
		},
	}
}
