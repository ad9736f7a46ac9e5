package clientsetup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

func TestClaudeCodeDenials(t *testing.T) {
	p := newPlace(t)
	p.write(".claude/settings.json", `{
  "model": "opus",
  "permissions": {
    "allow": ["WebFetch"],
    "deny": [
      "Read(./.env)",
      "Bash"
    ]
  }
}
`)
	plan := p.apply("claude-code")
	want := `{
  "model": "opus",
  "permissions": {
    "allow": ["WebFetch"],
    "deny": [
      "Read(./.env)",
      "Bash",
      "PowerShell",
      "Monitor",
      "Edit",
      "Write",
      "NotebookEdit",
      "EnterWorktree",
      "Read",
      "Grep",
      "Glob"
    ]
  }
}
`
	got := p.read(".claude/settings.json")
	check.That(t, got == want, "got\n%s", got)
	detail := plan.Files[1].Detail
	check.That(t, !strings.Contains(detail, "Bash") && strings.Contains(detail, "Write"),
		"detail %q should name what is added, and only that", detail)
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
