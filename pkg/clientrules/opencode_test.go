package clientrules_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// The examples of opencode.ai/docs/permissions.
func TestOpenCodeRules(t *testing.T) {
	for config, want := range map[string]lines{
		`{"permission":"allow"}`:                                  {allow: "ls\nnpm test && ls", none: "ls > x"},
		`{"permission":"ask"}`:                                    {ask: "ls"},
		`{"permission":{"*":"ask","bash":"allow","edit":"deny"}}`: {allow: "ls"},
		`{"permission":{"bash":"allow","*":"ask"}}`:               {ask: "ls"},
		`{"permission":{"bash":{"*":"ask","git *":"allow","npm *":"allow","rm *":"deny","grep *":"allow"}}, // comment
		}`: {allow: "git status\ngit\ncd sub && git status\nnpm run x | grep y", ask: "ls\ngit status; ls\ngitx\ntimeout 3 git status", deny: "rm x\nls && rm x\nsudo rm x\n/bin/rm x\nsh -c 'rm x'\necho $(rm x)"},
		`{"permission":{"bash":{"git *":"allow","*":"ask"}}}`:                {ask: "git status"},
		`{"permission":{"bash":{"git push*":"deny"}}}`:                       {deny: "git push\ngit pushx", none: "git pull\ncd sub && ls"},
		`{"permission":{"bash":{"*":"deny","cd *":"allow","ls ?":"allow"}}}`: {allow: "ls x", deny: "ls xy\ncd sub && ls xy"},
		`{"permission":{"bash":{"* > *":"deny"}}}`:                           {deny: "ls > x", none: "ls"},
		`{"permission":{"edit":{"*":"deny"},"webfetch":"deny"}}`:             {none: "ls"},
		`{"permissions":[{"action":"shell","resource":"*","effect":"ask"},{"action":"shell","resource":"git status *","effect":"allow"},{"action":"shell","resource":"git push *","effect":"deny"}]}`: {ask: "ls", allow: "git status", deny: "git push"},
		`{"permissions":[{"action":"shell","resource":"x","effect":"allow"},{"action":"shell","resource":"*","effect":"ask"},{"action":"shell","resource":"x","effect":"deny"}]}`:                     {deny: "x"},
		"{\t\"permission\": {\"bash\": {\"echo \\/\\ud83d\\ude00\": \"deny\"}}}":                                                                                                                      {deny: "echo /😀"},
		`{}`: {none: "ls"},
	} {
		newMachine(t).write(map[string]string{"ws/opencode.json": config}).want(clienthook.OpenCode, want)
	}
}

func TestOpenCodeFilesMerge(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.config/opencode/opencode.json": `{"permission":{"bash":{"*":"ask","rm *":"deny","npm *":"allow"}}}`,
		"ws/opencode.jsonc":                   `{"permission":{"bash":{"*":"allow","make *":"ask"}}}`,
		"ws/.opencode/opencode.json":          `{"permission":{"bash":{"make x":"deny"}}}`,
		"system/etc/opencode/opencode.json":   `{"permission":{"bash":{"curl *":"deny"}}}`,
		"home/.opencode/opencode.json":        `{"permission":{"bash":{"ssh *":"deny"}}}`,
	})
	m.want(clienthook.OpenCode, lines{allow: "ls\nnpm x", ask: "make y", deny: "rm x\nmake x\ncurl x\nssh x"})
	check.Equal(t, m.ask(clienthook.OpenCode, "make x").File, m.root+"/ws/.opencode/opencode.json")
	m.env["OPENCODE_PERMISSION"] = `{"bash":{"ls":"deny"}}`
	m.env["OPENCODE_CONFIG_CONTENT"] = `{"permission":{"bash":{"ps":"deny"}}}`
	m.want(clienthook.OpenCode, lines{deny: "ls\nps"})
	m.env["OPENCODE_PERMISSION"] = `{"bash":`
	m.want(clienthook.OpenCode, lines{unknown: "ls"})
}

// Which agent calls is not told. Its own rules count where OpenCode, which sees another line, would not keep them.
func TestOpenCodeAgents(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"ws/opencode.json":                      `{"agent":{"build":{"permission":{"bash":{"git push *":"deny"}}},"review":{"permission":{"bash":{"*":"deny","git diff *":"allow"}}},"off":{"permission":{"bash":"deny"}}}}`,
		"ws/.opencode/agent/deploy.md":          "---\ndescription: x\npermission:\n  bash:\n    \"*\": ask\n    \"kubectl delete *\": deny\n---\nText\n",
		"home/.config/opencode/agents/plain.md": "no front matter",
	})
	m.want(clienthook.OpenCode, lines{none: "npm test\ngit diff x", deny: "git push\nkubectl delete x"})
}

func TestOpenCodePathsOutside(t *testing.T) {
	m := newMachine(t)
	const outside = "cat /etc/passwd\nrm ../outside/secret\ncd ROOT/outside\ncd .. && ls\ncp a ~/b\nsh -c 'rm /x'"
	m.want(clienthook.OpenCode, lines{ask: outside, none: "cat x\nls /etc\ncat ROOT/ws/x\ncd sub; ls", allow: "cd sub"})
	m.write(map[string]string{"ws/opencode.json": `{"permission":{"external_directory":{"~/projects/*":"allow"}}}`})
	m.want(clienthook.OpenCode, lines{none: "cat ~/projects/x", ask: "cat /etc/passwd"})
}
