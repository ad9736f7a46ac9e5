package clientsetup

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// vscodeAgentFile is our agent. VS Code finds every agent of the workspace in this directory.
const vscodeAgentFile = ".github/agents/orchestra.agent.md"

// VS Code: the workspace's MCP list (JSON with comments), and an agent whose tools are ours only.
// https://code.visualstudio.com/docs/copilot/reference/mcp-configuration,
// https://code.visualstudio.com/docs/copilot/customization/custom-agents
func planVSCode(p *planner) error {
	if err := p.planServer(p.inWorkspace(".vscode/mcp.json"), "servers", "stdio", variable); err != nil {
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

func takeVSCodeAgent(text, _ []byte) (edited, error) {
	for _, keep := range []bool{false, true} {
		if bytes.Equal(text, (&planner{Options: Options{KeepReadTools: keep}}).vscodeAgent()) {
			return edited{detail: "the agent is gone"}, nil
		}
	}
	return edited{}, fmt.Errorf("%w: the agent was changed by hand; remove the file yourself", errKept)
}

func (p *planner) vscodeTools() []string {
	tools := []string{ServerName + "/*"}
	if p.KeepReadTools {
		tools = append(tools, "read", "search")
	}
	return tools
}

func (p *planner) addVSCodeAgent(text []byte) (edited, error) {
	if text == nil {
		return edited{content: p.vscodeAgent(), detail: "an agent with only our tools"}, nil
	}
	tools, err := agentTools(text)
	if err != nil {
		return edited{}, err
	}
	ours := p.vscodeTools()
	for _, tool := range tools {
		if !slices.Contains(ours, tool) && !strings.HasPrefix(tool, ServerName+"/") {
			return edited{content: text, kept: true, detail: fmt.Sprintf("the agent has the tool %q", tool)}, nil
		}
	}
	if len(tools) == 0 { // no list means every tool
		return edited{content: text, kept: true, detail: "the agent has no list of tools, which means all"}, nil
	}
	return edited{content: text, detail: "the agent is there"}, nil
}

func (p *planner) vscodeAgent() []byte {
	quoted := make([]string, 0, 3)
	for _, tool := range p.vscodeTools() {
		quoted = append(quoted, "'"+tool+"'")
	}
	return []byte(`---
name: Orchestra
description: Works on this workspace only through the governed tools of orchestra-mcp.
tools: [` + strings.Join(quoted, ", ") + `]
---
You work on this workspace only through the tools of the MCP server ` + ServerName + `.

First call select_active_intent with the id of the intent you work under (list_intents names them), and pass the
session it returns on each call. Nothing can be changed before that. Do what a refusal suggests; if it says to ask
the user, ask.
`)
}

// agentTools reads the list of tools from the frontmatter of an agent file; a comma-separated string is a list too.
func agentTools(text []byte) ([]string, error) {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, utf8BOM), []byte("\r\n"), []byte("\n"))
	rest, found := bytes.CutPrefix(text, []byte("---\n"))
	header, _, closed := bytes.Cut(rest, []byte("\n---"))
	if !found || !closed {
		return nil, nil
	}
	var front struct {
		Tools yaml.Node `yaml:"tools"`
	}
	if err := yaml.Unmarshal(header, &front); err != nil {
		return nil, fmt.Errorf("%w: its header is not YAML (%v); repair or remove the file", ErrUnmergeable, err)
	}
	var tools []string
	if front.Tools.Kind == yaml.ScalarNode {
		for _, tool := range strings.Split(front.Tools.Value, ",") {
			if tool = strings.TrimSpace(tool); tool != "" {
				tools = append(tools, tool)
			}
		}
		return tools, nil
	}
	if front.Tools.Kind != 0 {
		if err := front.Tools.Decode(&tools); err != nil {
			return nil, fmt.Errorf("%w: its tools are not a list of names (%v); repair or remove the file", ErrUnmergeable, err)
		}
	}
	return tools, nil
}
