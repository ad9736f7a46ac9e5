package clientsetup

import "strings"

// Cursor: the project's MCP list and hooks. An earlier setup had a hook that refused all tools, and denials for the
// command-line agent. https://cursor.com/docs/mcp, https://cursor.com/docs/hooks
func planCursor(p *planner) error {
	if err := p.planServer(serverIn{path: p.inWorkspace(".cursor/mcp.json"), list: "mcpServers", where: variable}); err != nil {
		return err
	}
	h := hookFiles()["cursor"]
	if err := p.planHooks(p.inWorkspace(h.file), h); err != nil {
		return err
	}
	cli := p.inWorkspace(".cursor/cli.json")
	if p.recall(cli) != nil || strings.Contains(string(p.last().before), oldGuard) {
		if err := p.takeBack(cli, takeJSON(step{take: p.takeCursorCLI})); err != nil {
			return err
		}
	}
	p.leaves(
		"An old cursor-agent (the command line) that does not know preToolUse hooks does not ask.",
		"Tab completion and inline edits that you accept are your own edits.",
		"Cloud agents run elsewhere and do not have this server.",
	)
	p.plan.Next = "Restart Cursor, trust the workspace, enable the server " + ServerName + " under Settings, MCP, and look under Settings, Hooks that the hooks are listed."
	return nil
}

// takeCursorCLI takes out the denials, and the empty list that cursor-agent wants beside them.
func (p *planner) takeCursorCLI(doc, was *document) (string, error) {
	taken := p.takeDenials(doc, was, []string{"Shell(*)", "Write(**)", "Read(**)"}, "permissions", "deny")
	if allow := doc.find("permissions", "allow"); taken != "" && allow != nil && isEmpty(allow) && was.find("permissions", "allow") == nil {
		doc.take(was, "permissions", "allow")
	}
	return taken, nil
}
