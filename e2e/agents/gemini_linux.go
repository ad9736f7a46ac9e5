package agents

import (
	"os/exec"
	"testing"
)

// Gemini is Gemini CLI.
func Gemini() Client {
	return Client{
		Name: "gemini",
		Program: func(t testing.TB) []string {
			node, err := exec.LookPath("node")
			if err != nil {
				missing(t, "Gemini CLI needs node")
			}
			return []string{node, installed(t, "@google", "gemini-cli", "bundle", "gemini.js")}
		},
		Trusting: []string{"--yolo"},
		Hooked:   []string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"},
		Write: func(path, content string) Call {
			return Call{"write_file", object{"file_path": path, "content": content}}
		},
		Shell: func(command string) Call {
			return Call{"run_shell_command", object{"command": command, "description": "Run it"}}
		},
		command: func(t testing.TB, p Place, url string) (argv, env []string) {
			add(t, object{
				"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":   object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false},
				"general":   object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
			}, p.Home, ".gemini", "settings.json")
			return []string{"-p", prompt, "-m", "gemini-2.5-pro"}, []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=dummy", "GEMINI_CLI_NO_RELAUNCH=true"}
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
