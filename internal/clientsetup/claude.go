package clientsetup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

// Claude Desktop: one file for the user, whose place depends on the system; strict JSON.
// https://modelcontextprotocol.io/docs/develop/connect-local-servers
func planClaudeDesktop(p *planner) error {
	path, err := p.claudeDesktopConfig()
	if err != nil {
		return err
	}
	if err := p.planServer(serverIn{path: path, list: "mcpServers", where: p.Workspace, named: p.desktopServerName}); err != nil {
		return err
	}
	p.warnIfNotStandard()
	p.leaves(
		"Claude Desktop offers nothing in this file that takes tools away. A chat has no file or shell tool of its own; "+
			"connectors and extensions that you switched on do, and do not pass the gate: switch them off for this work.",
		"The Code and Cowork tabs have tools of their own. For Code, run `orchestra-mcp setup claude-code` in the workspace; "+
			"for Cowork there is no setting: do not give it this directory.",
	)
	p.plan.Next = "Quit Claude Desktop completely and start it again; the server's tools are then listed under the chat's tools."
	return nil
}

func (p *planner) claudeDesktopConfig() (string, error) {
	const file = "claude_desktop_config.json"
	switch p.OS {
	case "darwin":
		return filepath.Join(p.Home, "Library", "Application Support", "Claude", file), nil
	case "windows":
		base, ok := p.LookupEnv("APPDATA")
		if !ok || base == "" {
			return "", fmt.Errorf("the environment variable APPDATA is not set: set it, or use --print and add the lines in Settings, Developer, Edit Config")
		}
		return filepath.Join(base, "Claude", file), nil
	default:
		base, ok := p.LookupEnv("XDG_CONFIG_HOME")
		if !ok || !filepath.IsAbs(base) {
			base = filepath.Join(p.Home, ".config")
		}
		return filepath.Join(base, "Claude", file), nil
	}
}

// desktopServerName is the key of this workspace's entry: the file is shared by all workspaces, so the plain name
// goes to the first one and the others carry their directory's name.
func (p *planner) desktopServerName(doc *document) string {
	servers := doc.servers("mcpServers")
	for name, entry := range servers {
		if entry.workspace("") == p.Workspace {
			return name
		}
	}
	name := ServerName
	for n := 1; ; n++ {
		if _, taken := servers[name]; !taken {
			return name
		}
		name = ServerName + "-" + asciiName(filepath.Base(p.Workspace))
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
	}
}

// asciiName reduces a directory's name to what every client accepts in a tool prefix.
func asciiName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '-'
	}, name)
	return strings.Trim(name, "-")
}

// claudeSettings is the project's own settings file.
const claudeSettings = ".claude/settings.json"

// Claude Code: .mcp.json of the project, and hooks in its settings; both strict JSON. An earlier setup denied the tools.
// https://code.claude.com/docs/en/mcp, https://code.claude.com/docs/en/hooks
func planClaudeCode(p *planner) error {
	if err := p.planServer(serverIn{path: p.inWorkspace(".mcp.json"), list: "mcpServers", kind: "stdio"}); err != nil {
		return err
	}
	p.warnIfNotStandard()
	h := hookFiles()["claude-code"]
	denied := p.undenyStep(h, []string{"Bash", "PowerShell", "Monitor", "Edit", "Write", "NotebookEdit", "EnterWorktree"},
		[]string{"Read", "Grep", "Glob"}, "permissions", "deny")
	if p.hookless() {
		if err := p.planHooks(p.inWorkspace(h.file), h, denied); err != nil {
			return err
		}
	} else {
		if err := p.editJSON(p.inWorkspace(h.file), denied, p.hooksStep(h)); err != nil {
			return err
		}
		p.judges(h, append(p.brokenHooks(h), p.brokenClaudeSettings()...))
	}
	p.leaves(
		"A version before 2.1.295 does not know onFailure: there a hook that crashes lets the call pass; much older ones do not give the hook its arguments, and ask nothing. "+
			"--bare and --safe-mode run no hooks.",
		"Hooks, skills with inline shell and status lines of your Claude Code settings run outside the gate, and so do what you type after `!` and files that you mention by `@`.",
		"MCP servers of plugins and connectors that you enabled for yourself.",
	)
	p.plan.Next = "Start `claude` in the workspace, trust it and approve the server " + ServerName + "; `/mcp` shows it, `/hooks` the hooks."
	return p.planClaudeOwn()
}

// brokenClaudeSettings says why Claude Code would not take the hooks: a settings file that has a value of a wrong type is
// ignored as a whole. https://code.claude.com/docs/en/settings
func (p *planner) brokenClaudeSettings() (problems []string) {
	file, doc := p.last(), p.lastDocument()
	modes := []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "delegate"}
	isMode := func(v hujson.Value) bool { return isString(v, modes) }
	isObject := func(v hujson.Value) bool { return v.Value.Kind() == '{' }
	for _, key := range []struct {
		path, want string
		fits       func(hujson.Value) bool
	}{
		{"permissions.allow", "a list of strings", isListOfStrings}, {"permissions.ask", "a list of strings", isListOfStrings},
		{"permissions.deny", "a list of strings", isListOfStrings}, {"permissions.additionalDirectories", "a list of strings", isListOfStrings},
		{"env", "an object", isObject}, {"hooks", "an object", isObject}, {"permissions.defaultMode", "one of " + strings.Join(modes, ", "), isMode},
	} {
		if value := doc.find(strings.Split(key.path, ".")...); value != nil && !key.fits(*value) {
			problems = append(problems, fmt.Sprintf("%s: %q is not %s, so %s ignores the whole file until that is repaired", file.Name, key.path, key.want, p.plan.Title))
		}
	}
	denied := func(rule string) bool { return slices.Contains(doc.strings("permissions", "deny"), rule) }
	if denied("mcp__"+ServerName) || denied("mcp__"+ServerName+"__*") {
		p.warn("%s denies this server's own tools (mcp__%s): Claude Code then has no tool at all; take the denial out", file.Name, ServerName)
	}
	return problems
}

func isListOfStrings(value hujson.Value) bool {
	list, ok := value.Value.(*hujson.Array)
	return ok && !slices.ContainsFunc(list.Elements, func(v hujson.Value) bool {
		literal, ok := v.Value.(hujson.Literal)
		return !ok || literal.Kind() != '"'
	})
}
