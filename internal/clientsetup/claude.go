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
	if err := p.planServer(path, "mcpServers", "", p.Workspace, p.desktopServerName); err != nil {
		return err
	}
	p.warnIfNotStandard()
	p.leaves(
		"Claude Desktop offers nothing in this file that takes tools away. A chat has no file or shell tool of its own; "+
			"connectors and extensions that you switched on do, and do not pass the gate: switch them off for this work.",
		"The Code and Cowork tabs have tools of their own. For Code, run `orchestra-mcp setup claude-code` in the workspace; "+
			"for Cowork there is no setting: do not give it this directory.",
	)
	p.warnOfOtherServers("mcpServers")
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

// Claude Code's own tools, by their canonical names. A bare name under permissions.deny takes the tool out of the
// model's context, in every permission mode and for subagents.
// https://code.claude.com/docs/en/tools-reference, https://code.claude.com/docs/en/permissions
func claudeCodeWriteTools() []string {
	return []string{"Bash", "PowerShell", "Monitor", "Edit", "Write", "NotebookEdit", "EnterWorktree"}
}

func claudeCodeReadTools() []string { return []string{"Read", "Grep", "Glob"} }

// Claude Code: .mcp.json of the project, and denials in its settings; both strict JSON.
// https://code.claude.com/docs/en/mcp, https://code.claude.com/docs/en/settings
func planClaudeCode(p *planner) error {
	if err := p.planServer(p.inWorkspace(".mcp.json"), "mcpServers", "stdio", "", plainName); err != nil {
		return err
	}
	p.warnIfNotStandard()
	p.warnOfOtherServers("mcpServers")
	deny := claudeCodeWriteTools()
	if !p.KeepReadTools {
		deny = append(deny, claudeCodeReadTools()...)
	}
	err := p.editJSON(p.inWorkspace(".claude/settings.json"),
		func(doc *document) (string, error) {
			present := doc.denials()
			missing := slices.DeleteFunc(slices.Clone(deny), func(tool string) bool { return slices.Contains(present, tool) })
			return describeDenials(missing), doc.merge(map[string]any{"permissions": map[string]any{"deny": deny}})
		},
		func(doc, was *document) (string, error) {
			all := slices.Concat(claudeCodeWriteTools(), claudeCodeReadTools())
			return takenText("no longer denies", p.takeDenials(doc, was, all)), nil
		})
	if err != nil {
		return err
	}
	broken := p.brokenClaudeSettings()
	p.closes(broken, "Claude Code no longer has its shell and editing tools here ("+strings.Join(claudeCodeWriteTools(), ", ")+
		"): denied in every permission mode, also for subagents.")
	p.claudeCodeReading(broken)
	p.leaves(
		"Hooks, skills with inline shell and status lines of your Claude Code settings run outside the gate, and so does what you type after `!`.",
		"Other MCP servers and plugins that you enabled for yourself.",
	)
	p.plan.Next = "Start `claude` in the workspace, trust it and approve the server " + ServerName + "; `/mcp` shows it, `/permissions` the denials."
	return nil
}

func (p *planner) claudeCodeReading(broken []string) {
	if p.KeepReadTools {
		p.leaves("Its own reading tools stay (--keep-read-tools): the server does not know what the agent has seen, so overwriting " +
			"a file first asks for read_file, and secret: rules do not bind them.")
		return
	}
	p.closes(broken, "Its own reading tools ("+strings.Join(claudeCodeReadTools(), ", ")+") are denied too: the server then knows what the "+
		"agent has seen, and secret: rules hold. --keep-read-tools leaves them.")
}

func describeDenials(missing []string) string {
	if len(missing) == 0 {
		return "the denials are there"
	}
	return "denies " + strings.Join(missing, ", ")
}

// denials lists permissions.deny.
func (d *document) denials() []string {
	var root struct {
		Permissions struct {
			Deny []string `json:"deny"`
		} `json:"permissions"`
	}
	if d.value(&root) != nil {
		return nil
	}
	return root.Permissions.Deny
}

// takenText says what was taken out; "" if nothing was.
func takenText(what string, taken []hujson.Value) string {
	var names []string
	for _, value := range taken {
		if literal, ok := value.Value.(hujson.Literal); ok {
			names = append(names, literal.String())
		}
	}
	if len(taken) == 0 {
		return ""
	}
	return strings.TrimSpace(what + " " + strings.Join(names, ", "))
}

// brokenClaudeSettings says why Claude Code would not take the denials: a settings file that is not strict JSON, or has
// a value of a wrong type, is ignored as a whole. https://code.claude.com/docs/en/settings
func (p *planner) brokenClaudeSettings() []string {
	problems := p.notStandard()
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
	denied := func(rule string) bool { return slices.Contains(doc.denials(), rule) }
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
