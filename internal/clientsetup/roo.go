package clientsetup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/tailscale/hujson"
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
	if err := p.planServer(p.inWorkspace(".roo/mcp.json"), "mcpServers", "", ""); err != nil {
		return err
	}
	p.warnIfNotStandard()
	p.warnOfOtherServers("mcpServers")
	if err := p.edit(p.inWorkspace(".roomodes"), p.addRooMode, takeRooMode); err != nil {
		return err
	}
	if p.last().Action == Kept {
		p.leaves("The mode " + rooSlug + " in .roomodes was changed by hand and has more than the mcp group: remove it and run this again to get ours.")
	} else {
		p.closes(p.brokenRooModes(), "The mode "+rooSlug+" has no file, command or browser tool, only MCP servers' tools.")
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

// takeRooMode takes our mode out if it stands there as setup writes it.
func takeRooMode(text, before []byte) (edited, error) {
	kept := fmt.Errorf("%w: the mode %s was changed by hand; take it out yourself", errKept, rooSlug)
	modes := []rooMode{(&planner{}).rooMode(), (&planner{Options: Options{KeepReadTools: true}}).rooMode()}
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, utf8BOM)); bytes.HasPrefix(trimmed, []byte("{")) {
		return takeRooModeJSON(text, before, modes, kept)
	}
	present, err := parseRooModes(text)
	if err != nil || present.find(rooSlug) == nil {
		return edited{content: text}, err
	}
	for _, mode := range modes {
		block, err := present.block(mode)
		if err != nil {
			return edited{}, err
		}
		rest, found := bytes.CutPrefix(text, []byte("customModes:\n"+block))
		if found && before == nil && len(rest) == 0 {
			return edited{detail: "no mode " + rooSlug}, nil
		}
		if head, tail, found := bytes.Cut(text, []byte(block)); found {
			after := slices.Concat(head, tail)
			if left, err := parseRooModes(after); err == nil && len(left.modes) == 0 {
				after = slices.Concat(bytes.TrimRight(head, "\n"), []byte(" []\n"), tail)
			}
			return edited{content: after, detail: "no mode " + rooSlug}, nil
		}
	}
	return edited{}, kept
}

func takeRooModeJSON(text, before []byte, modes []rooMode, kept error) (edited, error) {
	var was *document
	if before != nil {
		was, _ = parseDocument(before)
	}
	after, err := editedJSON(text, func(doc *document) (string, error) {
		var slugs int
		taken := doc.takeElements(was, func(v hujson.Value) bool {
			if slug := v.Find("/slug"); slug == nil || !isString(*slug, []string{rooSlug}) {
				return false
			}
			slugs++
			return slices.ContainsFunc(modes, func(mode rooMode) bool {
				ours, err := parseAddition(mode)
				return err == nil && sameJSON(v, ours)
			})
		}, "customModes")
		switch {
		case slugs > len(taken):
			return "", kept
		case slugs == 0:
			return "", nil
		}
		return "no mode " + rooSlug, nil
	})
	if err == nil && after.detail == "" {
		after.content = text
	}
	return after, err
}

// brokenRooModes says why Roo would not have our mode: it checks the file as a whole, and then has none of its modes.
func (p *planner) brokenRooModes() []string {
	file := p.last()
	var root struct {
		CustomModes []struct {
			Slug, Name, RoleDefinition string
			Groups                     []any
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(file.Content), []byte("{")) {
		if problems := p.notStandard(); len(problems) > 0 {
			return problems
		}
	}
	var raw map[string]any
	if yaml.Unmarshal(file.Content, &raw) != nil {
		return []string{file.Name + ": it is not a list of modes, so Roo has none of them"}
	}
	text, err := json.Marshal(raw)
	if err != nil || json.Unmarshal(text, &root) != nil {
		return []string{file.Name + ": customModes is not a list of modes, so Roo has none of them"}
	}
	var problems []string
	seen := map[string]bool{}
	for _, mode := range root.CustomModes {
		switch {
		case !rooSlugs.MatchString(mode.Slug) || mode.Name == "" || mode.RoleDefinition == "" || mode.Groups == nil:
			problems = append(problems, fmt.Sprintf("%s: the mode %q lacks a slug of letters, digits and dashes, a name, a roleDefinition or groups, so Roo has none of the file's modes",
				file.Name, mode.Slug))
		case seen[mode.Slug]:
			problems = append(problems, fmt.Sprintf("%s: the mode %q stands there twice, so Roo has none of the file's modes", file.Name, mode.Slug))
		}
		seen[mode.Slug] = true
	}
	return problems
}

var rooSlugs = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

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
