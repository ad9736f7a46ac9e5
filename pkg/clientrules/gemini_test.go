package clientrules_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// The forms of google-gemini/gemini-cli docs/reference/policy-engine.md.
func TestGeminiPolicies(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.gemini/policies/rules.toml": `
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git"
decision = "ask_user"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "npm test"]
decision = "allow"
priority = 200

[[rule]]
toolName = "run_shell_command"
commandRegex = "(rm|mv) -r"
decision = "deny"
priority = 300
denyMessage = "no"

[[rule]]
toolName = ["run_shell_command", "write_file"]
argsPattern = '"command":"[^"]*--force'
decision = "deny"
priority = 400

[[rule]]
toolName = "run_shell_command"
commandPrefix = "make"
decision = "allow"
priority = 10
modes = ["yolo"]

[[rule]]
toolName = "run_shell_command"
commandPrefix = "ssh"
decision = "deny"
priority = 10
modes = ["plan"]

[[rule]]
toolName = "run_shell_command"
decision = "deny"
priority = 999
interactive = false

[[rule]]
mcpName = "x"
toolName = "*"
decision = "deny"
priority = 999

[[rule]]
toolName = "write_file"
decision = "deny"
priority = 999
`,
		"ws/.gemini/policies/a.toml":                   "[[rule]]\ntoolName='run_shell_command'\ncommandPrefix='git'\ndecision='allow'\npriority=999",
		"system/etc/gemini-cli/policies/a.toml":        "[[rule]]\ntoolName='run_shell_command'\ncommandPrefix='curl'\ndecision='deny'\npriority=0",
		"home/.gemini/extensions/e/policies/a.toml":    "[[rule]]\ntoolName='run_shell_command'\ncommandPrefix='dd'\ndecision='deny'\npriority=0\n[[rule]]\ntoolName='run_shell_command'\ncommandPrefix='xx'\ndecision='allow'\npriority=0",
		"home/.gemini/extensions/extension-names.json": "{}",
	})
	m.want(clienthook.Gemini, lines{
		allow: "git status\nnpm test\ngit status && npm test",
		ask:   "git\ngit push\ngit status && git push\nsudo git push",
		deny:  "rm -r x\nls && mv -r a\ngit push --force\nssh x\ncurl x\n/usr/bin/curl x\ndd if=x\nnpm test; rm -r x\nbash -c 'rm -r x'\necho $(curl x)",
		none:  "ls\ngitx\ngit-lfs\nmake\nxx\nnpm test > x\nnpm test && ls\necho 'rm -r x'",
	})
	check.Equal(t, m.ask(clienthook.Gemini, "curl x").File, m.root+"/system/etc/gemini-cli/policies/a.toml")
}

// docs/reference/configuration.md: tools.core, tools.exclude, tools.allowed, tools.confirmationRequired.
func TestGeminiSettings(t *testing.T) {
	for settings, want := range map[string]lines{
		`{"tools":{"allowed":["run_shell_command(git)", "run_shell_command(npm test)"]}, /* c */}`: {allow: "git status\nnpm test\ngit a | git b", deny: "npm install\nls\ngit a; ls\ntimeout 3 git a"},
		`{"tools":{"allowed":["run_shell_command"]}}`:                                              {allow: "ls"},
		`{"tools":{"exclude":["run_shell_command"]}}`:                                              {deny: "ls"},
		`{"tools":{"exclude":["ShellTool(rm)"]}}`:                                                  {deny: "rm x\nls; rm x\nsudo rm x", none: "ls\nrmdir x"},
		`{"excludeTools":["run_shell_command(rm)"]}`:                                               {deny: "rm x"},
		`{"tools":{"core":["run_shell_command(ls)","read_file"]}}`:                                 {allow: "ls x", deny: "rm x"},
		`{"tools":{"core":["read_file"]}}`:                                                         {deny: "ls"},
		`{"tools":{"confirmationRequired":["run_shell_command"],"allowed":["run_shell_command"]}}`: {ask: "ls"},
		`{"tools":{}}`: {none: "ls"},
	} {
		newMachine(t).write(map[string]string{"home/.gemini/settings.json": settings}).want(clienthook.Gemini, want)
		m := newMachine(t).write(map[string]string{"other/.gemini/settings.json": settings})
		m.env["GEMINI_CLI_HOME"] = m.root + "/other"
		m.want(clienthook.Gemini, want)
		m = newMachine(t).write(map[string]string{"other/s.json": settings})
		m.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = m.root + "/other/s.json"
		m.want(clienthook.Gemini, want)
	}
}
