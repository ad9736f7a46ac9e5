package languages

// scriptFixed leaves name no variable.
func scriptFixed(s *side, n int) bool {
	switch parent := s.parentKind(n); parent {
	case "import_specifier":
		return s.field(n) == "name" && s.child(s.parent(n), "alias") >= 0
	case "export_specifier":
		exported := s.above(n, setOf("export_statement"))
		return s.field(n) == "alias" || s.child(exported, "source") >= 0
	case "namespace_export", "jsx_namespace_name", "jsx_attribute", "meta_property":
		return true
	case "nested_type_identifier":
		return s.field(n) == "name"
	case "nested_identifier":
		return s.field(n) == "property"
	case "jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element":
		first := s.tree.Source(n)[0]
		return first >= 'a' && first <= 'z'
	}
	return false
}

var scriptFunctions = setOf("function_declaration", "generator_function_declaration", "function_signature")

// scriptDeclare declares what a node declares in the scopes around it.
func scriptDeclare(s *side, n int, in *scope) {
	switch kind := s.kind(n); kind {
	case "identifier", "type_identifier":
		scriptDeclareName(s, n, in)
	case "variable_declarator":
		if name := s.child(n, "name"); s.parentKind(n) == "variable_declaration" {
			s.pattern(name, in.around(function, module), "variable", scriptPattern)
		} else {
			s.pattern(name, in, "variable", scriptPattern)
		}
	case "private_property_identifier":
		if p := s.parentKind(n); (p == "public_field_definition" || p == "field_definition" || p == "method_definition") && s.child(s.parent(n), "value") != n {
			s.add(s.classBody(in), n, "private member")
		}
	case "property_identifier":
		if place := s.place(n); place == "enum_body.name" || place == "enum_assignment.name" {
			s.addNamed(in, n, s.tree.Source(n), "enum member", 0).pin("it is a member")
		}
	case "with_statement":
		s.unsafe("a with statement")
	default:
		scriptDeclareIn(s, n, in)
	}
}

// classBody is the scope of the members around.
func (s *side) classBody(in *scope) *scope {
	for sc := in; sc != nil; sc = sc.parent {
		if s.kind(sc.node) == "class_body" {
			return sc
		}
	}
	return in
}

// scriptDeclareIn declares what stands directly in the scope that is open.
func scriptDeclareIn(s *side, n int, in *scope) {
	switch s.place(n) {
	case "for_in_statement.left":
		if kind := s.child(s.parent(n), "kind"); kind >= 0 {
			to := in
			if s.tree.Source(kind) == "var" {
				to = in.around(function, module)
			}
			s.pattern(n, to, "variable", scriptPattern)
		}
	case "arrow_function.parameter":
		s.pattern(n, in, "parameter", scriptPattern)
	case "catch_clause.parameter":
		s.pattern(n, in, "variable", scriptPattern)
	case "required_parameter.pattern", "optional_parameter.pattern":
		scriptParameter(s, n, in)
	default:
		if s.parentKind(n) == "formal_parameters" && s.named(n) && s.kind(n) != "required_parameter" && s.kind(n) != "optional_parameter" {
			s.pattern(n, in, "parameter", scriptPattern)
		}
	}
}

func scriptParameter(s *side, n int, in *scope) {
	s.pattern(n, in, "parameter", scriptPattern)
	for c := range s.tree.Children(s.parent(n)) {
		switch s.kind(c) {
		case "accessibility_modifier", "readonly", "override_modifier":
			s.declared[n].pin("it is a member, too")
		}
	}
}

// scriptDeclareName declares leaves that are names by where they stand.
func scriptDeclareName(s *side, n int, in *scope) {
	parent := s.parent(n)
	switch place := s.place(n); place {
	case "import_clause.", "namespace_import.":
		s.add(in, n, "import")
	case "import_specifier.alias":
		s.add(in, n, "import")
	case "import_specifier.name":
		if s.child(parent, "alias") < 0 {
			s.add(in, n, "import")
		}
	case "import_require_clause.", "import_alias.":
		s.add(in, n, "import").pin("it is an import of its own kind")
	case "function_declaration.name", "generator_function_declaration.name", "function_signature.name":
		scriptFunction(s, n, in)
	case "function_expression.name", "generator_function.name":
		s.add(in, n, "function")
	case "class_declaration.name", "abstract_class_declaration.name":
		s.add(in.parent, n, "class")
	case "class.name":
		s.add(in, n, "class")
	case "interface_declaration.name", "type_alias_declaration.name":
		s.add(in.parent, n, "type")
	case "enum_declaration.name":
		s.add(in, n, "enum")
	case "internal_module.name", "module.name":
		s.add(in.parent, n, "namespace").pin("it may go on elsewhere")
	case "type_parameter.name":
		s.add(in, n, "type parameter")
	case "mapped_type_clause.name", "infer_type.":
		s.add(in, n, "type parameter").pin("it is declared by a type")
	case "index_signature.name":
		s.add(in, n, "parameter").pin("it is declared by a type")
	default:
		scriptDeclareIn(s, n, in)
	}
}

// scriptFunction declares a function beside itself. In a block of a script that
// is not strict it can be seen outside of it as well.
func scriptFunction(s *side, n int, in *scope) {
	to := in.parent
	o := s.add(to, n, "function")
	if to.kind == block && !s.isBody(to.node) && !s.isModule() {
		o.pin("it can be seen outside of its block")
	}
}

// isBody tells whether a block is the body of a function.
func (s *side) isBody(n int) bool {
	return s.field(n) == "body" && s.language.scopes[s.parentKind(n)] == function
}

// scriptPattern says which parts of a pattern are names that it declares.
func scriptPattern(s *side, n int) bool {
	switch s.place(n) {
	case "pair_pattern.key", "object_assignment_pattern.right", "assignment_pattern.right":
		return false
	}
	switch s.kind(n) {
	case "identifier", "shorthand_property_identifier_pattern", "object_pattern", "array_pattern", "pair_pattern", "rest_pattern",
		"object_assignment_pattern", "assignment_pattern":
		return true
	}
	return false
}

// pattern declares the names of a pattern.
func (s *side) pattern(n int, in *scope, kind string, part func(*side, int) bool) {
	if n < 0 || !part(s, n) {
		return
	}
	if s.language.names[s.kind(n)] && s.named(n) {
		if s.declared[n] == nil {
			s.add(in, n, kind)
		}
		return
	}
	for c := range s.tree.Children(n) {
		s.pattern(c, in, kind, part)
	}
}

// unsafe pins every name of the file.
func (s *side) unsafe(why string) { s.unsafeFor = why }

// isModule tells whether the file is an ES module: strict, and with names of
// its own.
func (s *side) isModule() bool {
	for c := range s.tree.Children(0) {
		if k := s.kind(c); k == "import_statement" || k == "export_statement" {
			return true
		}
	}
	return false
}

// scriptFinish decides which names others can see.
func scriptFinish(s *side) {
	own := s.isModule() || s.isCommonJS()
	for _, entries := range s.scopes[0].names {
		for _, e := range entries {
			if !own {
				e.object.share()
			}
		}
	}
	for leaf, o := range s.declared {
		if s.unsafeFor != "" {
			o.pin("the file has " + s.unsafeFor)
		}
		switch {
		case o.Kind != "parameter" && o.Kind != "type parameter" && s.above(leaf, setOf("ambient_declaration")) >= 0:
			o.pin("it is declared for what is elsewhere")
		case s.isNamespace(o.in.node) || s.isNamespace(s.parent(o.in.node)):
			o.pin("it is in a namespace")
		case o.in.parent == nil && s.exportedWith(leaf):
			o.share()
		}
	}
	for n := range s.tree.Nodes {
		scriptUse(s, n)
	}
	scriptMembers(s)
}

// isNamespace tells whether a node, which may be -1, is a namespace.
func (s *side) isNamespace(n int) bool {
	return n >= 0 && (s.kind(n) == "internal_module" || s.kind(n) == "module")
}

// scriptUse looks at what a use says about a name.
func scriptUse(s *side, n int) {
	if s.kind(n) != "identifier" {
		return
	}
	name := s.tree.Source(n)
	entries := s.scopes[0].names[name]
	if len(entries) == 0 {
		return
	}
	o := entries[0].object
	if s.place(n) == "export_specifier.name" && !scriptFixed(s, n) && s.child(s.parent(n), "alias") < 0 {
		o.share()
	}
}

// exportedWith tells whether a declaration is exported where it stands.
func (s *side) exportedWith(leaf int) bool {
	for n := s.parent(leaf); n > 0; n = s.parent(n) {
		switch s.kind(n) {
		case "export_statement":
			return true
		case "statement_block", "class_body":
			return false
		}
	}
	return false
}

func (s *side) isCommonJS() bool {
	for n := range s.tree.Nodes {
		if s.kind(n) != "identifier" {
			continue
		}
		switch s.tree.Source(n) {
		case "require":
			if s.place(n) == "call_expression.function" {
				return true
			}
		case "module", "exports":
			if s.place(n) == "member_expression.object" {
				return true
			}
		}
	}
	return false
}
