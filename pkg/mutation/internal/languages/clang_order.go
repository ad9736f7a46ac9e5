package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// clangHolds: a name is seen from its declaration on, so that a declaration
// must not pass what mentions it.
func clangHolds(l *language) {
	l.holds = func(s *side, n int) bool {
		namespace := s.kind(n) == "declaration_list" && s.parentKind(n) == "namespace_definition"
		return (namespace || s.kind(n) == "translation_unit") && !strings.Contains(string(s.tree.Text), "__COUNTER__")
	}
	l.trails = func(s *side, n int) bool { return !s.named(n) && s.kind(n) == ";" }
	l.order = func(s *side, n int, _ []int) ordering {
		o := ordering{order: tree.Free, leaf: -1, defines: set{}, reads: s.mentioned(n)}
		switch s.kind(n) {
		case "function_definition":
			declarator := s.child(n, "declarator")
			o.leaf = s.declarator(declarator)
			if o.leaf >= 0 && (s.child(n, "type") < 0 || !s.contains(declarator, setOf("function_declarator"))) {
				return fenced() // TEST(a, b) { … }: a macro, which can add to a list of others
			}
		case "declaration":
			if !clangPrototype(s, n) && s.language.grammar == treesitter.CPlusPlus {
				return fenced() // its value may be made when the program starts
			}
		case "struct_specifier", "union_specifier", "enum_specifier", "type_definition":
			if s.language.grammar == treesitter.CPlusPlus {
				return fenced() // whether a type is known can decide which function is meant
			}
		default:
			return fenced()
		}
		if clangIsPlaced(s, n) || s.hasText(n, "type_qualifier", "constexpr") || !clangDefines(s, n, &o) || meet(o.defines, clangFound) {
			return fenced()
		}
		return o
	}
}

// clangPlaced are parts that can say where something goes, and texts that could
// be macros.
var clangPlaced = setOf("attribute_specifier", "attribute_declaration", "ms_declspec_modifier", "gnu_asm_expression", "preproc_def", "preproc_if", "preproc_ifdef",
	"preproc_call", "preproc_include", "preproc_function_def", "macro_type_specifier", "preproc_directive", "alignas_qualifier", "placeholder_type_specifier")

// clangLocal are those of them that say nothing of other declarations where they
// stand in the body of a function.
var clangLocal = setOf("placeholder_type_specifier", "preproc_if", "preproc_ifdef", "attribute_specifier", "attribute_declaration", "alignas_qualifier")

// clangFound are functions that are called without being mentioned.
var clangFound = setOf("begin", "end", "get")

// clangIsPlaced tells whether a declaration could have meaning by where it
// stands.
func clangIsPlaced(s *side, n int) bool {
	body := -1
	if s.kind(n) == "function_definition" {
		body = s.child(n, "body")
	}
	for i := n; i < int(s.tree.Nodes[n].Next); i++ {
		inBody := body >= 0 && i > body && i < int(s.tree.Nodes[body].Next)
		if kind := s.kind(i); clangPlaced[kind] && !(inBody && clangLocal[kind]) {
			return true
		}
	}
	return false
}

// clangDefines notes what an item of the file declares.
func clangDefines(s *side, n int, o *ordering) bool {
	body := s.child(n, "body")
	for i := n; i < int(s.tree.Nodes[n].Next); i++ {
		if s.kind(n) == "function_definition" && i == body {
			break
		}
		switch s.place(i) {
		case "struct_specifier.name", "union_specifier.name", "enum_specifier.name", "class_specifier.name":
			// struct s *p among parameters declares nothing for others.
			if s.child(s.parent(i), "body") >= 0 || s.above(i, setOf("parameter_declaration")) < n {
				o.defines[s.tree.Source(i)] = true
			}
		case "enumerator.name":
			o.defines[s.tree.Source(i)] = true
		}
	}
	found := s.kind(n) != "declaration" && s.kind(n) != "function_definition"
	for c := range s.tree.Children(n) {
		if s.field(c) != "declarator" {
			continue
		}
		leaf := s.declarator(c)
		if s.kind(n) == "function_definition" && s.isMember(c) {
			// Its class has declared it.
			o.defines["definition of "+s.tree.Source(c)] = true
			return true
		}
		if leaf < 0 {
			return false
		}
		found = true
		name := s.tree.Source(leaf)
		if s.kind(n) == "function_definition" && s.language.grammar == treesitter.C && s.promised(n, name) {
			name = "definition of " + name
		}
		o.defines[name] = true
		if s.language.grammar != treesitter.C {
			if s.inMacros == nil {
				s.inMacros = s.macroWords()
			}
			if s.inMacros[name] {
				return false
			}
		}
	}
	return found
}

// declarator is the name in a declarator, or -1.
func (s *side) declarator(n int) int {
	for n >= 0 {
		switch s.kind(n) {
		case "identifier", "type_identifier":
			return n
		case "pointer_declarator", "array_declarator", "init_declarator", "function_declarator":
			n = s.child(n, "declarator")
		case "parenthesized_declarator":
			n += firstPart(s, n)
		default:
			return -1
		}
	}
	return -1
}

// clangPrototype tells whether a declaration is one of functions only.
func clangPrototype(s *side, n int) bool {
	for c := range s.tree.Children(n) {
		if s.field(c) != "declarator" {
			continue
		}
		for s.kind(c) == "pointer_declarator" {
			c = s.child(c, "declarator")
		}
		if s.kind(c) != "function_declarator" {
			return false
		}
	}
	return true
}

// promised tells whether a function of the file is declared before the first
// of its definitions, and before everything else that mentions it.
func (s *side) promised(definition int, name string) bool {
	if s.promises == nil {
		s.promises = map[string]int{}
		met := set{}
		for c := range s.tree.Children(0) {
			if !s.named(c) {
				continue
			}
			if s.kind(c) == "declaration" && clangPrototype(s, c) {
				for d := range s.tree.Children(c) {
					if leaf := s.declarator(d); s.field(d) == "declarator" && leaf >= 0 && !met[s.tree.Source(leaf)] {
						s.promises[s.tree.Source(leaf)] = c
					}
				}
			}
			for word := range s.mentioned(c) {
				met[word] = true
			}
		}
	}
	at, known := s.promises[name]
	return known && at < definition
}

// isMember tells whether a declarator is that of a function of a class: its
// name says so.
func (s *side) isMember(n int) bool {
	for s.kind(n) == "pointer_declarator" || s.kind(n) == "reference_declarator" || s.kind(n) == "function_declarator" {
		next := s.child(n, "declarator")
		if next < 0 {
			next = n + firstPart(s, n)
		}
		n = next
	}
	return s.kind(n) == "qualified_identifier" && !s.contains(n, setOf("template_type", "template_function", "operator_name"))
}
