package languages

import "strings"

// rustOwn are the items: what stands in one does not see the locals around it.
var rustOwn = setOf("function_item", "function_signature_item", "const_item", "static_item", "struct_item", "enum_item", "union_item", "type_item")

// rustScopes puts right what the nesting of the nodes does not say about where
// a name is seen.
func rustScopes(s *side) {
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "else_clause":
			// What a condition binds is not seen where it failed.
			if condition := s.scopes[s.parent(n)]; s.scopes[n] != nil && condition != nil {
				s.scopes[n].parent = condition.parent
			}
		case "declaration_list":
			if s.scopes[n] != nil {
				s.scopes[n].parent = s.scopes[0]
			}
		}
		if rustOwn[s.kind(n)] && s.scopes[n] != nil && (s.scopes[n].parent == nil || s.kind(s.scopes[n].parent.node) != "declaration_list") {
			s.scopes[n].parent = s.scopes[0]
		}
	}
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "use_declaration", "const_item", "static_item", "struct_item", "function_item", "foreign_mod_item", "extern_crate_declaration":
			if s.parentKind(n) == "block" {
				rustHides(s, n)
			}
		case "attribute_item", "inner_attribute_item":
			rustConditional(s, n)
		}
	}
}

// rustHides pins the locals that an item of a block inside of their scope may
// hide: it is seen in all of its block.
func rustHides(s *side, item int) {
	block := s.tree.Nodes[s.parent(item)]
	names := setOf(words(s.tree.Source(item))...)
	switch name := s.child(item, "name"); {
	case name >= 0:
		names = setOf(s.tree.Source(name))
	case s.kind(item) == "use_declaration" && !s.contains(item, setOf("self")):
		for n := item; n < int(s.tree.Nodes[item].Next); n++ {
			if s.field(n) == "path" {
				delete(names, s.tree.Source(n))
			}
		}
	}
	for _, o := range s.declared {
		home := s.tree.Nodes[o.in.node]
		if o.in.parent == nil || home.Start > block.Start || home.End < block.End || o.in.node == s.parent(item) {
			continue
		}
		if names[o.Name] || s.contains(item, setOf("use_wildcard")) {
			o.pin("a declaration in the function may hide it")
		}
	}
}

// rustConditional marks what is declared under a condition of the build.
func rustConditional(s *side, attribute int) {
	if !strings.HasPrefix(strings.TrimLeft(s.tree.Source(attribute), "#![ \t\r\n"), "cfg") {
		return
	}
	under := s.parent(attribute)
	if s.kind(attribute) == "attribute_item" {
		_, under = s.siblings(attribute)
		for under >= 0 && s.kind(under) == "attribute_item" {
			_, under = s.siblings(under)
		}
	}
	if under <= 0 {
		return
	}
	for _, o := range s.declared {
		if o.leaf >= under && o.leaf < int(s.tree.Nodes[under].Next) && o.region.node < under {
			o.conditional = true
		}
	}
}
