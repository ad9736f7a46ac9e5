package intent

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
)

// Edit says what an intent shall say from now on. A nil field stays as it is.
type Edit struct {
	// Version is that of the intent from which the edit was made, see [Intent.Version].
	Version string

	Name, Description, Agent *string
	// The lists are whole. An entry that stays keeps its text, and the comments on its line and above it; those above the first
	// are the list's. One that gets another text, with as many entries as before, keeps them too. Where an entry goes, the comment
	// on its line goes with it, and those above stay.
	OwnedScope, Constraints, AcceptanceCriteria, Verify *[]string
	Commands                                            *CommandRules
}

// PlanEdit works out how to make an intent say what an edit says of it. An empty text or list stays in the file as `""` or
// `[]`; keys that are missing come where they belong by their order. Where the intent is no longer the one that the edit was
// made from, the error is ErrChanged. An intent that has a scope cannot lose it: that would open every path, for which `**` is
// to be written.
func (s *Store) PlanEdit(id string, e Edit) (*Plan, error) {
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s.plan(func(doc *document) (candidates, error) {
		i, err := doc.editable(id)
		if err != nil {
			return candidates{}, err
		}
		was := doc.intents[i]
		if was.Version() != e.Version {
			return candidates{}, fmt.Errorf("%s: %w", id, ErrChanged)
		}
		want := e.Applied(*was)
		if len(want.OwnedScope) == 0 && !was.scope.Unrestricted() {
			return candidates{}, fmt.Errorf(`%w: without owned_scope %s may change any path: write "**" if that is meant`, ErrInvalid, id)
		}
		return doc.fieldsEdit(i, want)
	})
}

// Applied is an intent as the edit makes it, but for what is compiled of it.
func (e Edit) Applied(in Intent) Intent {
	set(&in.Name, e.Name)
	set(&in.Description, e.Description)
	set(&in.Agent, e.Agent)
	set(&in.OwnedScope, e.OwnedScope)
	set(&in.Constraints, e.Constraints)
	set(&in.AcceptanceCriteria, e.AcceptanceCriteria)
	set(&in.Verify, e.Verify)
	set(&in.Commands, e.Commands)
	return in
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// check refuses what could not be read back, and control characters, which no person types.
func (e Edit) check() error {
	after := e.Applied(Intent{})
	c := after.Commands
	for _, field := range []struct {
		name  string
		texts []string
	}{
		{"name", []string{after.Name}}, {"description", []string{after.Description}}, {"agent", []string{after.Agent}}, {"owned_scope", after.OwnedScope},
		{"constraints", after.Constraints}, {"acceptance_criteria", after.AcceptanceCriteria}, {"verify", after.Verify},
		{"commands", slices.Concat(c.Allow, c.Ask, c.Deny)},
	} {
		if slices.ContainsFunc(field.texts, unclean) {
			return fmt.Errorf("%s must be valid UTF-8 without control characters", field.name)
		}
	}
	for _, prefix := range slices.Concat(c.Allow, c.Ask, c.Deny) {
		if _, err := policy.Parse(prefix); err != nil {
			return fmt.Errorf("commands: %w", err)
		}
	}
	if n := c.Network; n != "" && n != "allow" && n != "deny" {
		return fmt.Errorf("network must be allow or deny, not %q", n)
	}
	_, err := CompileScope(after.OwnedScope)
	return err
}

func unclean(text string) bool {
	return !utf8.ValidString(text) || slices.ContainsFunc([]rune(text), func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' })
}

// fieldsEdit gives the fields of an intent in which want differs from it the texts of want.
func (d *document) fieldsEdit(i int, want Intent) (candidates, error) {
	was, c := d.intents[i], candidates{want: want}
	differs := func(list *[]string, name string, is bool) {
		if is {
			*list = append(*list, name)
		}
	}
	sub := &c.commandKeys
	differs(sub, "allow", !slices.Equal(was.Commands.Allow, want.Commands.Allow))
	differs(sub, "ask", !slices.Equal(was.Commands.Ask, want.Commands.Ask))
	differs(sub, "deny", !slices.Equal(was.Commands.Deny, want.Commands.Deny))
	differs(sub, "network", was.Commands.Network != want.Commands.Network)
	keys := &c.keys
	differs(keys, "name", was.Name != want.Name)
	differs(keys, "description", was.Description != want.Description)
	differs(keys, "owned_scope", !slices.Equal(was.OwnedScope, want.OwnedScope))
	differs(keys, "constraints", !slices.Equal(was.Constraints, want.Constraints))
	differs(keys, "acceptance_criteria", !slices.Equal(was.AcceptanceCriteria, want.AcceptanceCriteria))
	differs(keys, "agent", was.Agent != want.Agent)
	differs(keys, "commands", len(*sub) > 0)
	differs(keys, "verify", !slices.Equal(was.Verify, want.Verify))
	if len(c.keys) == 0 {
		return candidates{}, nil
	}
	var first error
	for _, w := range []rewrite{{}, {quoted: true}, {behindFirst: true}, {quoted: true, behindFirst: true}} {
		w.document = d
		text, err := w.rewritten(d.nodes[i], c)
		if err == nil {
			c.forms = append(c.forms, text)
		} else if first == nil {
			first = err
		}
	}
	if len(c.forms) == 0 {
		return candidates{}, first
	}
	return c, nil
}

// rewrite makes the splices of an edit of one intent.
type rewrite struct {
	*document
	quoted      bool // new texts stand in double quotes, whatever stood there
	behindFirst bool // new keys stand behind the first key that has an order, not the last before them
	splices     []splice
	err         error
}

func (w *rewrite) rewritten(mapping *yaml.Node, c candidates) ([]byte, error) {
	rendered := w.render(&c.want)
	for _, name := range c.keys {
		_, value := rawField(rendered, name, intentKeys)
		key, old := rawField(mapping, name, intentKeys)
		if name != "commands" || key == nil || old.Kind != yaml.MappingNode || len(old.Content) == 0 {
			w.field(mapping, intentKeys, name, value)
			continue
		}
		for _, sub := range c.commandKeys {
			_, subvalue := rawField(orEmptyMapping(value), sub, commandKeys)
			w.field(old, commandKeys, sub, subvalue)
		}
	}
	return w.source.apply(w.splices...), w.err
}

func orEmptyMapping(n *yaml.Node) *yaml.Node {
	if n == nil {
		return mapNode()
	}
	return n
}
