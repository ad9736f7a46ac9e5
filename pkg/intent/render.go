package intent

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// render makes the node of a new intent in the file's key style and vocabulary. Empty values are left out.
func (d *document) render(in *Intent) *yaml.Node {
	m, commands, rules := mapNode(), mapNode(), &yaml.Node{Kind: yaml.SequenceNode}
	add := func(to *yaml.Node, key string, value *yaml.Node, there bool) {
		if there {
			to.Content = append(to.Content, plainNode(d.key(key)), value)
		}
	}
	text := func(to *yaml.Node, key, value string) { add(to, key, textNode(value), value != "") }
	list := func(to *yaml.Node, key string, values []string) { add(to, key, listNode(values), len(values) > 0) }
	text(m, "id", in.ID)
	text(m, "name", in.Name)
	text(m, "status", d.vocabulary(-1).word(in.Status))
	text(m, "description", in.Description)
	list(m, "owned_scope", in.OwnedScope)
	list(m, "constraints", in.Constraints)
	list(m, "acceptance_criteria", in.AcceptanceCriteria)
	text(m, "agent", in.Agent)
	add(m, "started_at", plainNode(in.StartedAt.Format(time.RFC3339)), !in.StartedAt.IsZero())
	list(commands, "allow", in.Commands.Allow)
	list(commands, "ask", in.Commands.Ask)
	list(commands, "deny", in.Commands.Deny)
	text(commands, "network", in.Commands.Network)
	add(m, "commands", commands, len(commands.Content) > 0)
	for _, r := range in.Rules {
		n := mapNode()
		text(n, "name", r.Name)
		text(n, "when", r.When)
		text(n, "action", string(r.Action))
		text(n, "message", r.Message)
		rules.Content = append(rules.Content, n)
	}
	add(m, "rules", rules, len(rules.Content) > 0)
	list(m, "verify", in.Verify)
	return m
}

func mapNode() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func plainNode(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// textNode writes several lines in the literal form where that is plain to read, a simple word as it is where the
// encoder finds that safe, and everything else in double quotes.
func textNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	switch {
	case severalLines(value) && literalText().MatchString(value):
		n.Style = yaml.LiteralStyle
	case !simpleText().MatchString(value):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

var (
	// No line of a literal text begins or ends with white space, none is empty at the ends.
	literalText = lazy.Regexp(`^[\p{L}\p{N}\p{P}\p{S}]+( +[\p{L}\p{N}\p{P}\p{S}]+)*` +
		`(\n+ *[\p{L}\p{N}\p{P}\p{S}]+( +[\p{L}\p{N}\p{P}\p{S}]+)*)*\n?\z`)
	simpleText = lazy.Regexp(`^[\p{L}\p{N}][\p{L}\p{N}\p{P} ]*\z`)
)

func severalLines(text string) bool { return strings.Contains(strings.TrimSuffix(text, "\n"), "\n") }

// listNode makes a `["a", "b"]` list.
func listNode(values []string) *yaml.Node {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range values {
		seq.Content = append(seq.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v,
			Style: yaml.DoubleQuotedStyle})
	}
	return seq
}

// blockText writes a list or a mapping at an indentation, without a line break at its end.
func blockText(n *yaml.Node, indent int, eol string) (string, error) {
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return "", fmt.Errorf("encode intent: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", indent) + line
		}
	}
	return strings.Join(lines, eol), nil
}

// quote writes text in double quotes, on one line.
func quote(text string) string {
	encoded, _ := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}) // a text always encodes
	return strings.TrimSuffix(string(encoded), "\n")
}
