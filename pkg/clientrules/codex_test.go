package clientrules_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// The examples of developers.openai.com/codex/rules and of codex-rs/execpolicy/README.md.
const codexExample = `# Prompt before running commands with the prefix.
prefix_rule(
    pattern = ["gh", "pr", "view"],
    decision = "prompt",
    justification = "Viewing PRs is allowed with approval",
    match = ["gh pr view 7888", ["gh", "pr", "view", "--repo", "openai/codex"]],
    not_match = ["gh pr --repo openai/codex view 7888"],
)
prefix_rule(pattern=["cmd", ["alt1", "alt2"]], decision="forbidden")
prefix_rule(["npm", "test"])
prefix_rule(["git", "status"], "allow")
prefix_rule(pattern=["git"], decision="allow"); prefix_rule(pattern=["git", "push"], decision="prompt")
host_executable(name = "git", paths = ["/usr/bin/git"])
network_rule(host = "example.com", protocol = "https", decision = "deny")
`

func TestCodexRules(t *testing.T) {
	m := newMachine(t).write(map[string]string{
		"home/.codex/rules/default.rules":    codexExample,
		"home/.codex/rules/notes.txt":        "(",
		"ws/.codex/rules/team.rules":         `prefix_rule(pattern=["make"])` + "\n" + `prefix_rule(pattern=["docker", "run"], decision="forbidden")`,
		"system/etc/codex/requirements.toml": "[rules]\nprefix_rules = [{ pattern = [{ token = 'curl' }], decision = 'forbidden' }, { pattern = [{ any_of = ['a', 'b'] }, { token = 'c' }], decision = 'prompt', justification = 'x' }]",
	})
	m.want(clienthook.Codex, lines{
		ask:   "gh pr view 7888\ngit push\ngit status && git push\ngit -C x push\nsh -c 'git push'\nb c\necho $(gh pr view 1)",
		deny:  "cmd alt2 x\ngit push; cmd alt1\ndocker run x\nsudo docker run x\ncurl x\n/usr/bin/curl x\nfoo | xargs curl",
		allow: "npm test\nnpm test x && git fetch\ngit log | git x",
		none:  "npm install\nmake\nnpm test > x\nnpm test $x\n/usr/bin/git status\nnpm test | cat\ncmd\nrm x\nrm -- -f",
	})
	got := m.ask(clienthook.Codex, "git push")
	check.Equal(t, got.File, m.root+"/home/.codex/rules/default.rules")
	check.Equal(t, got.Rule, `prefix_rule [["git"] ["push"]] prompt`)
}

func TestCodexHome(t *testing.T) {
	m := newMachine(t).write(map[string]string{"other/rules/a.rules": `prefix_rule(pattern=["x"], decision="forbidden")`})
	m.env["CODEX_HOME"] = m.root + "/other"
	m.want(clienthook.Codex, lines{deny: "x"})
}

// Codex asks before rm with force of its own accord, and would not for the line that a hook makes of it.
func TestCodexForcedRemoval(t *testing.T) {
	const forced = "rm -rf x\nrm -f x\n/bin/rm -fr x\nrm --force x\nrm x -f\nsudo rm -rf x\nprintf x | rm -rf y\nfor t in a b; do rm -r -f \"$t\"; done\necho \"$(rm -rf x)\"\nif test -d x; then rm --force x; fi"
	m := newMachine(t)
	m.want(clienthook.Codex, lines{ask: forced, none: "rm -r x\nrm -- -f\necho 'rm -rf x'"})
	m.mode = "bypassPermissions"
	m.want(clienthook.Codex, lines{deny: forced, none: "rm x"})
	m.write(map[string]string{"home/.codex/rules/a.rules": `prefix_rule(pattern=["rm", "-rf"])`})
	m.want(clienthook.Codex, lines{allow: "rm -rf x", deny: "rm -f x"})
}

// A line that is more than plain commands is for Codex one command: its shell with the text.
func TestCodexRuleAboutTheShell(t *testing.T) {
	m := newMachine(t).write(map[string]string{"home/.codex/rules/a.rules": `prefix_rule(pattern=["bash", "-lc"], decision="prompt")`})
	m.want(clienthook.Codex, lines{ask: "ls > x\nls $x\nbash -lc ls", none: "ls\nls | cat"})
}
