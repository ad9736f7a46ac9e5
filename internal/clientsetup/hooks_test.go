package clientsetup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// TestHookForms holds each client's hooks to the form that its vendor documents.
func TestHookForms(t *testing.T) {
	for _, test := range []struct{ client, file, event, want string }{
		{"claude-code", ".claude/settings.json", "hooks.PreToolUse", `[{"hooks":[{"args":["hook","claude-code"],"command":"orchestra-mcp","onFailure":"block","timeout":20,"type":"command"}],"matcher":"^(?!mcp__orchestra__)"}]`},
		{"claude-code", ".claude/settings.json", "hooks.PostToolUse", `[{"hooks":[{"args":["hook","claude-code"],"command":"orchestra-mcp","timeout":20,"type":"command"}],"matcher":"^(?!mcp__orchestra__)"}]`},
		{"claude-code", ".claude/settings.json", "hooks.SessionEnd", `[{"hooks":[{"args":["hook","claude-code"],"command":"orchestra-mcp","timeout":20,"type":"command"}]}]`},
		{"codex", ".codex/hooks.json", "hooks.PreToolUse", `[{"hooks":[{"command":"orchestra-mcp hook codex","timeout":20,"type":"command"}]}]`},
		{"codex", ".codex/hooks.json", "hooks.SessionEnd", `[{"hooks":[{"command":"orchestra-mcp hook codex","timeout":3,"type":"command"}]}]`},
		{"copilot", ".github/hooks/orchestra.json", "hooks.PreToolUse", `[{"command":"orchestra-mcp hook copilot","timeout":20,"type":"command"}]`},
		{"vscode", ".github/hooks/orchestra.json", "version", `1`},
		{"vscode", ".github/hooks/orchestra.json", "hooks.PreToolUse", `[{"command":"orchestra-mcp hook copilot","timeout":20,"type":"command"}]`},
		{"cursor", ".cursor/hooks.json", "version", `1`},
		{"cursor", ".cursor/hooks.json", "hooks.preToolUse", `[{"command":"orchestra-mcp hook cursor","failClosed":true,"timeout":20}]`},
		{"cursor", ".cursor/hooks.json", "hooks.postToolUse", `[{"command":"orchestra-mcp hook cursor","timeout":20}]`},
		{"gemini", ".gemini/settings.json", "hooks.BeforeTool", `[{"hooks":[{"command":"orchestra-mcp hook gemini","name":"orchestra","timeout":20000,"type":"command"}],"matcher":"^(?!mcp_orchestra_)"}]`},
		{"gemini", ".gemini/settings.json", "mcpServers.orchestra", `{"args":["serve"],"command":"orchestra-mcp"}`},
		{"devin", ".devin/hooks.v1.json", "PreToolUse", `[{"hooks":[{"command":"orchestra-mcp hook devin","timeout":20,"type":"command"}]}]`},
		{"devin", ".windsurf/hooks.json", "hooks.pre_write_code", `[{"command":"orchestra-mcp hook windsurf"}]`},
		{"opencode", "opencode.json", "mcp.orchestra", `{"command":["orchestra-mcp","serve"],"type":"local"}`},
	} {
		p := newPlace(t)
		check.OK(t, os.Mkdir(filepath.Join(p.workspace, ".windsurf"), 0o755))
		p.apply(test.client)
		var value any = decodeJSON(t, p.read(test.file))
		for name := range strings.SplitSeq(test.event, ".") {
			value = value.(map[string]any)[name]
		}
		got, _ := json.Marshal(value)
		got = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(got)))
		check.That(t, string(got) == test.want, "%s: %s is\n%s, want\n%s", test.client, test.event, got, test.want)
	}
}

// TestOldGuardIsReplaced: an earlier setup had Cursor ask a guard that refused all, and denied cursor-agent its tools.
func TestOldGuardIsReplaced(t *testing.T) {
	p := newPlace(t)
	p.write(".cursor/mcp.json", `{"mcpServers": {"orchestra": {"command": "orchestra-mcp", "args": ["serve", "--workspace", "${workspaceFolder}"]}}}`)
	p.write(".cursor/hooks.json", `{"version": 1, "hooks": {"preToolUse": [{"command": "mine.sh", "matcher": "Shell"}, {"command": "orchestra-mcp client-guard cursor --keep-read-tools", "failClosed": true}], "stop": [{"command": "x"}]}}`)
	p.write(".cursor/cli.json", `{"permissions": {"allow": [], "deny": ["Shell(*)", "Write(**)"]}}`)
	plan := p.apply("cursor")
	check.That(t, !plan.Weakened() && len(plan.Files) == 3 && plan.Files[2].Action == clientsetup.Removed, "%+v", plan.Warnings)
	p.opts.Launch = clientsetup.Named("/new place/orchestra-mcp")
	p.apply("cursor")
	hooks := decodeJSON(t, p.read(".cursor/hooks.json"))["hooks"].(map[string]any)
	list := hooks["preToolUse"].([]any)
	check.Must(t, len(list) == 2 && list[0].(map[string]any)["command"] == "mine.sh" && len(hooks["stop"].([]any)) == 2, "hooks %v", hooks)
	ours := list[1].(map[string]any)
	check.That(t, ours["command"] == "'/new place/orchestra-mcp' hook cursor" && ours["failClosed"] == true, "our hook %v", ours)
	q := newPlace(t) // without a guard the denials are the operator's
	q.write(".cursor/cli.json", `{"permissions": {"allow": [], "deny": ["Shell(*)"]}}`)
	q.apply("cursor")
	q.apply("cursor")
	check.That(t, strings.Contains(q.read(".cursor/cli.json"), "Shell(*)"), "%s", q.read(".cursor/cli.json"))
}

// TestForeignHooksStay: a hook of another program is none of ours, whatever it is called, and a group that somebody has put a
// handler into keeps it.
func TestForeignHooksStay(t *testing.T) {
	p := newPlace(t)
	p.write(".claude/settings.json", `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "other hook claude-code"}]}]}}`)
	p.apply("claude-code")
	text := strings.Replace(p.read(".claude/settings.json"), `"hooks": [
          {
            "type": "command",
            "command": "orchestra-mcp"`, `"hooks": [
          {"type": "command", "command": "mine.sh"},
          {
            "type": "command",
            "command": "orchestra-mcp"`, 1)
	p.write(".claude/settings.json", text)
	plan := p.apply("claude-code")
	check.That(t, strings.Contains(text, "mine.sh") && plan.Files[1].Action == clientsetup.Unchanged && !plan.Weakened(), "%s %q\n%s", plan.Files[1].Action, plan.Warnings, text)
	p.remove("claude-code")
	left := p.read(".claude/settings.json")
	check.That(t, strings.Contains(left, "other hook") && strings.Contains(left, "mine.sh") && !strings.Contains(left, "orchestra-mcp"), "%s", left)
}

// TestKeepTools: a client whose hooks fail open loses its tools, unless the operator keeps them; then it is told what is lost.
func TestKeepTools(t *testing.T) {
	for client, test := range map[string]struct{ file, denial string }{
		"codex": {".codex/config.toml", `sandbox_mode = "read-only"`}, "gemini": {".gemini/settings.json", `"run_shell_command"`},
		"vscode": {".github/agents/orchestra.agent.md", "tools: ['orchestra/*']"},
	} {
		p := newPlace(t)
		has := func() bool {
			text, _ := os.ReadFile(filepath.Join(p.workspace, test.file))
			return strings.Contains(string(text), test.denial)
		}
		plan := p.apply(client)
		check.That(t, has() && !strings.Contains(strings.Join(plan.Open, "\n"), "--keep-tools"), "%s: %q", client, plan.Open)
		p.opts.KeepTools = true
		plan = p.apply(client)
		check.That(t, !has() && strings.Contains(strings.Join(plan.Open, "\n"), "--keep-tools"), "%s keeps tools: %q", client, plan.Open)
		plan = p.plan(client)
		check.That(t, !plan.Changes(), "%s: a second run changes: %+v", client, plan.Files)
		p.opts.KeepTools = false
		p.apply(client)
		check.That(t, has(), "%s: the denial did not come back", client)
	}
	p := newPlace(t) // a denial of the operator's stays
	p.write(".gemini/settings.json", `{"tools": {"exclude": ["glob"]}}`)
	p.apply("gemini")
	p.opts.KeepTools = true
	p.apply("gemini")
	check.That(t, strings.Contains(p.read(".gemini/settings.json"), `"exclude": ["glob"]`), "%s", p.read(".gemini/settings.json"))
}

// TestSharedHooksStay: VS Code and Copilot read one file; it goes with the second of them.
func TestSharedHooksStay(t *testing.T) {
	p := newPlace(t)
	before := p.snapshot()
	p.apply("vscode")
	plan := p.apply("copilot")
	check.That(t, plan.Files[1].Action == clientsetup.Unchanged, "%+v", plan.Files[1].Action)
	p.remove("vscode")
	check.That(t, strings.Contains(p.read(".github/hooks/orchestra.json"), "hook copilot"), "the hooks went")
	p.remove("copilot")
	check.That(t, slices.Equal(before, p.snapshot()), "left %q", p.snapshot())
}

// TestWhoReadsTwice: clients that also run Claude Code's hooks are named, whichever is set up first.
func TestWhoReadsTwice(t *testing.T) {
	for _, order := range [][]string{{"claude-code", "cursor"}, {"devin", "claude-code"}, {"claude-code", "copilot"}} {
		p := newPlace(t)
		alone := p.apply(order[0])
		both := p.apply(order[1])
		const says = "can also run the hooks in .claude/settings.json"
		check.That(t, !strings.Contains(strings.Join(alone.Open, "\n"), says) && strings.Count(strings.Join(both.Open, "\n"), says) == 1, "%q: %q", order, both.Open)
	}
}

// TestManaged: the administrators' files get the hooks and nothing else, and are given back as they were.
func TestManaged(t *testing.T) {
	there := map[string]string{
		"claude-code": "{\n  \"permissions\": {\"deny\": [\"Bash\"]}\n}\n", "gemini": "{ // ours\n}\n",
		"cursor": "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"x\"}]}}", "copilot": "{\"version\": 1, \"hooks\": {\"Stop\": [{\"command\": \"x\"}]}}",
		"codex": "allow_managed_hooks_only = true\n\n[[hooks.PreToolUse]]\nmatcher = \"x\"\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"theirs\"\n",
	}
	files := map[string]string{
		"claude-code": "etc/claude-code/managed-settings.json", "codex": "etc/codex/requirements.toml", "copilot": "etc/github-copilot/policy.d/orchestra.json",
		"cursor": "etc/cursor/hooks.json", "gemini": "etc/gemini-cli/settings.json",
	}
	for _, client := range clientsetup.Names() {
		p := newPlace(t)
		p.opts.Managed, p.opts.SystemRoot = true, t.TempDir()
		if files[client] == "" {
			_, err := clientsetup.New(client, p.opts)
			check.That(t, errors.Is(err, clientsetup.ErrNotManaged) && strings.Contains(err.Error(), "claude-code, codex"), "%s: %v", client, err)
			continue
		}
		path := filepath.Join(p.opts.SystemRoot, filepath.FromSlash(files[client]))
		for _, text := range []string{"", there[client]} {
			check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
			if text != "" {
				check.OK(t, os.WriteFile(path, []byte(text), 0o644))
			}
			plan := p.apply(client)
			written := string(check.Value(os.ReadFile(path))(t))
			check.That(t, regexp.MustCompile(`/opt/bin/orchestra-mcp"?,?\s`).MatchString(written) && !strings.Contains(written, "serve") && len(plan.Files) == 1 && !plan.Weakened(),
				"%s: %q\n%s", client, plan.Warnings, written)
			info := check.Value(os.Stat(path))(t)
			check.That(t, info.Mode().Perm() == 0o644, "%s: mode %v", client, info.Mode())
			again := p.plan(client)
			check.That(t, !again.Changes(), "%s: a second run changes", client)
			if text != "" { // a removal that knows nothing
				check.OK(t, os.RemoveAll(p.opts.UserDir))
			}
			p.remove(client)
			left, _ := os.ReadFile(path)
			check.That(t, strings.Join(strings.Fields(string(left)), "") == strings.Join(strings.Fields(text), ""), "%s left\n%s", client, left)
		}
	}
}

// TestInstalled finds clients by their programs and directories.
func TestInstalled(t *testing.T) {
	p := newPlace(t)
	found := clientsetup.Installed(p.opts, func(string) bool { return false })
	check.That(t, len(found) == 0, "found %q", found)
	p.write(".roo/x", "")
	check.OK(t, os.MkdirAll(filepath.Join(p.home, ".codex"), 0o755))
	found = clientsetup.Installed(p.opts, func(program string) bool { return program == "cursor-agent" })
	check.That(t, slices.Equal(found, []string{"codex", "cursor", "roo"}), "found %q", found)
}

// TestClineScripts: a script can be run, and one of the operator's own stays.
func TestClineScripts(t *testing.T) {
	p := newPlace(t)
	p.write(".clinerules/hooks/PostToolUse", "#!/bin/sh\nmine\n")
	plan := p.apply("cline")
	info := check.Value(os.Stat(filepath.Join(p.workspace, ".clinerules/hooks/PreToolUse")))(t)
	check.That(t, info.Mode().Perm() == 0o755 && plan.Weakened() && strings.Contains(p.read(".clinerules/hooks/PostToolUse"), "mine"), "%v %s", info.Mode(), fmt.Sprint(plan.Closed))
	p.opts.OS = "windows"
	plan = p.plan("cline")
	check.That(t, strings.HasSuffix(plan.Files[1].Path, "PreToolUse.ps1"), "%s", plan.Files[1].Path)
}
