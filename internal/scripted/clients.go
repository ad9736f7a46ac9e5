package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Prompt is what each run is asked; scripts do not listen.
const Prompt = "Follow the script."

// Client is a coding agent, and how it runs without a person and without a login.
type Client struct {
	// Name is as on this program's command line, Executable as on the PATH.
	Name, Executable string
	// Trusting are the arguments with which the client itself lets everything pass: what is stopped then, a hook stopped.
	Trusting []string
	// Write is a call of the client's own tool, called WriteTool, that makes a file. The path is absolute.
	WriteTool string
	Write     func(path, content string) Call
	// Command is a run against a model, with the configuration in the user's home directory. A file that it takes besides is
	// written into dir.
	Command func(url, home, dir string) (argv, env []string, err error)
}

// Clients are all that can be run so.
func Clients() []Client { return []Client{Claude(), Codex(), Gemini(), OpenCode()} }

// Claude is Claude Code.
func Claude() Client {
	return Client{
		Name: "claude-code", Executable: "claude", Trusting: []string{"--permission-mode", "bypassPermissions"}, WriteTool: "Write",
		Write: func(path, content string) Call { return Call{"Write", object{"file_path": path, "content": content}} },
		Command: func(url, _, _ string) (argv, env []string, err error) {
			// The user's settings may have an environment too, which goes before ours, but not before that of this argument.
			vars := map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy",
				"CLAUDE_CODE_USE_BEDROCK": "", "CLAUDE_CODE_USE_VERTEX": "", "CLAUDE_CODE_USE_FOUNDRY": ""}
			settings, err := json.Marshal(object{"env": vars})
			env = []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1"}
			for name, value := range vars {
				env = append(env, name+"="+value)
			}
			return []string{"-p", Prompt, "--model", "scripted", "--settings", string(settings)}, env, err
		},
	}
}

// Codex is Codex CLI.
func Codex() Client {
	// A model of the program's own list, whose tools depend on it; and what asks others is switched off.
	settings := []string{`model="gpt-5.5"`, `model_provider="scripted"`, `check_for_update_on_startup=false`, `web_search="disabled"`,
		`features.apps=false`, `features.plugins=false`, `analytics.enabled=false`, `feedback.enabled=false`}
	const provider = `model_providers.scripted={name="scripted",base_url="%s/v1",wire_api="responses",env_key="SCRIPTED_KEY",request_max_retries=0,stream_max_retries=0}`
	return Client{
		Name: "codex", Executable: "codex", Trusting: []string{"--dangerously-bypass-approvals-and-sandbox"}, WriteTool: "apply_patch",
		Write: func(path, content string) Call {
			patch := "*** Begin Patch\n*** Add File: " + path + "\n"
			for line := range strings.Lines(content) {
				patch += "+" + line
			}
			return Call{"apply_patch", patch + "*** End Patch"}
		},
		Command: func(url, _, _ string) (argv, env []string, err error) {
			argv = []string{"exec", "--skip-git-repo-check", Prompt}
			for _, setting := range append(settings, fmt.Sprintf(provider, url)) {
				argv = append(argv, "-c", setting)
			}
			return argv, []string{"SCRIPTED_KEY=dummy"}, nil
		},
	}
}

// OpenCode is OpenCode.
func OpenCode() Client {
	return Client{
		Name: "opencode", Executable: "opencode", Trusting: []string{"--auto"}, WriteTool: "write",
		Write: func(path, content string) Call { return Call{"write", object{"filePath": path, "content": content}} },
		Command: func(url, _, _ string) (argv, env []string, err error) {
			config, err := json.Marshal(object{
				"autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
				"enabled_providers": []string{"scripted"},
				"provider": object{"scripted": object{"npm": "@ai-sdk/openai-compatible", "name": "scripted",
					"options": object{"baseURL": url + "/v1", "apiKey": "dummy"}, "models": object{"scripted": object{"name": "scripted", "tool_call": true}}}},
			})
			return []string{"run", Prompt}, []string{"OPENCODE_CONFIG_CONTENT=" + string(config), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1"}, err
		},
	}
}
