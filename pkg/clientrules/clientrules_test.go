package clientrules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/pkg/clientrules"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// machine is a home, a workspace and an administrator's root of a test's own.
type machine struct {
	t    *testing.T
	root string
	env  map[string]string
	mode string
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, root: t.TempDir(), env: map[string]string{}}
	m.write(map[string]string{"home/x": "", "ws/sub/x": "", "ws/package.json": "{}", "ws/.env": "", "outside/secret": ""})
	return m
}

// write makes files below home/, ws/ and system/.
func (m *machine) write(files map[string]string) *machine {
	for name, content := range files {
		check.OK(m.t, os.MkdirAll(filepath.Join(m.root, filepath.Dir(name)), 0o755))
		check.Write(m.t, m.root, name, content)
	}
	return m
}

func (m *machine) question(client clienthook.Client, line string) clientrules.Question {
	at := func(name string) string { return filepath.Join(m.root, name) }
	return clientrules.Question{
		Client: client, Mode: m.mode, Home: at("home"), Workspace: at("ws"), Cwd: at("ws"), SystemRoot: at("system"), Line: line,
		Lookup: func(name string) (string, bool) { value, ok := m.env[name]; return value, ok },
	}
}

func (m *machine) ask(client clienthook.Client, line string) clientrules.Answer {
	return clientrules.Judge(m.question(client, strings.ReplaceAll(line, "ROOT", m.root)))
}

func clientrulesJudge(q clientrules.Question) clientrules.Verdict {
	return clientrules.Judge(q).Verdict
}

func symlink(target, name string) error { return os.Symlink(target, name) }

func quote(text string) string { return strconv.Quote(text) }

// lines are verdicts with the lines that come to them, one a line.
type lines map[clientrules.Verdict]string

func (m *machine) want(client clienthook.Client, want lines) {
	m.t.Helper()
	for verdict, all := range want {
		for line := range strings.SplitSeq(strings.TrimSpace(all), "\n") {
			got := m.ask(client, strings.TrimSpace(line))
			if got.Verdict != verdict {
				m.t.Errorf("%s: %q is %v, want %v: %+v", client, strings.TrimSpace(line), got.Verdict, verdict, got)
			}
		}
	}
}

const (
	unknown = clientrules.Unknown
	none    = clientrules.None
	allow   = clientrules.Allow
	ask     = clientrules.Ask
	deny    = clientrules.Deny
)

func TestClientsWithoutRulesInFiles(t *testing.T) {
	m := newMachine(t)
	for _, client := range []clienthook.Client{clienthook.Copilot, clienthook.VSCode, clienthook.Cline, clienthook.Devin, clienthook.Windsurf, "other"} {
		got := m.ask(client, "ls")
		check.Equal(t, got.Verdict, unknown)
		check.That(t, got.Why != "", "%s: no reason", client)
	}
}

func TestNoFilesMeanNoRules(t *testing.T) {
	m := newMachine(t)
	for client, verdict := range map[clienthook.Client]clientrules.Verdict{
		clienthook.ClaudeCode: none, clienthook.Codex: none, clienthook.Gemini: none, clienthook.OpenCode: none, clienthook.Cursor: unknown,
	} {
		m.want(client, lines{verdict: "npm test\nmake && make install\nfor i in 1 2; do echo $i; done"})
	}
}

// A file that stands where rules can stand and is not understood denies, and says which.
func TestWhatIsNotUnderstoodIsUnknown(t *testing.T) {
	for _, c := range []struct {
		client        clienthook.Client
		file, content string
	}{
		{clienthook.ClaudeCode, "ws/.claude/settings.json", `{"permissions":`},
		{clienthook.ClaudeCode, "home/.claude/settings.json", `[]`},
		{clienthook.ClaudeCode, "system/etc/claude-code/managed-settings.json", `{"permissions":{"deny":"Bash"}}`},
		{clienthook.ClaudeCode, "ws/.claude/settings.json", `{"permissions":{"deny":["Bash(rm"]}}`},
		{clienthook.ClaudeCode, "ws/.claude/settings.json", `{"permissions":{"deny":["Bash(rm *)"]},"permissions":{}}`},
		{clienthook.ClaudeCode, "ws/.claude/settings.json", strings.Repeat(" ", 1<<20)},
		{clienthook.ClaudeCode, "ws/.claude/settings.json/x", ""},
		{clienthook.Codex, "home/.codex/rules/default.rules", `prefix_rule(pattern=["rm"], decision="no")`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `prefix_rule(pattern=[], decision="forbidden")`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `prefix_rule(pattern=["a" + "b"])`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `prefix_rule(**{})`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `[prefix_rule(pattern=[x]) for x in ["a"]]`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `load("x", "y")`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `x = "a" * 1000000000`},
		{clienthook.Codex, "home/.codex/rules/default.rules", `prefix_rule(`},
		{clienthook.Codex, "ws/.codex/rules/a.rules", strings.Repeat("(", 100_000)},
		{clienthook.Codex, "ws/.codex/rules", "no directory"},
		{clienthook.Codex, "system/etc/codex/requirements.toml", "[rules]\nprefix_rules = [{pattern=[{token='rm'}]}]"},
		{clienthook.Gemini, "home/.gemini/policies/a.toml", "[[rule]"},
		{clienthook.Gemini, "home/.gemini/policies/a.toml", "[[rule]]\ntoolName='run_shell_command'\ndecision='maybe'\npriority=1"},
		{clienthook.Gemini, "home/.gemini/policies/a.toml", "[[rule]]\ntoolName='run_shell_command'\ncommandRegex='(?!rm)'\ndecision='deny'\npriority=1"},
		{clienthook.Gemini, "ws/.gemini/settings.json", `{"tools":{"exclude":"x"}}`},
		{clienthook.OpenCode, "ws/opencode.json", `{"permission":{"bash":{"rm *":"never"}}}`},
		{clienthook.OpenCode, "ws/opencode.json", `{"permission":{"bash":{"rm *":{}}}}`},
		{clienthook.OpenCode, "ws/opencode.jsonc", `{"permission":{"bash":`},
		{clienthook.OpenCode, "ws/opencode.json", `[]`},
		{clienthook.OpenCode, "ws/opencode.json", `{"permissions":[{"action":"shell"}]}`},
		{clienthook.OpenCode, "ws/opencode.json", `{"permission":{"bash":{"rm *":"deny","rm *":"allow"}}}`},
		{clienthook.OpenCode, "ws/.opencode/agent/a.md", "---\npermission: [\n---\n"},
		{clienthook.Cursor, "home/.cursor/cli-config.json", `{"permissions":1}`},
	} {
		m := newMachine(t).write(map[string]string{c.file: c.content})
		got := m.ask(c.client, "ls")
		check.That(t, got.Verdict == unknown && strings.Contains(got.Why, filepath.Base(strings.TrimSuffix(c.file, "/x"))), "%s %q: %+v", c.file, c.content[:min(len(c.content), 80)], got)
	}
}

// Another case of a name is another name: it neither adds a rule nor takes one away.
func TestNamesAreComparedAsTheyAre(t *testing.T) {
	m := newMachine(t).write(map[string]string{"ws/.claude/settings.json": `{"permissions":{"deny":["Bash(rm *)"],"DENY":[],"Allow":["Bash(npm *)"]},"Permissions":{}}`})
	m.want(clienthook.ClaudeCode, lines{deny: "rm x", none: "npm test"})
}

// Whatever the rules are, a line with an unjudged part is never allowed, and nothing panics.
func FuzzNeverAllowedUnjudged(f *testing.F) {
	for _, line := range []string{"npm test", "npm test; $x", "git status && eval $y", "timeout 3 npm test", "ls *.go", "cat <(x)", "sh -c 'npm test'", "echo $(npm test)", "a=1 npm test", "npm test > x", "npm test 2>&1 | tail -3"} {
		f.Add(line)
	}
	root := f.TempDir()
	files := map[string]string{
		"home/.claude/settings.json":        `{"permissions":{"allow":["Bash"]}}`,
		"home/.codex/rules/default.rules":   `prefix_rule(pattern=[["npm","git","ls","echo","sh"]])`,
		"home/.gemini/settings.json":        `{"tools":{"allowed":["run_shell_command"]}}`,
		"home/.config/opencode/config.json": `{"permission":"allow"}`,
		"home/.cursor/cli-config.json":      `{"permissions":{"allow":["Shell(**)"]}}`,
		"home/.cursor/permissions.json":     `{"terminalAllowlist":["npm","git","ls","echo","sh"]}`,
	}
	for name, content := range files {
		check.OK(f, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		check.Write(f, root, name, content)
	}
	f.Fuzz(func(t *testing.T, line string) {
		reading := shell.Read(line, shell.Bash)
		for _, client := range []clienthook.Client{clienthook.ClaudeCode, clienthook.Codex, clienthook.Gemini, clienthook.OpenCode, clienthook.Cursor} {
			for _, mode := range []string{"default", "bypassPermissions", "auto"} {
				got := clientrules.Judge(clientrules.Question{Client: client, Mode: mode, Home: filepath.Join(root, "home"), Workspace: root, Cwd: root, SystemRoot: root, Line: line, Reading: &reading})
				check.That(t, got.Verdict != unknown, "%s %q: %+v", client, line, got)
				check.That(t, got.Verdict != allow || len(reading.Unjudged) == 0, "%s %q is allowed, and unjudged: %q", client, line, reading.Unjudged)
				check.That(t, got.Verdict != allow || mode == "bypassPermissions" || len(reading.Writes) == 0, "%s %q is allowed, and writes %q", client, line, reading.Writes)
			}
		}
	})
}

// A stranger's file with very many rules, and a long line, cost bounded work.
func TestTooManyRulesAreUnknown(t *testing.T) {
	rules := make([]string, 6_000)
	for i := range rules {
		rules[i] = fmt.Sprintf("Bash(x%d *)", i)
	}
	m := newMachine(t).write(map[string]string{"ws/.claude/settings.json": settings("deny", rules...)})
	m.want(clienthook.ClaudeCode, lines{none: "npm test", deny: "x7", unknown: "echo " + strings.Repeat("a", 100_000)})
}
