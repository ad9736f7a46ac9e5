package agents

import (
	"runtime"
	"testing"
)

// arch is the machine in the words of npm.
func arch() string {
	return map[string]string{"amd64": "x64"}[runtime.GOARCH] + map[string]string{"arm64": "arm64"}[runtime.GOARCH]
}

// Claude is Claude Code.
func Claude() Client {
	return Client{
		Name: "claude-code",
		Program: func(t testing.TB) []string {
			return []string{installed(t, "@anthropic-ai", "claude-code-linux-"+arch(), "claude")}
		},
		Trusting: []string{"--permission-mode", "bypassPermissions"},
		Hooked: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied",
			"SubagentStart", "SubagentStop", "Stop", "SessionEnd"},
		Write: func(path, content string) Call { return Call{"Write", object{"file_path": path, "content": content}} },
		Shell: func(command string) Call { return Call{"Bash", object{"command": command, "description": "Run it"}} },
		command: func(_ testing.TB, _ Place, url string) (argv, env []string) {
			return []string{"-p", prompt, "--model", "scripted"}, []string{
				"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1",
			}
		},
		install: func(t testing.TB, p Place, c Client, argv []string) {
			hooks := object{}
			for _, event := range c.Hooked {
				hooks[event] = []object{{"hooks": []object{{"type": "command", "command": argv[0], "args": argv[1:], "onFailure": "block", "timeout": 20}}}}
			}
			write(t, object{"hooks": hooks}, p.Home, ".claude", "settings.json")
		},
	}
}
