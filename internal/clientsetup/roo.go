package clientsetup

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// rooSlug names our mode. Roo accepts letters, digits and dashes.
const rooSlug = "orchestra"

// rooMode is a custom mode of Roo Code, with the fields in the order of its documentation. Of the groups, "edit" and
// "command" change things; "read" would leave us blind to what was seen. One of somebody else's is a name, or a list of
// a name and options. https://docs.roocode.com/features/custom-modes
type rooMode struct {
	Slug               string `yaml:"slug"`
	Name               string `yaml:"name"`
	RoleDefinition     string `yaml:"roleDefinition"`
	WhenToUse          string `yaml:"whenToUse"`
	CustomInstructions string `yaml:"customInstructions"`
	Groups             []any  `yaml:"groups"`
}

type rooModes struct {
	CustomModes []rooMode `yaml:"customModes"`
}

// rooFile is a file of modes with ours alone.
func rooFile() []byte {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	_ = encoder.Encode(rooModes{[]rooMode{{ // texts always encode
		Slug:           rooSlug,
		Name:           "Orchestra (governed)",
		RoleDefinition: "You are a software engineer. You work on this workspace only through the tools of the MCP server " + ServerName + ".",
		WhenToUse:      "Use this mode for every task that reads or changes this workspace.",
		CustomInstructions: "First call select_active_intent with the id of the intent you work under (list_intents names them), and pass the session " +
			"it returns on each call. Read, edit and run commands only with this server's tools. Do what a refusal suggests; do not switch modes to go round it.",
		Groups: []any{"mcp"},
	}}})
	return text.Bytes()
}

// Roo Code, which ended: the project's MCP list, and a mode with only the mcp group in .roomodes.
// https://docs.roocode.com/features/mcp/using-mcp-in-roo
func planRoo(p *planner) error {
	if err := p.planServer(serverIn{path: p.inWorkspace(".roo/mcp.json"), list: "mcpServers"}); err != nil {
		return err
	}
	p.warnIfNotStandard()
	if err := p.edit(p.inWorkspace(".roomodes"), addRooMode, takeRooMode); err != nil {
		return err
	}
	if p.last().Action == Kept {
		p.leaves("The file .roomodes was written by hand, and " + p.last().Detail + ": put the mode there that --print shows, and no more groups.")
	} else {
		p.closes(p.brokenRooModes(), "The mode "+rooSlug+" has no file, command or browser tool, only MCP servers' tools.")
	}
	p.leaves(
		"Roo Code was shut down on 2026-05-15: this is for those who still run it, and it has no hooks.",
		"Roo's other modes keep their own tools, and an agent may ask to switch mode or start a task in another one (switch_mode, new_task): "+
			"leave the auto-approval of mode switches and subtasks off, and refuse them.",
		"`@file` mentions and the files of open editors reach the model without the server's read_file.",
	)
	p.plan.Next = "Reload the VS Code window, choose the mode \"Orchestra (governed)\" in Roo's chat, and see under MCP Servers that " + ServerName + " is connected."
	return nil
}

// parseRooModes reads a file of modes. YAML is read as JSON is.
func parseRooModes(text []byte) ([]rooMode, error) {
	var root rooModes
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%w: it is not a list of modes (%v); repair or remove the file", ErrUnmergeable, err)
	}
	return root.CustomModes, nil
}

// addRooMode makes a file of modes where there is none. One that is there is looked at, and left as it is: kept says that it
// lets more through than ours, or has no mode of ours.
func addRooMode(text []byte) (edited, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return edited{content: rooFile(), detail: "mode " + rooSlug}, nil
	}
	modes, err := parseRooModes(text)
	if err != nil {
		return edited{}, err
	}
	i := slices.IndexFunc(modes, func(mode rooMode) bool { return mode.Slug == rooSlug })
	if i < 0 {
		return edited{content: text, kept: true, detail: "there is no mode " + rooSlug + " in it"}, nil
	}
	for _, group := range modes[i].Groups {
		if pair, ok := group.([]any); ok && len(pair) > 0 {
			group = pair[0]
		}
		if group != "mcp" {
			return edited{content: text, kept: true, detail: fmt.Sprintf("mode %s has the group %q", rooSlug, fmt.Sprint(group))}, nil
		}
	}
	return edited{content: text, detail: "the mode is there"}, nil
}

// takeRooMode removes the file if it is as setup writes it.
func takeRooMode(text, _ []byte) (edited, error) {
	if bytes.Equal(text, rooFile()) {
		return edited{detail: "no mode " + rooSlug}, nil
	}
	modes, err := parseRooModes(text)
	if slices.ContainsFunc(modes, func(mode rooMode) bool { return mode.Slug == rooSlug }) {
		err = fmt.Errorf("%w: the mode %s was changed by hand; take it out yourself", errKept, rooSlug)
	}
	return edited{content: text}, err
}

var rooSlugs = lazy.Regexp(`^[A-Za-z0-9-]+$`)

// brokenRooModes says why Roo would not have our mode: it checks the file as a whole, and then has none of its modes.
func (p *planner) brokenRooModes() (problems []string) {
	modes, _ := parseRooModes(p.last().Content) // what cannot be read was told before
	seen := map[string]bool{}
	for _, mode := range modes {
		what := ""
		switch {
		case !rooSlugs().MatchString(mode.Slug) || mode.Name == "" || mode.RoleDefinition == "" || mode.Groups == nil:
			what = "lacks a slug of letters, digits and dashes, a name, a roleDefinition or groups"
		case seen[mode.Slug]:
			what = "stands there twice"
		default:
			seen[mode.Slug] = true
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: the mode %q %s, so Roo has none of the file's modes", p.last().Name, mode.Slug, what))
	}
	return problems
}
