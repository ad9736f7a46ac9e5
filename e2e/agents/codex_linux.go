package agents

import (
	"fmt"
	"strings"
	"testing"
)

// Codex is Codex CLI.
func Codex() Client {
	return Client{
		Name: "codex",
		Program: func(t testing.TB) []string {
			machine := map[string]string{"x64": "x86_64", "arm64": "aarch64"}[arch()]
			return []string{installed(t, "@openai", "codex-linux-"+arch(), "vendor", machine+"-unknown-linux-musl", "bin", "codex")}
		},
		Trusting: []string{"--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"},
		Hooked:   []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"},
		Write: func(path, content string) Call {
			patch := "*** Begin Patch\n*** Add File: " + path + "\n"
			for line := range strings.Lines(content) {
				patch += "+" + line
			}
			return Call{"apply_patch", patch + "*** End Patch"}
		},
		Shell: func(command string) Call { return Call{"exec_command", object{"cmd": command}} },
		command: func(_ testing.TB, _ Place, url string) (argv, env []string) {
			argv = []string{"exec", "--skip-git-repo-check", prompt}
			for _, setting := range codexSettings {
				argv = append(argv, "-c", setting)
			}
			return append(argv, "-c", fmt.Sprintf(codexProvider, url)), []string{"SCRIPTED_KEY=dummy"}
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

// codexSettings name a model of the program's own list, whose tools depend on it, and switch off what asks others. The file
// config.toml is left to who prepares the place.
var codexSettings = [...]string{`model="gpt-5.5"`, `model_provider="scripted"`, `check_for_update_on_startup=false`, `web_search="disabled"`,
	`features.apps=false`, `features.plugins=false`, `analytics.enabled=false`, `feedback.enabled=false`}

const codexProvider = `model_providers.scripted={name="scripted",base_url="%s/v1",wire_api="responses",env_key="SCRIPTED_KEY",request_max_retries=0,stream_max_retries=0}`
