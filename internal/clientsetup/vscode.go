package clientsetup

import (
	"bytes"
	"fmt"
	"strings"
)

// vscodeAgentFile is our agent. VS Code finds every agent of the workspace in this directory.
const vscodeAgentFile = ".github/agents/orchestra.agent.md"

// VS Code: the workspace's MCP list (JSON with comments), and an agent whose tools are ours only.
// https://code.visualstudio.com/docs/copilot/reference/mcp-configuration,
// https://code.visualstudio.com/docs/copilot/customization/custom-agents
func planVSCode(p *planner) error {
	if err := p.planServer(p.inWorkspace(".vscode/mcp.json"), "servers", "stdio", variable, plainName); err != nil {
		return err
	}
	p.warnOfOtherServers("servers")
	if err := p.edit(p.inWorkspace(vscodeAgentFile), p.addVSCodeAgent, takeVSCodeAgent); err != nil {
		return err
	}
	if p.last().Action == Kept {
		p.leaves("The agent in " + vscodeAgentFile + " was changed by hand and has other tools: remove the file and run this again to get ours.")
	} else {
		p.closes(nil, "The agent \"Orchestra\" has only this server's tools: no editing, terminal, reading or subagent tool of VS Code.")
	}
	p.leaves(
		"VS Code's built-in agents keep all their tools, and nothing in a workspace takes them away: the gate holds for chats in which "+
			"the agent \"Orchestra\" is chosen. (Hooks are in preview there, and are not written.)",
		"Files that you attach to a chat, and the editor's own context, reach the model without the server's read_file.",
		"The cloud agent runs elsewhere and does not have this server.",
	)
	if p.KeepReadTools {
		p.leaves("The agent has VS Code's own reading tools (--keep-read-tools): the server does not know what the agent has seen, and secret: rules do not bind them.")
	}
	p.plan.Next = "Open .vscode/mcp.json in VS Code and start the server " + ServerName + " there, then choose the agent \"Orchestra\" in the chat's agent list."
	return nil
}

// takeVSCodeAgent removes the file if it is as setup writes it.
func takeVSCodeAgent(text, _ []byte) (edited, error) {
	if bytes.Equal(text, vscodeAgent(false)) || bytes.Equal(text, vscodeAgent(true)) {
		return edited{detail: "the agent is gone"}, nil
	}
	return edited{}, fmt.Errorf("%w: the agent was changed by hand; remove the file yourself", errKept)
}

// addVSCodeAgent makes the agent where there is none. One that is there is left as it is: it has no more tools if it names
// them as ours does.
func (p *planner) addVSCodeAgent(text []byte) (edited, error) {
	if text == nil {
		return edited{content: vscodeAgent(p.KeepReadTools), detail: "an agent with only our tools"}, nil
	}
	header, _, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n---\n")
	ours := strings.Contains(header, agentTools(false)) || p.KeepReadTools && strings.Contains(header, agentTools(true))
	if ours && strings.HasPrefix(header, "---\n") && strings.Count(header, "\ntools") == 1 {
		return edited{content: text, detail: "the agent is there"}, nil
	}
	return edited{content: text, kept: true, detail: "the agent does not name its tools as ours does"}, nil
}

// agentTools is the line of the header that gives the agent its tools.
func agentTools(keepReadTools bool) string {
	tools := "'" + ServerName + "/*'"
	if keepReadTools {
		tools += ", 'read', 'search'"
	}
	return "\ntools: [" + tools + "]"
}

func vscodeAgent(keepReadTools bool) []byte {
	return []byte(`---
name: Orchestra
description: Works on this workspace only through the governed tools of orchestra-mcp.` + agentTools(keepReadTools) + `
---
You work on this workspace only through the tools of the MCP server ` + ServerName + `.

First call select_active_intent with the id of the intent you work under (list_intents names them), and pass the
session it returns on each call. Nothing can be changed before that. Do what a refusal suggests; if it says to ask
the user, ask.
`)
}
