package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// fileName is the intents file, relative to the .orchestration directory; filePath is relative to the workspace.
const (
	fileName = "active_intents.yaml"
	filePath = ".orchestration/" + fileName
)

// document is a parsed file: its meaning, and the nodes that an edit needs.
type document struct {
	root     *yaml.Node // nil for a file without a document
	listKey  *yaml.Node // nil if there is no list
	list     *yaml.Node
	intents  []*Intent
	nodes    []*yaml.Node // of each intent: its mapping, or the alias that leads to it
	warnings []Warning
	source   *source // for a change

	weakening Weakening
}

// decoder turns nodes into intents. Its methods return the first error.
type decoder struct {
	doc    document
	hashed int // nodes visited with aliases followed, over the whole file
	rules  int // over the whole file, aliases followed
}

// decodeFile parses a whole intents file.
func decodeFile(data []byte) (*document, error) {
	if len(data) > maxFileBytes {
		return nil, &UnreadableError{File: filePath, Reason: fmt.Sprintf("the file is over %d bytes", maxFileBytes)}
	}
	root, err := parseYAML(filePath, data)
	if err != nil {
		return nil, err
	}
	var d decoder
	d.doc.root = root
	if root == nil || isNull(root) {
		d.warn(&yaml.Node{Line: 1, Column: 1}, "the file is empty: it declares no intents")
		d.doc.root = nil
		return &d.doc, nil
	}
	if err := d.top(root); err != nil {
		return nil, err
	}
	d.doc.weakening = weakeningOfIntents(d.doc.intents)
	return &d.doc, nil
}

func (d *decoder) warn(n *yaml.Node, format string, args ...any) {
	d.doc.warnings = append(d.doc.warnings, Warning{File: filePath, Line: n.Line, Column: n.Column,
		Message: fmt.Sprintf(format, args...)})
}

// top finds the one list of intents.
func (d *decoder) top(root *yaml.Node) error {
	if root.Kind != yaml.MappingNode {
		return nodeError(filePath, root, "the file must be a mapping with the key active_intents, not %s", kindName(root))
	}
	for pair := range slices.Chunk(root.Content, 2) {
		key := pair[0]
		switch key.Value {
		case "active_intents", "activeIntents", "intents":
			if d.doc.listKey != nil {
				return nodeError(filePath, key, "%s and %s stand side by side: keep one of them", d.doc.listKey.Value,
					key.Value)
			}
			d.doc.listKey, d.doc.list = key, pair[1]
		default:
			d.warn(key, "unknown key %q is kept and has no effect", key.Value)
		}
	}
	if d.doc.listKey == nil {
		return nodeError(filePath, root, "the file has no key active_intents")
	}
	err := d.intents(deref(d.doc.list))
	slices.SortStableFunc(d.doc.warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return err
}

func (d *decoder) intents(list *yaml.Node) error {
	if isNull(list) {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return nodeError(filePath, list, "%s must be a list, not %s", d.doc.listKey.Value, kindName(list))
	}
	lines := make(map[string]int, len(list.Content))
	for _, node := range list.Content {
		in, err := d.intent(deref(node))
		if err != nil {
			return err
		}
		if first := lines[in.ID]; first != 0 {
			return nodeError(filePath, node, "id %q stands twice, first in line %d", in.ID, first)
		}
		lines[in.ID] = in.Line
		d.doc.intents = append(d.doc.intents, in)
		d.doc.nodes = append(d.doc.nodes, node)
	}
	return nil
}

// intent decodes one intent and compiles its scope.
func (d *decoder) intent(node *yaml.Node) (*Intent, error) {
	in := &Intent{Line: node.Line}
	var err error
	// First, because it bounds what the aliases below this node can expand to.
	if in.version, err = d.version(node); err != nil {
		return nil, err
	}
	f, err := d.fields(node, "an intent", "", intentKeys)
	if err != nil {
		return nil, err
	}
	f.id(in)
	f.status(in)
	f.text("name", &in.Name)
	f.text("description", &in.Description)
	f.text("agent", &in.Agent)
	f.list("owned_scope", &in.OwnedScope)
	f.list("constraints", &in.Constraints)
	f.list("acceptance_criteria", &in.AcceptanceCriteria)
	f.list("verify", &in.Verify)
	f.time("started_at", &in.StartedAt)
	if f.err == nil {
		f.err = d.commands(f, in)
	}
	for _, item := range f.items("rules") {
		if f.err == nil {
			f.err = d.rule(item, in)
		}
	}
	if f.scope(in); f.err != nil {
		return nil, f.err
	}
	if in.Name == "" {
		d.warn(node, "%s has no name", in.ID)
	}
	if in.scope.Unrestricted() {
		d.warn(node, "%s has no owned_scope: it may change any path", in.ID)
	}
	return in, nil
}

func (d *decoder) commands(f *fields, in *Intent) error {
	node := f.get("commands")
	if node == nil {
		return nil
	}
	sub, err := d.fields(node, "commands", f.of, commandKeys)
	if err != nil {
		return err
	}
	in.command.Name = in.ID
	c := &in.Commands
	d.commandRules(sub, "allow", &c.Allow, &in.command.Allow)
	d.commandRules(sub, "ask", &c.Ask, &in.command.Ask)
	d.commandRules(sub, "deny", &c.Deny, &in.command.Deny)
	if sub.text("network", &c.Network); c.Network != "" && c.Network != "allow" && c.Network != "deny" {
		sub.fail(sub.get("network"), "network of %s must be allow or deny, not %q", in.ID, c.Network)
	}
	return sub.err
}

func (d *decoder) rule(node *yaml.Node, in *Intent) error {
	f, err := d.fields(node, "a rule", " of "+in.ID, ruleKeys)
	if err != nil {
		return err
	}
	r := Rule{Action: rule.Refuse}
	var action string
	f.text("name", &r.Name)
	f.text("when", &r.When)
	f.text("action", &action)
	f.text("message", &r.Message)
	if action != "" {
		r.Action = rule.Action(action)
	}
	if r.Action != rule.Refuse && r.Action != rule.Ask {
		f.fail(f.get("action"), "action of a rule must be refuse or ask, not %q", action)
	}
	if r.Name == "" || r.When == "" {
		f.fail(node, "a rule of %s needs name and when", in.ID)
	}
	if d.rules++; d.rules > rule.MaxRules {
		f.fail(node, "the file has more than %d rules", rule.MaxRules)
	}
	compiled, err := rule.Compile(r.Name, r.When, r.Action, r.Message)
	if err != nil && f.err == nil {
		f.fail(f.get("when"), "rule %q of %s: %v", r.Name, in.ID, err)
	}
	in.Rules, in.compiled = append(in.Rules, r), append(in.compiled, compiled)
	return f.err
}

// parseTime reads the forms of a timestamp that YAML has. A time without zone is UTC.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
		"2006-01-02 15:04:05.999999999", time.DateOnly,
	} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
