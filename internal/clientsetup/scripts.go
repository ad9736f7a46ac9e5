package clientsetup

import (
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// Cline: one list of servers for the user, and a script for each event in the workspace.
// https://docs.cline.bot/mcp/mcp-overview, https://docs.cline.bot/customization/hooks
func planCline(p *planner) error {
	list, ok := p.LookupEnv("CLINE_MCP_SETTINGS_PATH")
	if !ok || list == "" {
		list = filepath.Join(p.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
	}
	if err := p.planServer(serverIn{path: list, list: "mcpServers", where: p.Workspace, named: p.desktopServerName}); err != nil {
		return err
	}
	p.warnIfNotStandard()
	before, after, ending := "#!/bin/sh\nexec ", " hook "+string(clienthook.Cline)+"\n", ""
	if p.OS == "windows" {
		before, after, ending = "$input | & ", strings.TrimSuffix(after, "\n")+"\r\nexit $LASTEXITCODE\r\n", ".ps1"
	}
	script := before + p.commandLine(p.start(true)) + after
	starts := func(text []byte) []string {
		line, begins := strings.CutPrefix(string(text), before)
		line, ends := strings.CutSuffix(line, after)
		if words, whole := shellword.Split(line); begins && ends && whole && p.isLaunch(words) {
			return words
		}
		return nil
	}
	kept := false
	for _, event := range []string{"PreToolUse", "PostToolUse", "TaskComplete", "TaskCancel"} {
		if err := p.planWhole(p.inWorkspace(".clinerules/hooks/"+event+ending), []byte(script), 0o755, "our hook", starts); err != nil {
			return err
		}
		kept = kept || p.last().Action == Kept
	}
	if p.hookless() {
		p.leavesHooks()
	} else if !kept {
		p.tellNPX()
		p.closes(nil, "Cline asks this program before each use of one of its own tools, which is then judged as this server's are (.clinerules/hooks).")
	}
	p.leaves(
		"If the hook crashes or is slow, the call passes: Cline has no switch for that, and nothing that takes its tools away.",
		"Hooks can be switched off in Cline's settings, and an older Cline has none.",
	)
	p.plan.Next = "Restart Cline, see under MCP Servers that " + ServerName + " is connected, and that its settings have the hooks on."
	return nil
}

// OpenCode: its configuration, with or without comments, and a plugin, which stops a call by an error.
// https://opencode.ai/docs/plugins, https://opencode.ai/docs/mcp-servers
func planOpenCode(p *planner) error {
	config := p.inWorkspace("opencode.json")
	if commented := p.inWorkspace("opencode.jsonc"); !isFile(config) && isFile(commented) {
		config = commented
	}
	if err := p.planServer(serverIn{path: config, list: "mcp", kind: openCodeType}); err != nil {
		return err
	}
	err := p.planWhole(p.inWorkspace(".opencode/plugins/orchestra.js"), clienthook.OpenCodePlugin(p.start(true)...), 0o644, "our plugin", func(text []byte) []string {
		if words := clienthook.OpenCodeProgram(text); p.isLaunch(words) {
			return words
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.hookless() {
		p.leavesHooks()
	} else if p.last().Action != Kept {
		p.tellNPX()
		p.closes(nil, "OpenCode's plugin asks this program before each use of one of its own tools, which is then judged as this server's are. If the plugin fails, the call is stopped.")
	}
	p.leaves("Other plugins and tools of your OpenCode configuration run outside the gate.")
	p.plan.Next = "Start `opencode` in the workspace; `opencode mcp list` shows the server " + ServerName + "."
	return nil
}
