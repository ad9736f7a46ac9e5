package languages

import (
	"slices"
	"strings"
)

// declaredType is the type that a declaration gives to a name.
func (m *cppMembers) declaredType(leaf, declaration int) cppType {
	s := m.side
	pointers := 0
	for n := leaf; n != declaration; n = s.parent(n) {
		switch s.kind(n) {
		case "pointer_declarator":
			pointers++
		case "array_declarator", "function_declarator", "parenthesized_declarator":
			return noClass
		}
	}
	class := m.typeNamed(s.child(declaration, "type"))
	if class < 0 {
		return noClass
	}
	return cppType{class, pointers}
}

// typeNamed is the class that a type is, or -1.
func (m *cppMembers) typeNamed(n int) int {
	s := m.side
	if n < 0 {
		return -1
	}
	switch k := s.kind(n); {
	case k == "type_identifier":
		if class := m.classOf(n); class >= 0 && m.sees(n, class) {
			return class
		}
	case cppClassKinds[k] && s.child(n, "body") < 0:
		return m.typeNamed(s.child(n, "name"))
	}
	return -1
}

// sees tells whether the name of a class means it at a place: nothing nearer
// than its namespace can have a type of that name.
func (m *cppMembers) sees(n, class int) bool {
	s := m.side
	if !slices.Equal(s.chain(n), s.chain(class)) {
		return false
	}
	plain := func(c int) bool { return c == class || c >= 0 && !s.has(c, "base_class_clause") }
	for p := s.parent(n); p > 0; p = s.parent(p) {
		if cppClassKinds[s.kind(p)] && !plain(p) {
			return false
		}
		if s.kind(p) == "function_definition" {
			if q := s.cppQualified(p); q >= 0 && (s.kind(s.child(q, "name")) == "qualified_identifier" || !plain(m.classOf(s.child(q, "scope")))) {
				return false
			}
		}
	}
	return true
}

// typeOf is the class that a value is, or points to.
func (m *cppMembers) typeOf(n int) cppType {
	s := m.side
	if n < 0 {
		return noClass
	}
	switch s.kind(n) {
	case "this":
		if class, sure := m.around(n); sure {
			return cppType{class, 1}
		}
	case "identifier":
		return m.typeOfName(n)
	case "parenthesized_expression":
		return m.typeOf(n + firstPart(s, n))
	case "pointer_expression":
		of := m.typeOf(s.child(n, "argument"))
		switch op := s.tree.Source(max(s.child(n, "operator"), 0)); {
		case of.class >= 0 && op == "*" && of.pointers > 0:
			return cppType{of.class, of.pointers - 1}
		case of.class >= 0 && op == "&" && !s.has(of.class, "base_class_clause") && !strings.Contains(s.tree.Source(of.class), "operator"):
			return cppType{of.class, of.pointers + 1}
		}
	case "field_expression":
		if o := s.declared[s.child(n, "field")]; o != nil && o.member && o.Kind == "field" {
			if of, known := m.kinds[o]; known {
				return of
			}
		}
	}
	return noClass
}

// typeOfName is the type of a variable, a parameter or a field.
func (m *cppMembers) typeOfName(n int) cppType {
	s := m.side
	if s.macros()[s.tree.Source(n)] {
		return noClass
	}
	o := s.declared[n]
	if o == nil {
		o = s.lookup(s.scopeAt(n), s.tree.Source(n), s.tree.Nodes[n].Start)
	}
	if o == nil {
		// The names of members are resolved in the order of the text.
		if class, sure := m.around(n); sure && len(m.of[class].scope.names[s.tree.Source(n)]) > 0 {
			o = m.of[class].scope.names[s.tree.Source(n)][0].object
		}
	}
	switch {
	case o == nil || o.conditional:
		return noClass
	case o.member:
		if of, known := m.kinds[o]; known && o.Kind == "field" {
			return of
		}
		return noClass
	case len(m.homes[o]) != 1 || o.region.kind != function && o.Kind != "parameter":
		return noClass
	}
	leaf := m.homes[o][0]
	top := leaf
	for declarators[s.parentKind(top)] {
		top = s.parent(top)
	}
	declaration := s.parent(top)
	if s.field(top) != "declarator" || s.child(declaration, "type") < 0 {
		return noClass
	}
	return m.declaredType(leaf, declaration)
}
