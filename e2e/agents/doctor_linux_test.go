package agents_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/e2e/agents"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// doctor --hooks finds the real clients' hooks to fire as setup leaves them, and not to fire when they are gone.
func TestDoctorTriesHooks(t *testing.T) {
	each(t, func(t *testing.T, c agents.Client, p agents.Place) {
		g := govern(t, c, p)
		switch c.Name {
		case "codex":
			check.That(t, strings.Contains(g.hooks(), "fail: The hook of Codex does not fire"), "hooks that nobody trusts: %s", g.hooks())
			g.ours("setup", c.Name, "--command", g.program, "--keep-tools", "--trust-hooks")
		case "gemini":
			g.rule(".gemini/settings.json", `{"security":{"folderTrust":{"enabled":false},"auth":{"selectedType":"oauth-personal"}}}`)
		}
		found := g.hooks()
		check.That(t, strings.Contains(found, "ok: ") && strings.Contains(found, "a canary was refused"), "%s", found)
		check.Equal(t, strings.Contains(found, "can only fail open"), c.Name == "codex" || c.Name == "gemini", found)

		g.dropHooks()
		found = g.hooks()
		check.That(t, strings.Contains(found, "fail: ") && strings.Contains(found, "does not fire"), "%s", found)
		left, err := filepath.Glob(g.at(".orchestration/state/canary*"))
		check.That(t, err == nil && len(left) == 0, "left: %v", left)
	})
}

// hooks is what doctor says of the hooks, with the client on its PATH.
func (g *governed) hooks() string {
	g.t.Helper()
	bin := g.t.TempDir()
	var words []string
	for _, word := range g.client.Program(g.t) {
		words = append(words, shellword.Show(word))
	}
	check.OK(g.t, os.WriteFile(filepath.Join(bin, g.client.Executable), []byte("#!/bin/sh\nexec "+strings.Join(words, " ")+` "$@"`+"\n"), 0o755))
	cmd := exec.Command(g.program, "doctor", "--hooks", "--json")
	cmd.Dir, cmd.Env = g.Workspace, append(g.Env(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, _ := cmd.Output() // it fails where a check does
	var report struct {
		Checks []struct{ Area, Status, Message string }
	}
	check.OK(g.t, json.Unmarshal(out, &report))
	var said []string
	for _, c := range report.Checks {
		if c.Area == "hooks" {
			said = append(said, c.Status+": "+c.Message)
		}
	}
	return strings.Join(said, "\n")
}

// dropHooks takes the hooks out of the client's file.
func (g *governed) dropHooks() {
	file := g.at(map[string]string{"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json",
		"opencode": ".opencode/plugins/orchestra.js"}[g.client.Name])
	if strings.HasSuffix(file, ".js") {
		check.OK(g.t, os.Remove(file))
		return
	}
	var settings map[string]any
	check.OK(g.t, json.Unmarshal([]byte(check.Value(os.ReadFile(file))(g.t)), &settings))
	delete(settings, "hooks")
	check.OK(g.t, os.WriteFile(file, check.Value(json.Marshal(settings))(g.t), 0o600))
}
