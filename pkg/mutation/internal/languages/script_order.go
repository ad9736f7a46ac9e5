package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

func scriptHolds(s *side, n int) bool {
	k := s.kind(n)
	return k == "program" || k == "class_body" || k == "interface_body"
}

// scriptLeads are decorators, and the signatures of an overloaded function.
func scriptLeads(s *side, n int) bool {
	switch s.kind(n) {
	case "decorator", "function_signature":
		return true
	case "method_signature":
		return s.parentKind(n) == "class_body"
	}
	return false
}

func scriptOrder(s *side, n int, leads []int) ordering {
	switch s.parentKind(n) {
	case "class_body":
		return scriptMember(s, n, leads)
	case "interface_body":
		if k := s.kind(n); k == "property_signature" || k == "method_signature" {
			if name := s.child(n, "name"); name >= 0 && s.kind(name) != "computed_property_name" {
				return s.declares(tree.Free, name, "")
			}
		}
		return fenced()
	}
	return scriptTop(s, n)
}

func scriptTop(s *side, n int) ordering {
	switch s.kind(n) {
	case "function_declaration", "generator_function_declaration", "interface_declaration", "type_alias_declaration":
		return s.declares(tree.Free, s.child(n, "name"), "")
	case "class_declaration", "abstract_class_declaration":
		return scriptClass(s, n)
	case "lexical_declaration", "variable_declaration":
		return scriptVariables(s, n)
	case "enum_declaration":
		return scriptEnum(s, n)
	case "export_statement":
		return scriptExport(s, n)
	case "import_statement", "ambient_declaration", "if_statement", "for_statement", "for_in_statement", "try_statement", "statement_block":
		return effect()
	case "expression_statement":
		if s.kind(n+1) == "string" {
			return fenced() // a directive, or it would be one elsewhere
		}
		return effect()
	}
	return fenced()
}

func scriptExport(s *side, n int) ordering {
	if s.has(n, "decorator") {
		return effect()
	}
	if declaration := s.child(n, "declaration"); declaration >= 0 {
		o := scriptTop(s, declaration)
		if s.has(n, "default") {
			o.defines = union(o.defines, setOf("default"))
		}
		return o
	}
	if s.has(n, "export_clause") && s.child(n, "source") < 0 {
		return ordering{order: tree.Free, leaf: -1}
	}
	return effect()
}

// scriptVariables only declare if their values are there without a call.
func scriptVariables(s *side, n int) ordering {
	o := ordering{order: tree.Still, leaf: -1, defines: set{}, reads: set{}}
	for c := range s.tree.Children(n) {
		if s.kind(c) != "variable_declarator" {
			continue
		}
		name, value := s.child(c, "name"), s.child(c, "value")
		if s.kind(name) != "identifier" || value >= 0 && !scriptQuiet(s, value, o.reads) {
			return effect()
		}
		o.leaf = name
		o.defines[s.tree.Source(name)] = true
	}
	return o
}

func scriptEnum(s *side, n int) ordering {
	for c := range s.tree.Children(s.child(n, "body")) {
		if s.kind(c) == "enum_assignment" && !scriptQuiet(s, s.child(c, "value"), set{}) {
			return effect()
		}
	}
	o := s.declares(tree.Still, s.child(n, "name"), "")
	o.reads = s.mentioned(s.child(n, "body"))
	return o
}

// scriptClass only declares if nothing in it runs when it is declared.
func scriptClass(s *side, n int) ordering {
	o := s.declares(tree.Still, s.child(n, "name"), "")
	o.reads = set{}
	if !scriptClassQuiet(s, n, o.reads) {
		return effect()
	}
	return o
}

func scriptClassQuiet(s *side, n int, reads set) bool {
	body := s.child(n, "body")
	if s.contains(n, setOf("decorator")) || body < 0 {
		return false
	}
	inherits := false
	if heritage := s.first(n, "class_heritage"); heritage >= 0 {
		base := heritage
		if extends := s.first(heritage, "extends_clause"); extends >= 0 {
			base = s.child(extends, "value")
		} else if s.has(heritage, "extends") {
			base = s.first(heritage, "identifier")
		} else {
			base = -2 // only types
		}
		if base != -2 && s.kind(base) != "identifier" {
			return false
		}
		if base >= 0 {
			reads[s.tree.Source(base)] = true
			inherits = true
		}
	}
	for c := range s.tree.Children(body) {
		name := s.child(c, "name")
		if name < 0 {
			name = s.child(c, "property")
		}
		switch {
		case s.kind(c) == "class_static_block", s.kind(name) == "computed_property_name":
			return false
		case s.has(c, "static") && s.child(c, "value") >= 0 && (inherits || !scriptQuiet(s, s.child(c, "value"), reads)):
			return false // the base could have a setter of that name
		}
	}
	return true
}

// scriptQuiet tells whether a value is there without anything else being run,
// and notes the names that it reads.
func scriptQuiet(s *side, n int, reads set) bool {
	switch kind := s.kind(n); kind {
	case "string", "number", "regex", "true", "false", "null", "undefined", "function_expression", "arrow_function", "generator_function":
		return true
	case "identifier", "shorthand_property_identifier":
		reads[s.tree.Source(n)] = true
		return true
	case "class":
		return scriptClassQuiet(s, n, reads)
	case "template_string":
		return !s.contains(n, setOf("template_substitution"))
	case "unary_expression":
		return s.kind(s.child(n, "argument")) == "number"
	case "binary_expression":
		return s.kind(s.child(n, "left")) == "number" && s.kind(s.child(n, "right")) == "number"
	case "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression":
		return scriptQuiet(s, n+firstPart(s, n), reads)
	case "array", "object":
		for c := range s.tree.Children(n) {
			if s.named(c) && !s.language.comments[s.kind(c)] && !scriptElementQuiet(s, c, reads) {
				return false
			}
		}
		return true
	}
	return false
}

// firstPart is how far the first named part of a node is from it.
func firstPart(s *side, n int) int {
	for c := range s.tree.Children(n) {
		if s.named(c) && !s.language.comments[s.kind(c)] {
			return c - n
		}
	}
	return 1
}

func scriptElementQuiet(s *side, n int, reads set) bool {
	switch s.kind(n) {
	case "pair":
		return s.kind(s.child(n, "key")) != "computed_property_name" && scriptQuiet(s, s.child(n, "value"), reads)
	case "method_definition":
		return s.kind(s.child(n, "name")) != "computed_property_name"
	}
	return scriptQuiet(s, n, reads)
}

// scriptMember: methods are there before any field or static block, fields
// keep their order.
func scriptMember(s *side, n int, leads []int) ordering {
	name := s.child(n, "name")
	if name < 0 {
		name = s.child(n, "property")
	}
	prefix := ""
	if s.has(n, "static") {
		prefix = "static "
	}
	if s.kind(name) == "computed_property_name" {
		return fenced() // it could be any name
	}
	switch s.kind(n) {
	case "method_definition", "abstract_method_signature":
		for _, lead := range leads {
			if s.kind(lead) == "decorator" {
				return effect()
			}
		}
		if s.contains(n, setOf("decorator")) || name < 0 {
			return effect()
		}
		return s.declares(tree.Free, name, prefix)
	case "public_field_definition", "field_definition":
		o := effect()
		o.leaf = name
		if name >= 0 {
			o.defines = setOf(prefix + s.tree.Source(name))
		}
		return o
	case "class_static_block":
		return effect()
	}
	return fenced()
}
