package languages

import (
	"regexp"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

var kotlinName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// kotlinShort is the name at the start of a part of a text that a $ makes a
// reference, or "". In $$"text" it takes more than one $.
func (s *side) kotlinShort(n int) string {
	if n == 0 || s.kind(n-1) != "string_content" || s.tree.Source(n-1) != "$" || s.tree.Nodes[n-1].End != s.tree.Nodes[n].Start {
		return ""
	}
	literal := s.tree.Nodes[s.parent(n)].Start
	text := s.tree.Source(n)
	name := kotlinName.FindString(text)
	rest := text[len(name):]
	if s.tree.Text[literal] != '"' || literal > 0 && s.tree.Text[literal-1] == '$' || name == "this" || rest != "" && rest[0] > 127 {
		return ""
	}
	return name
}

// kotlinRewrite builds $name in a text as the name and what follows it.
func kotlinRewrite(b *builder, n int, field string) *tree.Node {
	if b.kind(n) != "string_content" {
		return nil
	}
	name := b.kotlinShort(n)
	if name == "" {
		return nil
	}
	at, line := b.tree.Nodes[n].Start, b.line(n)
	reference := &tree.Node{Kind: "name in a text", Line: line}
	o := b.shorts[n]
	if o == nil {
		o = b.lookup(b.scope, name, at)
	}
	if o != nil {
		b.resolved = append(b.resolved, resolvedLeaf{o, at, false})
		reference.Object = o.Object
	} else {
		b.free = append(b.free, freeText{name, at, b.scope.region(), false})
		reference.Text = name
	}
	rest := strings.TrimPrefix(b.literal(n), name)
	b.opaque = append(b.opaque, freeText{rest, at, b.scope.region(), false})
	return &tree.Node{Kind: label("string_content", field), Line: line, Literal: true, Kids: []*tree.Node{
		reference, {Kind: "string content", Text: rest, Line: line, Literal: true},
	}}
}
