package clientsetup_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func (p *place) remove(client string) *clientsetup.Plan {
	p.t.Helper()
	plan := check.Value(clientsetup.NewRemoval(client, p.opts))(p.t)
	check.OK(p.t, plan.Apply(p.workspace))
	return plan
}

// layouts are files as they stood before a setup, by client and name.
func layouts() map[string]map[string][]string {
	json := []string{
		"", "{}", "{}\n", "{\n}\n", "{\n  \"LIST\": {}\n}\n", "{\"LIST\":{\"a\":{\"url\":\"http://x\"}}}",
		"{\n\t// ours\n\t\"LIST\": {\n\t\t\"db\": {\"command\": \"db\"}, // the database\n\t},\n\t\"inputs\": [], /* none */\n}\n",
		"{\n  \"inputs\": [] // none\n}\n", "\ufeff{\r\n  \"inputs\": []\r\n}\r\n",
		"{\n    \"x\": 1,\n    \"LIST\": {\n        \"a\": {\"command\": \"a\"}\n        // last\n    }\n}",
	}
	servers := func(list string) (texts []string) {
		for _, text := range json {
			texts = append(texts, strings.ReplaceAll(text, "LIST", list))
		}
		return texts
	}
	return map[string]map[string][]string{
		"claude-code": {
			".mcp.json": servers("mcpServers"),
			".claude/settings.json": {
				"{}", "{\"permissions\": {\"deny\": []}}", "{\n  \"permissions\": {\n    \"deny\": [\"Bash\"],\n    \"allow\": [\"WebFetch\"]\n  }\n}\n",
				"{\"hooks\":{\"PreToolUse\":[\n  {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}\n]},\"model\":\"opus\"}\n",
				"{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
			},
		},
		"codex": {
			".codex/config.toml": {"", "model = \"gpt\" # mine\n\n[mcp_servers.db]\ncommand = \"db\"\n", "[features]\r\nx = true\r\n\r\n# last",
				"sandbox_mode = \"read-only\"\n", "sandbox_mode = \"workspace-write\"", "# only\n# comments\n"},
			".codex/hooks.json": {"{}", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x hook codex\"}]}]}}\n"},
		},
		"copilot": {".github/mcp.json": servers("mcpServers"), ".github/hooks/orchestra.json": {"{\"version\": 1, \"hooks\": {}}"}},
		"cursor": {
			".cursor/mcp.json": servers("mcpServers"),
			".cursor/hooks.json": {
				"{\"version\": 1}", "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"mine.sh\"}], \"stop\": [{\"command\": \"x\"}]}}\n",
				"{\n  \"version\": 1,\n  \"hooks\": {}\n}\n",
			},
			".cursor/cli.json": {"{\"permissions\": {\"allow\": [], \"deny\": [\"Write(**)\"]}}", "{\"editor\": {\"vim\": true}}"},
		},
		"cline": {"../home/.cline/data/settings/cline_mcp_settings.json": servers("mcpServers")},
		"devin": {".devin/config.json": servers("mcpServers"), ".devin/hooks.v1.json": {"{}", "{\"Stop\": [{\"hooks\": []}]}\n"}, ".windsurf/hooks.json": {"{\"hooks\": {}}"}},
		"gemini": {".gemini/settings.json": append(servers("mcpServers"), "{\"tools\": {\"exclude\": [\"glob\"]}}",
			"{\n  // mine\n  \"hooks\": {\"BeforeTool\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]},\n}\n")},
		"opencode": {"opencode.json": servers("mcp"), "opencode.jsonc": {"{\n  // mine\n}\n"}},
		"roo": {
			".roo/mcp.json": servers("mcpServers"),
			".roomodes":     {""},
		},
		"vscode":         {".vscode/mcp.json": servers("servers")},
		"claude-desktop": {"../home/.config/Claude/claude_desktop_config.json": servers("mcpServers")},
	}
}

// TestRemovalRestoresEveryByte: what a setup has put in goes, and everything else is what it was; also a second setup
// with other words in between, and files that were not there.
func TestRemovalRestoresEveryByte(t *testing.T) {
	for client, files := range layouts() {
		for name, texts := range files {
			for _, text := range texts {
				p := newPlace(t)
				p.write(name, text)
				before := p.snapshot()
				p.apply(client)
				p.opts.KeepTools = true
				p.opts.Launch = clientsetup.Named("/elsewhere/orchestra-mcp")
				p.apply(client)
				plan := p.remove(client)
				after := p.snapshot()
				check.That(t, slices.Equal(before, after), "%s, %s:\n%q\nbecame\n%q", client, name, before, after)
				check.That(t, plan.Changes() && !plan.Weakened() && len(plan.Closed) == 0, "%s: %+v", client, plan)
				again := p.remove(client)
				check.That(t, !again.Changes() && !again.Weakened(), "%s, %s: a second removal: %+v", client, name, again.Files)
			}
		}
	}
}

func (p *place) snapshot() []string {
	return slices.Concat(snapshot(p.t, p.workspace), snapshot(p.t, p.home))
}

// TestRemovalKeepsWhatCameLater: what a person has changed since stays, in every layout.
func TestRemovalKeepsWhatCameLater(t *testing.T) {
	for client, files := range layouts() {
		for name, texts := range files {
			for _, text := range texts {
				p, q := newPlace(t), newPlace(t)
				if strings.HasSuffix(name, "modes") && !strings.HasPrefix(text, "{") || strings.Contains(name, "cli") || strings.TrimSpace(text) == "" {
					continue
				}
				later := func(text string) string { // the last brace of the file is the document's
					at := strings.LastIndex(text, "}")
					if strings.HasSuffix(name, "toml") {
						return text + "\n# later"
					}
					return text[:at] + "/* later */" + text[at:]
				}
				p.write(name, text)
				p.apply(client)
				p.write(name, later(p.read(name)))
				p.remove(client)
				q.write(name, text)
				wanted, got := strings.Fields(later(q.read(name))), strings.Fields(p.read(name))
				check.That(t, squeeze(wanted) == squeeze(got), "%s, %s: %q became %q", client, name, text, p.read(name))
				text := p.read(name)
				check.That(t, !strings.Contains(text, "orchestra"), "%s, %s: ours is left in %q", client, name, text)
			}
		}
	}
}

// squeeze takes out what only is layout, and the empty things that setup had to make.
func squeeze(words []string) string {
	return strings.NewReplacer(",", "").Replace(strings.Join(words, ""))
}

func TestRemovalBehindALineComment(t *testing.T) {
	p := newPlace(t)
	p.write(".mcp.json", "{\"mcpServers\": { // mine\n\"orchestra\": {\"command\": \"orchestra-mcp\", \"args\": [\"serve\"]}, \"db\": {}}}")
	p.remove("claude-code")
	text := p.read(".mcp.json")
	check.That(t, text == "{\"mcpServers\": { // mine\n\"db\": {}}}", "%q", text)
}

// TestRemovalWithoutMemory: a colleague's clone has the files and nothing that tells what they were.
func TestRemovalWithoutMemory(t *testing.T) {
	for _, client := range clientsetup.Names() {
		p := newPlace(t)
		p.apply(client)
		check.OK(t, os.RemoveAll(p.opts.UserDir))
		plan := p.remove(client)
		check.That(t, plan.Changes() && !plan.Weakened(), "%s: %+v", client, plan.Files)
		left := p.snapshot()
		check.That(t, len(left) == 0, "%s leaves %q", client, left)
		dirs, _ := filepath.Glob(filepath.Join(p.workspace, ".[a-z]*"))
		check.That(t, len(dirs) == 0 || client == "vscode", "%s leaves %q", client, dirs)
	}
}

// TestRemovalKeepsWhatIsNotOurs: entries of our name that somebody wrote, and modes that somebody changed, are kept and named.
func TestRemovalKeepsWhatIsNotOurs(t *testing.T) {
	for _, test := range []struct{ client, file, content string }{
		{"claude-code", ".mcp.json", `{"mcpServers": {"orchestra": {"command": "conductor", "args": ["play"]}}}`},
		{"roo", ".roomodes", "customModes:\n  - slug: orchestra\n    name: mine\n    groups: [mcp]\n"},
		{"roo", ".roomodes", `{"customModes": [{"slug": "orchestra", "groups": ["mcp"]}]}`},
		{"vscode", ".github/agents/orchestra.agent.md", "---\ntools: ['orchestra/*']\n---\nmine\n"},
	} {
		p := newPlace(t)
		p.write(test.file, test.content)
		plan := p.remove(test.client)
		check.That(t, !plan.Changes() && plan.Weakened() && p.read(test.file) == test.content, "%s: %+v", test.client, plan.Files)
	}
	p := newPlace(t)
	p.write(".claude/settings.json", `{"permissions": {"deny": ["Bash", "Write"]}}`)
	p.write(".mcp.json", `{"mcpServers": {"music": {"command": "conductor", "args": ["serve"]}}}`)
	plan := p.remove("claude-code")
	check.That(t, !plan.Changes() && !plan.Weakened(), "%+v", plan.Files)
}

// TestNotClosedIsNotClaimed: a file that the client ignores, or that says the opposite, closes nothing; the plan says so
// and does not count as done.
func TestNotClosedIsNotClaimed(t *testing.T) {
	const rooMode = "{slug: orchestra, name: A, roleDefinition: A, groups: [mcp]}\n"
	for _, test := range []struct{ client, file, content, says string }{
		{"claude-code", ".claude/settings.json", "{\n  // mine\n}\n", "comments"},
		{"claude-code", ".claude/settings.json", `{"model": "opus",}`, "comments"},
		{"claude-code", ".claude/settings.json", `{"permissions": {"allow": "Bash"}}`, "permissions.allow"},
		{"claude-code", ".claude/settings.json", `{"permissions": {"deny": [1]}}`, "permissions.deny"},
		{"claude-code", ".claude/settings.json", `{"permissions": {"defaultMode": "yolo"}}`, "defaultMode"},
		{"claude-code", ".claude/settings.json", `{"env": "A=b"}`, "env"},
		{"cursor", ".cursor/hooks.json", "{\"version\": 1, // x\n}", "comments"},
		{"cursor", ".cursor/hooks.json", `{"version": 2}`, "version"},
		{"cursor", ".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": [{"command": "orchestra-mcp client-guard cursor", "matcher": "Write"}]}}`, "matcher"},
		{"claude-code", ".claude/settings.json", `{"disableAllHooks": true}`, "switches the hooks off"},
		{"codex", ".codex/hooks.json", "{/**/}", "comments"},
		{"copilot", ".github/hooks/orchestra.json", `{"disableAllHooks": true}`, "switches the hooks off"},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "switches the hooks off"},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"disabled": ["orchestra"]}}`, "disabled"},
		{"roo", ".roomodes", "customModes:\n  - {slug: docs, groups: [read]}\n  - " + rooMode, "docs"},
		{"roo", ".roomodes", "customModes:\n  - " + rooMode + "  - " + rooMode, "twice"},
	} {
		p := newPlace(t)
		clean := p.plan(test.client)
		p.write(test.file, test.content)
		plan := p.apply(test.client)
		if len(plan.Closed) >= len(clean.Closed) || !plan.Weakened() || !strings.Contains(strings.Join(plan.Warnings, "\n"), test.says) ||
			!strings.Contains(strings.Join(plan.Open, "\n"), "NOT closed") {
			t.Errorf("%s %s: closed %q, warnings %q, open %q", test.client, test.content, plan.Closed, plan.Warnings, plan.Open)
		}
		check.That(t, !clean.Weakened(), "%s: nothing is wrong, and %q", test.client, clean.Warnings)
	}
	for _, content := range []string{
		`{"mcpServers": {"orchestra": {"disabled": true}}}`, `{"mcpServers": {"orchestra": {"url": "http://x"}}}`, "{ // x\n}",
	} {
		p := newPlace(t)
		p.write(".roo/mcp.json", content)
		plan := p.apply("roo")
		check.That(t, plan.Weakened(), "%s: %q", content, plan.Warnings)
	}
}
