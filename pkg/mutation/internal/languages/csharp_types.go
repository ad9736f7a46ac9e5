package languages

import "unicode"

// csharpClasses are the classes of a file, what they are made from and what
// they declare.
func csharpClasses(s *side) *nominal {
	t := newNominal(s)
	t.declaredType, t.expression = t.csharpDeclared, t.csharpExpression
	for n := range s.tree.Nodes {
		switch kind := s.kind(n); {
		case csharpTypes[kind]:
			t.enter(n, s.tree.Source(max(s.child(n, "name"), 0)))
		case kind == "type_parameter", kind == "using_directive":
			if name := s.child(n, "name"); name >= 0 {
				t.vague[s.tree.Source(name)] = true
			}
		}
	}
	t.vague["dynamic"], t.vague["var"] = true, true
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "base_list":
			t.csharpBases(s.parent(n), n)
		case "enum_member_declaration", "event_declaration", "delegate_declaration", "event_field_declaration", "parameter":
			t.csharpHas(n)
		}
	}
	return t
}

// csharpBases notes what a class is made from. By convention the names of
// interfaces, and of nothing else, begin with an I.
func (t *nominal) csharpBases(class, list int) {
	for c := range t.tree.Children(list) {
		if !t.named(c) || t.kind(c) == "argument_list" {
			continue
		}
		of := t.csharpType(c)
		if t.kind(c) == "primary_constructor_base_type" {
			of = typed{class: anyType}
		}
		if of.class >= 0 && of.class != class {
			t.bases[class] = append(t.bases[class], of.class)
			continue
		}
		name := []rune(t.tree.Source(c))
		face := t.kind(c) != "qualified_name" && len(name) > 2 && name[0] == 'I' && unicode.IsUpper(name[1]) && unicode.IsLower(name[2])
		t.faces[class] = face && (t.faces[class] || !t.open[class])
		t.open[class] = true
	}
}

// csharpHas notes members that are never renamed, and parameters of a whole
// class.
func (t *nominal) csharpHas(n int) {
	class := t.above(n, csharpTypes)
	if t.kind(n) == "parameter" && (t.parent(t.parent(n)) != class || class < 0) || t.has[class] == nil {
		return
	}
	for i := n; i < int(t.tree.Nodes[n].Next); i++ {
		if t.kind(i) == "identifier" && t.field(i) == "name" {
			t.has[class][t.tree.Source(i)] = true
		}
	}
}

// csharpType is the type that a node names.
func (t *nominal) csharpType(n int) typed {
	switch t.kind(n) {
	case "identifier":
		return t.called(t.tree.Source(n), n)
	case "generic_name":
		return t.csharpType(n + 1)
	case "nullable_type", "ref_type", "scoped_type":
		for c := range t.tree.Children(n) {
			if t.named(c) {
				return t.csharpType(c)
			}
		}
	case "array_type":
		of := t.csharpType(t.child(n, "type"))
		of.arrays++
		return of
	case "predefined_type":
		return typed{class: otherType}
	case "qualified_name":
		last := t.child(n, "name")
		if last >= 0 && t.kind(last) == "identifier" && len(t.byName[t.tree.Source(last)]) == 0 && !t.vague[t.tree.Source(last)] {
			return typed{class: otherType}
		}
	}
	return typed{class: anyType}
}

// csharpDeclared is the type of the variable, or of the method's result, that a
// leaf declares.
func (t *nominal) csharpDeclared(leaf int) typed {
	declaration := t.parent(leaf)
	switch t.place(leaf) {
	case "variable_declarator.name":
		of := t.child(t.parent(declaration), "type")
		if t.kind(of) != "implicit_type" {
			return t.csharpType(of)
		}
		for c := range t.tree.Children(declaration) {
			if t.named(c) && c != leaf && t.kind(c) != "bracketed_argument_list" {
				return t.typeOf(c)
			}
		}
	case "parameter.name", "declaration_expression.name", "declaration_pattern.name", "property_declaration.name":
		return t.csharpType(t.child(declaration, "type"))
	case "foreach_statement.left":
		of := t.child(declaration, "type")
		if t.kind(of) == "implicit_type" {
			return t.typeOf(t.child(declaration, "right")).element()
		}
		return t.csharpType(of)
	case "method_declaration.name":
		return t.csharpType(t.child(declaration, "returns"))
	}
	return typed{class: anyType}
}

// csharpExpression is the type of an expression.
func (t *nominal) csharpExpression(n int) typed {
	switch t.kind(n) {
	case "this":
		if class := t.above(n, csharpTypes); class >= 0 {
			return typed{class: class}
		}
	case "identifier":
		return t.csharpNamed(n)
	case "member_access_expression":
		return t.typeOfObject(t.csharpAccessed(n))
	case "invocation_expression":
		switch function := t.child(n, "function"); t.kind(function) {
		case "identifier":
			return t.typeOfObject(t.csharpBare(function, t.tree.Source(function)))
		case "member_access_expression":
			return t.typeOfObject(t.csharpAccessed(function))
		}
	case "parenthesized_expression":
		return t.typeOf(t.sole(n))
	case "object_creation_expression", "cast_expression":
		return t.csharpType(t.child(n, "type"))
	case "as_expression":
		return t.csharpType(t.child(n, "right"))
	case "element_access_expression":
		return t.typeOf(t.child(n, "expression")).element()
	case "string_literal", "interpolated_string_expression", "integer_literal", "boolean_literal":
		return typed{class: otherType}
	}
	return typed{class: anyType}
}

func (t *nominal) csharpNamed(n int) typed {
	name, at := t.tree.Source(n), t.tree.Nodes[n].Start
	if o := t.lookup(t.scopeAt(n), name, at); o != nil {
		return t.typeOfObject(o)
	}
	if o := t.csharpBare(n, name); o != nil {
		return t.typeOfObject(o)
	}
	for class := range t.classes {
		if t.find(class, name) != nil {
			return typed{class: anyType}
		}
	}
	if of := t.called(name, n); of.class >= 0 && !t.shadowed(name) {
		return of
	}
	return typed{class: anyType}
}

// csharpAccessed is the member of a class of the file that is asked for.
func (t *nominal) csharpAccessed(n int) *object {
	of := t.typeOf(t.child(n, "expression"))
	name := t.child(n, "name")
	if of.class < 0 || of.arrays > 0 || t.kind(name) != "identifier" || t.has[of.class][t.tree.Source(name)] {
		return nil
	}
	return t.find(of.class, t.tree.Source(name))
}
