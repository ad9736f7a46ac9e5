package clientsetup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

const oldClaudeDenials = `"Bash",
      "PowerShell",
      "Monitor",
      "Edit",
      "Write",
      "NotebookEdit",
      "EnterWorktree",
      "Read",
      "Grep",
      "Glob"`

// TestOldDenialsAreTakenBack: what an earlier setup denied comes back with the hooks; what the operator denied does not, and
// is never asked for again.
func TestOldDenialsAreTakenBack(t *testing.T) {
	p := newPlace(t)
	p.write(".mcp.json", `{"mcpServers": {"orchestra": {"type": "stdio", "command": "orchestra-mcp", "args": ["serve"]}}}`)
	p.write(".claude/settings.json", `{
  "model": "opus",
  "permissions": {
    "allow": ["WebFetch"],
    "deny": [
      "Read(./.env)",
      `+oldClaudeDenials+`
    ]
  }
}
`)
	plan := p.apply("claude-code")
	settings := decodeJSON(t, p.read(".claude/settings.json"))
	denied := settings["permissions"].(map[string]any)["deny"].([]any)
	check.That(t, len(denied) == 1 && denied[0] == "Read(./.env)" && settings["model"] == "opus", "settings %v", settings)
	check.That(t, strings.Contains(plan.Files[1].Detail, "no longer denies Bash") && !plan.Weakened(), "%+v", plan.Files[1].Detail)
	own := strings.Replace(p.read(".claude/settings.json"), `"Read(./.env)"`, `"Read(./.env)",
      `+oldClaudeDenials, 1)
	p.write(".claude/settings.json", own)
	again := p.apply("claude-code")
	check.That(t, again.Files[1].Action == clientsetup.Unchanged && p.read(".claude/settings.json") == own, "%s", again.Files[1].Detail)
	p.remove("claude-code")
	check.That(t, strings.Contains(p.read(".claude/settings.json"), `"Bash"`), "removal gave tools back: %s", p.read(".claude/settings.json"))
	q := newPlace(t) // some denials and our server are the operator's
	q.write(".mcp.json", `{"mcpServers": {"orchestra": {"command": "orchestra-mcp", "args": ["serve"]}}}`)
	q.write(".claude/settings.json", `{"permissions": {"deny": ["Bash", "Read"]}}`)
	q.apply("claude-code")
	check.That(t, strings.Contains(q.read(".claude/settings.json"), `"deny": ["Bash", "Read"]`), "%s", q.read(".claude/settings.json"))
}

func TestDesktopServesSeveralWorkspaces(t *testing.T) {
	p := newPlace(t)
	p.apply("claude-desktop")
	q := *p
	q.workspace = filepath.Join(filepath.Dir(p.workspace), "other ä")
	check.OK(t, os.Mkdir(q.workspace, 0o755))
	q.opts.Workspace = q.workspace
	plan := q.apply("claude-desktop")
	servers := decodeJSON(t, string(plan.Files[0].Content))["mcpServers"].(map[string]any)
	check.That(t, len(servers) == 2 && servers["orchestra"] != nil && servers["orchestra-other"] != nil, "servers %v", servers)
	for _, each := range []*place{p, &q} {
		again := each.plan("claude-desktop")
		check.That(t, again.Files[0].Action == clientsetup.Unchanged, "%s: %s", each.workspace, again.Files[0].Action)
	}
}

func TestDesktopConfigurationPerSystem(t *testing.T) {
	env := map[string]string{"APPDATA": `/appdata`, "XDG_CONFIG_HOME": "/xdg"}
	for system, want := range map[string]string{
		"darwin": "HOME/Library/Application Support/Claude/claude_desktop_config.json", "windows": "/appdata/Claude/claude_desktop_config.json",
		"linux": "/xdg/Claude/claude_desktop_config.json",
	} {
		p := newPlace(t)
		p.opts.OS = system
		p.opts.LookupEnv = func(name string) (string, bool) { value, ok := env[name]; return value, ok }
		want = strings.Replace(want, "HOME", p.home, 1)
		got := p.plan("claude-desktop").Files[0].Path
		check.That(t, got == want, "%s: %s, want %s", system, got, want)
	}
}
