package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// tokenTree builds what is given to a macro: whether signs stand together has
// meaning there.
func (b *builder) tokenTree(n int, field string) *tree.Node {
	made := &tree.Node{Kind: label("token_tree", field), Line: b.line(n), Literal: true}
	at, signs, apart := b.tree.Nodes[n].Start, false, false
	for c := range b.tree.Children(n) {
		start := b.tree.Nodes[c].Start
		b.gap(made, n, at, start)
		apart = apart || start > at
		at = b.tree.Nodes[c].End
		if b.spareComma(n, c) {
			continue
		}
		part := b.node(c, b.field(c))
		if part == nil {
			apart = true
			continue
		}
		sign := !b.named(c) && !strings.Contains("()[]{}", b.kind(c))
		if signs && sign && apart {
			made.Kids = append(made.Kids, &tree.Node{Kind: "space", Line: b.line(c)})
		}
		made.Kids = append(made.Kids, part)
		signs, apart = sign, false
	}
	return made
}

// rustSettings are attributes of the compiler that read lists.
var rustSettings = setOf("cfg", "allow", "warn", "deny", "expect", "derive")

// spareComma tells whether a comma at the end of what a macro of the standard
// library is given, or of a call or an array in it, has no meaning.
func (s *side) spareComma(n, c int) bool {
	if s.kind(c) != "," {
		return false
	}
	before, after := s.siblings(c)
	if last := s.kind(after); s.parts(n) < 1 || s.named(after) || last != ")" && last != "]" && last != "}" || !s.named(before) && s.kind(before) == "," {
		return false
	}
	outer := n
	for s.parentKind(outer) == "token_tree" {
		outer = s.parent(outer)
	}
	switch m := s.parent(outer); {
	case s.kind(m) == "attribute":
		return rustSettings[s.tree.Source(m+firstPart(s, m))]
	case s.kind(m) != "macro_invocation" || !s.standardMacro(s.tree.Source(s.child(m, "macro"))):
		return false
	case outer == n:
		return true
	}
	head, _ := s.siblings(n)
	switch s.tree.Source(n)[0] {
	case '(':
		return s.kind(head) == "identifier" && !s.language.reserved[s.tree.Source(head)]
	case '[':
		return s.kind(head) != "!" && s.kind(head) != "#"
	}
	return false
}

// standardMacro tells whether a macro is one of those that read expressions, and
// nothing in the file gives its name to another one.
func (s *side) standardMacro(name string) bool {
	if s.defined == nil {
		s.defined = set{}
		for n := range s.tree.Nodes {
			if k := s.kind(n); k == "use_declaration" || k == "macro_definition" {
				for _, word := range words(s.tree.Source(n)) {
					s.defined[word] = true
				}
			}
		}
	}
	return rustPlain[name] && !s.defined[name]
}
