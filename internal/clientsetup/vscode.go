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
	if err := p.planServer(serverIn{path: p.inWorkspace(vscodeServers), list: "servers", kind: "stdio", where: variable}); err != nil {
		return err
	}
	if err := p.planSharedHooks(copilotServers); err != nil {
		return err
	}
	agent, err := p.inWorkspace(vscodeAgentFile), error(nil)
	if p.KeepTools {
		err = p.takeBack(agent, takeVSCodeAgent)
	} else {
		err = p.edit(agent, addVSCodeAgent, takeVSCodeAgent)
	}
	if err != nil {
		return err
	}
	if p.last().Action == Kept {
		p.leaves("The agent in " + vscodeAgentFile + " was changed by hand and has other tools: remove the file and run this again to get ours.")
	} else {
		p.tellDenied("The agent \"Orchestra\" has only this server's tools: no editing, terminal, reading or subagent tool of VS Code.", nil)
	}
	p.leaves(
		"VS Code's built-in agents keep all their tools, and nothing in a workspace takes them away: only the hooks, which are in preview there, stand before them.",
		"Files that you attach to a chat, and the editor's own context, reach the model without the server's read_file.",
		"The cloud agent runs elsewhere and does not have this server.",
	)
	p.plan.Next = "Open " + vscodeServers + " in VS Code and start the server " + ServerName + " there, then choose the agent \"Orchestra\" in the chat's agent list."
	if p.KeepTools {
		p.plan.Next = "Open " + vscodeServers + " in VS Code and start the server " + ServerName + " there; `/hooks` in the chat shows the hooks."
	}
	return nil
}

// vscodeServers and copilotServers are the lists of servers of two clients that read the same file of hooks.
const (
	vscodeServers  = ".vscode/mcp.json"
	copilotServers = ".github/mcp.json"
)

// planSharedHooks plans that file, which stays while the other client, with its list of servers, is set up.
func (p *planner) planSharedHooks(others string) error {
	h := hookFiles()[p.client.name]
	text, _, _ := p.read(p.inWorkspace(others), true)
	if p.removing && allServers(text)[ServerName].isOurs() {
		return nil
	}
	return p.planHooks(p.inWorkspace(h.file), h)
}

// takeVSCodeAgent removes the file if it is as setup writes it.
func takeVSCodeAgent(text, _ []byte) (edited, error) {
	if bytes.Equal(text, vscodeAgent()) {
		return edited{detail: "the agent is gone"}, nil
	}
	return edited{}, fmt.Errorf("%w: the agent was changed by hand; remove the file yourself", errKept)
}

// addVSCodeAgent makes the agent where there is none. One that is there is left as it is: it has no more tools if it names
// them as ours does.
func addVSCodeAgent(text []byte) (edited, error) {
	if text == nil {
		return edited{content: vscodeAgent(), detail: "an agent with only our tools"}, nil
	}
	header, _, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n---\n")
	if strings.Contains(header, agentTools) && strings.HasPrefix(header, "---\n") && strings.Count(header, "\ntools") == 1 {
		return edited{content: text, detail: "the agent is there"}, nil
	}
	return edited{content: text, kept: true, detail: "the agent does not name its tools as ours does"}, nil
}

// agentTools is the line of the header that gives the agent its tools.
const agentTools = "\ntools: ['" + ServerName + "/*']"

func vscodeAgent() []byte {
	return []byte(`---
name: Orchestra
description: Works on this workspace only through the governed tools of orchestra-mcp.` + agentTools + `
---
You work on this workspace only through the tools of the MCP server ` + ServerName + `.

First call select_active_intent with the id of the intent you work under (list_intents names them), and pass the
session it returns on each call. Nothing can be changed before that. Do what a refusal suggests; if it says to ask
the user, ask.
`)
}
