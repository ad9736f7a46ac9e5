package intent

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field gives a key of a mapping another value, nil being an empty one, in the form that it has.
func (w *rewrite) field(mapping *yaml.Node, known []string, name string, value *yaml.Node) {
	key, old := rawField(mapping, name, known)
	if value == nil {
		value = emptyValue(name)
	}
	var err error
	switch {
	case key == nil:
		err = w.add(mapping, known, name, value)
	case old.Kind == yaml.SequenceNode && value.Kind == yaml.SequenceNode:
		err = w.list(key, old, value)
	default:
		err = w.replace(mapping, key, old, value)
	}
	if w.err == nil {
		w.err = err
	}
}

func emptyValue(name string) *yaml.Node {
	switch name {
	case "name", "description", "agent", "network":
		return textNode("")
	case "commands":
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	}
	return listNode(nil)
}

// replace puts a value in the place of a whole other one.
func (w *rewrite) replace(mapping, key, old, value *yaml.Node) error {
	w.style(value, old)
	if value.Kind == yaml.MappingNode {
		value.Style = yaml.FlowStyle
	}
	text, err := w.fieldText(mapping, plainNode("k"), value, key.Column-1)
	if err != nil {
		return err
	}
	text = text[strings.Index(text, ":")+1:] // of k, or of "k"
	at, ok := w.source.nodeSpan(old)
	switch {
	case ok:
		text = strings.TrimPrefix(text, " ")
	case isNull(old):
		at.end, ok = w.source.fieldEnd(key, old)
		at.start = at.end
	}
	if !ok || old.Kind == yaml.MappingNode && strings.Contains(string(w.source.data[at.start:at.end]), "#") { // one without keys
		return layoutError(old, key.Value)
	}
	head, body := text, ""
	if first := strings.Index(text, w.source.eol); first >= 0 {
		head, body = text[:first], text[first:]
	}
	if isBlockScalar(old) {
		header := w.source.blockHeader(at.start)
		from := w.source.lineEnd(header)
		w.splices = append(w.splices, splice{at.start, header, head}, splice{from, max(from, at.end), body})
		return nil
	}
	w.splices = append(w.splices, splice{at.start, at.end, head})
	if body != "" {
		behind := w.source.lineEnd(at.end)
		w.splices = append(w.splices, splice{behind, behind, body})
	}
	return nil
}

func isBlockScalar(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// style gives a new text the form of the old one, where it can have that.
func (w *rewrite) style(value, old *yaml.Node) {
	const quotes = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
	switch {
	case value.Kind != yaml.ScalarNode:
	case w.quoted:
		value.Style = yaml.DoubleQuotedStyle
	case isBlockScalar(old) && literalText().MatchString(value.Value):
		value.Style = yaml.LiteralStyle
		if !severalLines(value.Value) {
			value.Style = old.Style &^ yaml.TaggedStyle
		}
	case old.Style&quotes != 0 && !strings.Contains(value.Value, "\n"):
		value.Style = old.Style & quotes
	}
}

// fieldText writes a key and its value as the mapping would have them, without white space before, or a line break behind.
func (w *rewrite) fieldText(mapping, key, value *yaml.Node, indent int) (string, error) {
	m := &yaml.Node{Kind: yaml.MappingNode, Style: mapping.Style & yaml.FlowStyle, Content: []*yaml.Node{key, value}}
	if m.Style != 0 && mapping.Content[0].Style&yaml.DoubleQuotedStyle != 0 {
		quoteAll(m)
	}
	text, err := blockText(m, indent, w.source.eol)
	if text = strings.TrimLeft(text, " "); m.Style != 0 {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	}
	return text, err
}

// quoteAll writes a mapping as JSON has it.
func quoteAll(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteAll(child)
	}
}

// add writes a key that is missing behind the nearest of those that come before it.
func (w *rewrite) add(mapping *yaml.Node, known []string, name string, value *yaml.Node) error {
	if w.quoted && value.Kind == yaml.ScalarNode {
		value.Style = yaml.DoubleQuotedStyle
	}
	key, old := w.neighbour(mapping, known, name)
	end := 0
	if at, ok := w.source.nodeSpan(old); ok {
		end = at.end
	} else if end, ok = w.source.fieldEnd(key, old); !ok {
		return layoutError(key, key.Value)
	}
	text, err := w.fieldText(mapping, plainNode(w.key(name)), value, key.Column-1)
	if err != nil {
		return err
	}
	if mapping.Style&yaml.FlowStyle != 0 {
		w.splices = append(w.splices, splice{end, end, ", " + text})
		return nil
	}
	at := w.source.lineEnd(end)
	w.splices = append(w.splices, splice{at, at, w.source.eol + strings.Repeat(" ", key.Column-1) + text})
	return nil
}

// neighbour is the field behind which a new one comes: the last of those before it in the order of keys, else the first that
// is there.
func (w *rewrite) neighbour(mapping *yaml.Node, known []string, name string) (key, value *yaml.Node) {
	key, value = mapping.Content[0], mapping.Content[1]
	for _, before := range known[:slices.Index(known, name)] {
		if k, v := rawField(mapping, before, known); k != nil {
			if key, value = k, v; w.behindFirst {
				break
			}
		}
	}
	return key, value
}
