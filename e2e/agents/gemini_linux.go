package agents

import (
	"os/exec"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
)

// Gemini is Gemini CLI.
func Gemini() Client {
	return Client{
		Client: scripted.Gemini(),
		Program: func(t testing.TB) []string {
			node, err := exec.LookPath("node")
			if err != nil {
				missing(t, "Gemini CLI needs node")
			}
			return []string{node, installed(t, "@google", "gemini-cli", "bundle", "gemini.js")}
		},
		Hooked: []string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"},
		Shell: func(command string) Call {
			return Call{Name: "run_shell_command", Input: object{"command": command, "description": "Run it"}}
		},
		Edit: func(path, old, new string) Call {
			return Call{Name: "replace", Input: object{"file_path": path, "old_string": old, "new_string": new, "instruction": "Replace it"}}
		},
		Read: func(path string) Call { return Call{Name: "read_file", Input: object{"file_path": path}} },
		prepare: func(t testing.TB, p Place) {
			add(t, object{
				"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":   object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false},
				"general":   object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
			}, p.Home, ".gemini", "settings.json")
		},
		install: func(t testing.TB, p Place, c Client, argv []string) {
			hooks := object{}
			for _, event := range c.Hooked {
				hooks[event] = []object{{"hooks": []object{{"type": "command", "command": quoted(argv), "timeout": 20000}}}}
			}
			write(t, object{"hooks": hooks}, p.Home, ".gemini", "settings.json")
		},
	}
}
