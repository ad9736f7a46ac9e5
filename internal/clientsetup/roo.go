package clientsetup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// rooSlug names our mode. Roo accepts letters, digits and dashes.
const rooSlug = "orchestra"

// rooMode is a custom mode of Roo Code, with the fields in the order of its documentation. "edit" and "command" are
// the groups that change things; "read" would leave us blind to what was seen.
// https://docs.roocode.com/features/custom-modes
type rooMode struct {
	Slug               string   `json:"slug" yaml:"slug"`
	Name               string   `json:"name" yaml:"name"`
	RoleDefinition     string   `json:"roleDefinition" yaml:"roleDefinition"`
	WhenToUse          string   `json:"whenToUse" yaml:"whenToUse"`
	CustomInstructions string   `json:"customInstructions" yaml:"customInstructions"`
	Groups             []string `json:"groups" yaml:"groups"`
}

func (p *planner) rooMode() rooMode {
	groups := []string{"mcp"}
	if p.KeepReadTools {
		groups = append(groups, "read")
	}
	return rooMode{
		Slug:           rooSlug,
		Name:           "Orchestra (governed)",
		RoleDefinition: "You are a software engineer. You work on this workspace only through the tools of the MCP server " + ServerName + ".",
		WhenToUse:      "Use this mode for every task that reads or changes this workspace.",
		CustomInstructions: "First call select_active_intent with the id of the intent you work under (list_intents names them), and pass the session " +
			"it returns on each call. Read, edit and run commands only with this server's tools. Do what a refusal suggests; do not switch modes to go round it.",
		Groups: groups,
	}
}

// Roo Code: the project's MCP list, and a mode with only the mcp group in .roomodes (YAML or JSON).
// https://docs.roocode.com/features/mcp/using-mcp-in-roo
func planRoo(p *planner) error {
	if err := p.planServer(p.inWorkspace(".roo/mcp.json"), "mcpServers", ""); err != nil {
		return err
	}
	p.warnIfNotStandard()
	p.warnOfOtherServers("mcpServers")
	if err := p.edit(p.inWorkspace(".roomodes"), p.addRooMode); err != nil {
		return err
	}
	if p.plan.Files[len(p.plan.Files)-1].Action == Kept {
		p.leaves("The mode " + rooSlug + " in .roomodes was changed by hand and has more than the mcp group: remove it and run this again to get ours.")
	} else {
		p.closes("The mode " + rooSlug + " has no file, command or browser tool, only MCP servers' tools.")
	}
	p.leaves(
		"Roo's other modes keep their own tools, and an agent may ask to switch mode or start a task in another one (switch_mode, new_task): "+
			"leave the auto-approval of mode switches and subtasks off, and refuse them.",
		"`@file` mentions and the files of open editors reach the model without the server's read_file.",
	)
	if p.KeepReadTools {
		p.leaves("The mode has Roo's own reading tools (--keep-read-tools): the server does not know what the agent has seen, and secret: rules do not bind them.")
	}
	p.plan.Next = "Reload the VS Code window, choose the mode \"Orchestra (governed)\" in Roo's chat, and see under MCP Servers that " + ServerName + " is connected."
	return nil
}

func (p *planner) addRooMode(text []byte) (edited, error) {
	mode := p.rooMode()
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, utf8BOM)); bytes.HasPrefix(trimmed, []byte("{")) {
		return addRooModeJSON(text, mode)
	}
	modes, err := parseRooModes(text)
	if err != nil {
		return edited{}, err
	}
	if present := modes.find(mode.Slug); present != nil {
		return keepOrConfirm(text, present.groups, mode.Groups), nil
	}
	after, err := modes.insert(text, mode)
	if err != nil {
		return edited{}, err
	}
	return edited{content: after, detail: "mode " + mode.Slug}, nil
}

// keepOrConfirm leaves a mode of our name alone; it says whether it lets more through than ours.
func keepOrConfirm(text []byte, present, ours []string) edited {
	for _, group := range present {
		if !slices.Contains(ours, group) {
			return edited{content: text, kept: true, detail: fmt.Sprintf("mode %s has the group %q", rooSlug, group)}
		}
	}
	return edited{content: text, detail: "the mode is there"}
}

func addRooModeJSON(text []byte, mode rooMode) (edited, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return edited{}, err
	}
	var root struct {
		CustomModes []presentMode `json:"customModes"`
	}
	if err := doc.value(&root); err != nil {
		return edited{}, fmt.Errorf("%w: customModes is not a list of modes (%v)", ErrUnmergeable, err)
	}
	for _, present := range root.CustomModes {
		if present.Slug == mode.Slug {
			return keepOrConfirm(text, groupNames(present.Groups), mode.Groups), nil
		}
	}
	if err := doc.merge(map[string]any{"customModes": []rooMode{mode}}); err != nil {
		return edited{}, err
	}
	return edited{content: doc.bytes(), detail: "mode " + mode.Slug}, nil
}

// presentMode is what we look at in somebody else's mode. A group is a name, or a list of a name and options.
type presentMode struct {
	Slug   string `json:"slug" yaml:"slug"`
	Groups []any  `json:"groups" yaml:"groups"`
	groups []string
}

func groupNames(groups []any) []string {
	var names []string
	for _, group := range groups {
		if pair, ok := group.([]any); ok && len(pair) > 0 {
			group = pair[0]
		}
		names = append(names, fmt.Sprint(group))
	}
	return names
}

// rooModes is a .roomodes file in YAML, and where in its text a mode can be added. The text itself is edited: the
// YAML library would lay the whole file out anew.
type rooModes struct {
	modes   []presentMode
	raw     []map[string]any
	line    int // the line, from 0, before which the mode is inserted
	indent  string
	heading bool // customModes itself is missing
}

func parseRooModes(text []byte) (*rooModes, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%w: it is not YAML (%v); repair it, or use --print and add the lines by hand", ErrUnmergeable, err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(root.Content) == 0 {
		return &rooModes{line: len(lines), indent: "  ", heading: true}, nil
	}
	mapping := root.Content[0]
	if mapping.Kind != yaml.MappingNode || mapping.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("%w: it does not hold a block mapping with customModes; use --print and add the lines by hand", ErrUnmergeable)
	}
	modes := &rooModes{line: len(lines), indent: "  ", heading: true}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != "customModes" {
			continue
		}
		next := len(lines)
		if i+2 < len(mapping.Content) {
			next = mapping.Content[i+2].Line - 1
		}
		return modes, modes.locate(mapping.Content[i+1], lines, next)
	}
	return modes, nil
}

// locate reads the list of modes and finds the line behind its last one; next is the line of the following key.
func (m *rooModes) locate(list *yaml.Node, lines []string, next int) error {
	m.heading = false
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || len(list.Content) == 0 {
		return fmt.Errorf("%w: customModes is not a list with one mode a line; use --print and add the lines by hand", ErrUnmergeable)
	}
	if err := errors.Join(list.Decode(&m.modes), list.Decode(&m.raw)); err != nil {
		return fmt.Errorf("%w: customModes is not a list of modes (%v)", ErrUnmergeable, err)
	}
	for i := range m.modes {
		m.modes[i].groups = groupNames(m.modes[i].Groups)
	}
	m.indent = strings.Repeat(" ", list.Column-1)
	for next < len(lines) && next > 0 && belongsToNext(lines[next-1]) {
		next--
	}
	m.line = next
	return nil
}

// belongsToNext tells the blank lines and comments before a key from the text of the last mode: a comment at the
// margin cannot be part of it.
func belongsToNext(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
}

func (m *rooModes) find(slug string) *presentMode {
	for i := range m.modes {
		if m.modes[i].Slug == slug {
			return &m.modes[i]
		}
	}
	return nil
}

// insert adds the mode, and checks by parsing again that everything else is what it was.
func (m *rooModes) insert(text []byte, mode rooMode) ([]byte, error) {
	block, err := m.block(mode)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	before := strings.Join(lines[:m.line], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	after := []byte(before + block + strings.Join(lines[m.line:], ""))
	again, err := parseRooModes(after)
	if err != nil || again.find(mode.Slug) == nil || !reflect.DeepEqual(again.others(mode.Slug), m.others(mode.Slug)) {
		return nil, fmt.Errorf("%w: the mode cannot be added to this layout; use --print and add the lines by hand", ErrUnmergeable)
	}
	return after, nil
}

// others are all modes but ours, as the file has them.
func (m *rooModes) others(slug string) []map[string]any {
	return slices.DeleteFunc(append([]map[string]any{}, m.raw...), func(mode map[string]any) bool { return mode["slug"] == slug })
}

// block is the mode as lines of YAML, indented as the other modes are.
func (m *rooModes) block(mode rooMode) (string, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode([]rooMode{mode}); err != nil {
		return "", err
	}
	var block strings.Builder
	if m.heading {
		block.WriteString("customModes:\n")
	}
	for line := range strings.Lines(text.String()) {
		block.WriteString(m.indent + line)
	}
	return block.String(), nil
}
