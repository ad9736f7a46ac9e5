package clientsetup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// client is one client.
type client struct {
	name, title string
	// programs, on the PATH, and dirs, in the home directory or the workspace, tell that it is installed.
	programs, dirs []string
	plan           func(*planner) error
	// managed are its administrators' files by system, below the root.
	managed map[string]string
}

// clients are all of them, in the order of the help text.
func clients() []client {
	return []client{
		{"claude-desktop", "Claude Desktop", nil, []string{".config/Claude", "Library/Application Support/Claude", "AppData/Roaming/Claude"}, planClaudeDesktop, nil},
		{"claude-code", "Claude Code", []string{"claude"}, []string{".claude"}, planClaudeCode, map[string]string{
			"linux": "etc/claude-code/managed-settings.json", "darwin": "Library/Application Support/ClaudeCode/managed-settings.json"}},
		{"codex", "Codex", []string{"codex"}, []string{".codex"}, planCodex, map[string]string{
			"linux": codexRequirements, "darwin": codexRequirements}},
		{"copilot", "GitHub Copilot CLI", []string{"copilot"}, []string{".copilot"}, planCopilot, map[string]string{
			"linux": "etc/github-copilot/policy.d/orchestra.json", "darwin": "etc/github-copilot/policy.d/orchestra.json"}},
		{"cursor", "Cursor", []string{"cursor", "cursor-agent"}, []string{".cursor"}, planCursor, map[string]string{
			"linux": "etc/cursor/hooks.json", "darwin": "Library/Application Support/Cursor/hooks.json"}},
		{"cline", "Cline", []string{"cline"}, []string{".cline", ".clinerules"}, planCline, nil},
		{"devin", "Devin", []string{"devin"}, []string{".devin", ".config/devin", ".windsurf", ".codeium"}, planDevin, nil},
		{"gemini", "Gemini CLI", []string{"gemini"}, []string{".gemini"}, planGemini, map[string]string{
			"linux": "etc/gemini-cli/settings.json", "darwin": "Library/Application Support/GeminiCli/settings.json"}},
		{"opencode", "OpenCode", []string{"opencode"}, []string{".opencode", ".config/opencode"}, planOpenCode, nil},
		{"vscode", "VS Code", []string{"code"}, []string{".vscode"}, planVSCode, nil},
		{"roo", "Roo Code", nil, []string{".roo"}, planRoo, nil},
	}
}

// Names lists the clients that can be set up.
func Names() []string { return namesOf(func(client) bool { return true }) }

func namesOf(wanted func(client) bool) (names []string) {
	for _, c := range clients() {
		if wanted(c) {
			names = append(names, c.name)
		}
	}
	return names
}

// Installed lists the clients that are on this machine, as far as can be seen. onPath looks for a program.
func Installed(opts Options, onPath func(program string) bool) []string {
	return namesOf(func(c client) bool {
		return slices.ContainsFunc(c.programs, onPath) || slices.ContainsFunc(c.dirs, func(dir string) bool {
			return isDir(filepath.Join(opts.Home, filepath.FromSlash(dir))) || isDir(filepath.Join(opts.Workspace, filepath.FromSlash(dir)))
		})
	})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// planManaged plans the administrators' file: only the hooks, for all users and all directories.
func planManaged(p *planner) error {
	name := p.client.managed[p.OS]
	if name == "" {
		return fmt.Errorf("%w here: choose one of %s", ErrNotManaged,
			strings.Join(namesOf(func(c client) bool { return c.managed[p.OS] != "" }), ", "))
	}
	if p.hookless() {
		return fmt.Errorf("a hook does not work out of a container: install the program for all users of the machine")
	}
	root := p.SystemRoot
	if root == "" {
		root = "/"
	}
	h, path := hookFiles()[p.client.name], filepath.Join(root, filepath.FromSlash(name))
	if p.client.name == "codex" {
		if err := p.planRequirements(path, h); err != nil {
			return err
		}
		p.judges(h, nil)
	} else if err := p.planHooks(path, h); err != nil {
		return err
	}
	p.plan.Next = "Start " + p.plan.Title + " again. The hooks hold for all users of this machine, who set their workspaces up for the server's own tools."
	return nil
}

// GitHub Copilot's command line, and its cloud agent, which reads only the hooks.
// https://docs.github.com/en/copilot/reference/hooks-reference
func planCopilot(p *planner) error {
	if err := p.planServer(serverIn{path: p.inWorkspace(copilotServers), list: "mcpServers", kind: "stdio"}); err != nil {
		return err
	}
	p.warnIfNotStandard()
	if err := p.planSharedHooks(vscodeServers); err != nil {
		return err
	}
	p.leaves(
		"A hook that takes longer than its time lets the call pass, also where an administrator wrote it.",
		"The cloud agent runs the hooks only where orchestra-mcp is installed for it (.github/workflows/copilot-setup-steps.yml); without the program it is denied each tool.",
	)
	p.plan.Next = "Start `copilot` in the workspace and trust the directory; `/mcp show` lists the server " + ServerName + "."
	return nil
}

// Gemini CLI: servers, hooks and denials stand in one file. https://geminicli.com/docs/hooks/reference
func planGemini(p *planner) error {
	tools := []string{"run_shell_command", "write_file", "replace", "read_file", "read_many_files", "list_directory", "glob", "grep_search"}
	h := hookFiles()["gemini"]
	hooks := p.hooksStep(h)
	if p.hookless() {
		hooks.add = hooks.take
	}
	err := p.planServer(serverIn{path: p.inWorkspace(h.file), list: "mcpServers"}, hooks, p.denyStep(tools, "tools", "exclude"))
	if err != nil {
		return err
	}
	if p.hookless() {
		p.leavesHooks()
	} else {
		p.judges(h, p.brokenHooks(h))
	}
	p.tellDenied("Its own shell, writing and reading tools are taken out (tools.exclude): "+strings.Join(tools, ", ")+".", nil)
	p.plan.Next = "Start `gemini` in the workspace and trust the directory; `/mcp` lists the server " + ServerName + ", `/hooks` the hooks."
	return nil
}

// Devin Local, and Windsurf's Cascade, which ended, where its directory is there.
// https://docs.devin.ai/cli/extensibility/hooks/overview, https://docs.windsurf.com/windsurf/cascade/hooks
func planDevin(p *planner) error {
	if err := p.planServer(serverIn{path: p.inWorkspace(".devin/config.json"), list: "mcpServers"}); err != nil {
		return err
	}
	h, cascade := hookFiles()["devin"], hookFiles()["windsurf"]
	if err := p.planHooks(p.inWorkspace(h.file), h); err != nil {
		return err
	}
	if isDir(p.inWorkspace(".windsurf")) {
		if err := p.planHooks(p.inWorkspace(cascade.file), cascade); err != nil {
			return err
		}
	}
	p.plan.Next = "Start `devin` in the workspace; `devin mcp list` shows the server " + ServerName + "."
	return nil
}
