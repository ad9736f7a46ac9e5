package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// clangConditions are parts of a program that the preprocessor may leave out.
var clangConditions = setOf("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else")

// clangScopes finds out of which locals it is not certain where they are seen.
func (s *side) clangScopes() {
	torn := false
	for n := range s.tree.Nodes {
		if k := s.kind(n); k == "preproc_def" || k == "preproc_function_def" {
			text := s.tree.Source(n)
			torn = torn || strings.Count(text, "{") != strings.Count(text, "}")
		}
	}
	for _, o := range s.declared {
		o.conditional = o.conditional || torn
		for n := s.parent(o.leaf); n > o.region.node; n = s.parent(n) {
			o.conditional = o.conditional || clangConditions[s.kind(n)]
		}
	}
	for n := range s.tree.Nodes {
		if names := s.clangOthers(n); names != nil {
			s.clangHides(n, names)
		}
	}
}

// clangOthers are the names that a node declares as something else than a
// variable: a type, an enumerator, a function that stands elsewhere.
func (s *side) clangOthers(n int) set {
	switch s.place(n) {
	case "enumerator.name", "type_definition.declarator", "alias_declaration.name", "namespace_alias_definition.name":
		return setOf(s.tree.Source(n))
	case "struct_specifier.name", "union_specifier.name", "enum_specifier.name", "class_specifier.name":
		if s.language.grammar == treesitter.CPlusPlus && s.child(s.parent(n), "body") >= 0 {
			return setOf(s.tree.Source(n))
		}
	case "function_declarator.declarator":
		if s.declared[n] == nil && s.kind(n) == "identifier" {
			return setOf(s.tree.Source(n))
		}
	}
	if s.kind(n) == "using_declaration" {
		return setOf(words(s.tree.Source(n))...)
	}
	return nil
}

// clangHides pins the locals of the function around a declaration that have one
// of its names.
func (s *side) clangHides(n int, names set) {
	region := s.scopeAt(n).region()
	if region.kind != function || s.place(n) == "function_declarator.declarator" && n < s.child(region.node, "body") {
		return
	}
	for outer := region.parent; outer != nil; outer = outer.parent {
		if outer.kind == function {
			region = outer
		}
	}
	for _, o := range s.declared {
		if o.region.kind == function && s.within(region, s.tree.Nodes[o.leaf].Start) && (names[o.Name] || names["enum"] && names["using"]) {
			o.pin("a declaration in the function has that name, too")
		}
	}
}
