package languages

// javaClassNodes declare classes that have a name.
var javaClassNodes = setOf("class_declaration", "enum_declaration", "record_declaration", "interface_declaration", "annotation_type_declaration")

// javaTypes are the classes of a file, what they are made from and which
// members they declare.
func javaTypes(s *side) *nominal {
	t := newNominal(s)
	t.declaredType, t.expression = t.javaDeclared, t.javaExpression
	for n := range s.tree.Nodes {
		switch kind := s.kind(n); {
		case javaClassNodes[kind]:
			t.enter(n, s.tree.Source(max(s.child(n, "name"), 0)))
		case kind == "object_creation_expression" && s.has(n, "class_body"), kind == "enum_constant" && s.child(n, "body") >= 0:
			t.enter(n, "")
		case kind == "type_parameter":
			if name := s.first(n, "type_identifier"); name >= 0 {
				t.vague[s.tree.Source(name)] = true
			}
		}
	}
	for n := range s.tree.Nodes {
		t.javaBase(n)
		t.javaHas(n)
	}
	return t
}

// javaBase notes what the class of a node is made from.
func (t *nominal) javaBase(n int) {
	switch t.kind(n) {
	case "superclass", "super_interfaces", "extends_interfaces":
		for i := n + 1; i < int(t.tree.Nodes[n].Next); i++ {
			if kind := t.kind(i); kind != "type_list" && (t.parent(i) == n || t.parentKind(i) == "type_list") && t.named(i) {
				t.javaDerive(t.parent(n), i)
			}
		}
	case "object_creation_expression":
		if t.classes[n] {
			t.javaDerive(n, t.child(n, "type"))
		}
	case "enum_constant":
		if t.classes[n] {
			t.bases[n] = append(t.bases[n], t.parent(t.parent(n)))
		}
	}
}

func (t *nominal) javaDerive(class, base int) {
	if of := t.javaType(base); of.class >= 0 && of.class != class {
		t.bases[class] = append(t.bases[class], of.class)
		return
	}
	t.open[class] = true
}

func (t *nominal) javaHas(n int) {
	if t.kind(n) != "identifier" {
		return
	}
	class, suffix := -1, ""
	switch t.place(n) {
	case "variable_declarator.name":
		if kind := t.kind(t.parent(t.parent(n))); kind != "field_declaration" && kind != "constant_declaration" {
			return
		}
	case "method_declaration.name", "annotation_type_element_declaration.name":
		suffix = "()"
	case "enum_constant.name":
		class = t.parent(t.parent(t.parent(n)))
	case "formal_parameter.name":
		if class = t.parent(t.parent(t.parent(n))); t.kind(class) != "record_declaration" {
			return
		}
		t.has[class][t.tree.Source(n)+"()"] = true
	default:
		return
	}
	if class < 0 {
		class = t.parent(t.above(n, javaClasses))
	}
	if t.has[class] != nil {
		t.has[class][t.tree.Source(n)+suffix] = true
	}
}

// javaType is the type that a node names.
func (t *nominal) javaType(n int) typed {
	switch t.kind(n) {
	case "type_identifier":
		return t.called(t.tree.Source(n), n)
	case "generic_type":
		return t.javaType(n + 1)
	case "array_type":
		of := t.javaType(t.child(n, "element"))
		for c := range t.tree.Children(t.child(n, "dimensions")) {
			if t.kind(c) == "[" {
				of.arrays++
			}
		}
		return of
	case "scoped_type_identifier":
		last := -1
		for c := range t.tree.Children(n) {
			if t.kind(c) == "type_identifier" {
				last = c
			}
		}
		if last < 0 {
			break
		}
		within := t.javaType(n + 1)
		found := t.byName[t.tree.Source(last)]
		if len(found) == 0 {
			return typed{class: otherType}
		}
		if len(found) == 1 && within.class >= 0 && t.parent(t.parent(found[0])) == within.class {
			return typed{class: found[0]}
		}
	case "integral_type", "floating_point_type", "boolean_type", "void_type":
		return typed{class: otherType}
	}
	return typed{class: anyType}
}

// javaDeclared is the type of the variable, or of the method's result, that a
// leaf declares.
func (t *nominal) javaDeclared(leaf int) typed {
	declaration := t.parent(leaf)
	if t.child(declaration, "dimensions") >= 0 {
		return typed{class: anyType}
	}
	value := -1
	switch t.place(leaf) {
	case "variable_declarator.name":
		value = t.child(declaration, "value")
		declaration = t.parent(declaration)
		if t.kind(declaration) == "spread_parameter" {
			return typed{class: anyType}
		}
	case "formal_parameter.name", "method_declaration.name":
	case "resource.name":
		value = t.child(declaration, "value")
	case "enhanced_for_statement.name":
		if of := t.child(declaration, "type"); t.tree.Source(of) == "var" {
			return t.typeOf(t.child(declaration, "value")).element()
		}
	default:
		return typed{class: anyType}
	}
	of := t.child(declaration, "type")
	if of >= 0 && t.tree.Source(of) == "var" {
		return t.typeOf(value)
	}
	return t.javaType(of)
}

// javaExpression is the type of an expression.
func (t *nominal) javaExpression(n int) typed {
	switch t.kind(n) {
	case "this":
		if body := t.above(n, javaClasses); body >= 0 {
			return typed{class: t.parent(body)}
		}
	case "identifier":
		name := t.tree.Source(n)
		if o := t.lookup(t.scopeAt(n), name, t.tree.Nodes[n].Start); o != nil {
			return t.typeOfObject(o)
		}
		if of := t.called(name, n); of.class >= 0 && !t.shadowed(name) {
			return of
		}
	case "field_access":
		object, field := t.child(n, "object"), t.child(n, "field")
		of := t.typeOf(object)
		if of.class >= 0 && of.arrays == 0 {
			if t.kind(field) == "this" {
				return of
			}
			return t.typeOfObject(t.javaMember(of.class, t.tree.Source(field)))
		}
	case "method_invocation":
		return t.javaResult(n)
	case "parenthesized_expression":
		return t.typeOf(t.sole(n))
	case "cast_expression", "object_creation_expression":
		if !t.classes[n] {
			return t.javaType(t.child(n, "type"))
		}
	case "array_access":
		return t.typeOf(t.child(n, "array")).element()
	case "assignment_expression":
		return t.typeOf(t.child(n, "left"))
	case "string_literal", "class_literal":
		return typed{class: otherType}
	}
	return typed{class: anyType}
}

func (t *nominal) javaResult(n int) typed {
	key := t.tree.Source(t.child(n, "name")) + "()"
	receiver := t.child(n, "object")
	if receiver < 0 {
		return t.typeOfObject(t.lookup(t.scopeAt(n), key, t.tree.Nodes[n].Start))
	}
	of := t.typeOf(receiver)
	if of.class < 0 || of.arrays > 0 {
		return typed{class: anyType}
	}
	return t.typeOfObject(t.javaMember(of.class, key))
}
