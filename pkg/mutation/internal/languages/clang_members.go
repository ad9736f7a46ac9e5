package languages

import (
	"strings"
)

// clangMembers makes names of the members of C structures and unions that stand
// in the file, where the type of everything in front of a member's name can be
// told.
type clangMembers struct {
	*families
	// tags are the structures by their names, types the types that were given
	// others; -1 where there is more than one of a name.
	tags, types map[string]int
	// kinds are the structures that members are, or point to.
	kinds map[*object]int
}

var clangStructures = setOf("struct_specifier", "union_specifier")

func clangMember(s *side) {
	m := &clangMembers{tags: map[string]int{}, types: map[string]int{}, kinds: map[*object]int{}}
	var classes []int
	for n := range s.tree.Nodes {
		switch {
		case clangStructures[s.kind(n)] && s.child(n, "body") >= 0:
			classes = append(classes, n)
			if name := s.child(n, "name"); name >= 0 {
				once(m.tags, s.tree.Source(name), n)
			}
		case s.kind(n) == "type_definition":
			m.typedef(s, n)
		}
	}
	if len(classes) == 0 {
		return
	}
	m.families = newFamilies(s, classes, func(_ *families, class int) (int, string) { return -1, s.clangOpen(class) })
	for n := range s.tree.Nodes {
		if s.kind(n) == "field_identifier" {
			m.declareAt(n)
		}
	}
	for n := range s.tree.Nodes {
		if s.kind(n) == "field_identifier" && s.declared[n] == nil {
			if class := m.before(n); class < 0 || !m.use(class, n, s.tree.Source(n)) {
				s.loosen(n)
			}
		}
	}
	m.settle()
}

func once(places map[string]int, name string, n int) {
	if _, met := places[name]; met {
		n = -1
	}
	places[name] = n
}

// typedef notes the names that a structure is given.
func (m *clangMembers) typedef(s *side, n int) {
	for c := range s.tree.Children(n) {
		if s.field(c) != "declarator" {
			continue
		}
		leaf := c
		for s.kind(leaf) == "pointer_declarator" {
			leaf = s.child(leaf, "declarator")
		}
		if s.kind(leaf) != "type_identifier" {
			continue
		}
		once(m.types, s.tree.Source(leaf), s.child(n, "type"))
	}
}

// clangOpen says why the members of a structure are not its own alone: it is a
// nameless part of another, or has one.
func (s *side) clangOpen(class int) string {
	nameless := func(n int) bool {
		return s.kind(s.parent(n)) == "field_declaration" && s.child(s.parent(n), "declarator") < 0
	}
	for n := class; n < int(s.tree.Nodes[class].Next); n++ {
		switch {
		case clangStructures[s.kind(n)] && nameless(n), strings.HasPrefix(s.kind(n), "preproc_call"), s.kind(n) == "preproc_include":
			return "a part without a name may have members, too"
		case s.kind(n) == "attribute_specifier", s.kind(n) == "macro_type_specifier":
			return "an attribute or macro may look at it"
		}
	}
	return ""
}

// declareAt declares a member.
func (m *clangMembers) declareAt(n int) {
	s := m.side
	declaration := s.above(n, setOf("field_declaration", "field_expression", "field_designator", "offsetof_expression"))
	if declaration < 0 || s.kind(declaration) != "field_declaration" {
		return
	}
	class := s.above(declaration, clangStructures)
	if _, known := m.of[class]; !known {
		s.loosen(n)
		return
	}
	o := m.declare(class, n, s.tree.Source(n), "field")
	if kind := m.structure(s.child(declaration, "type")); m.kinds[o] == 0 || m.kinds[o] == kind {
		m.kinds[o] = kind
	} else {
		o.pin("it is declared twice")
	}
}

// structure is the structure of the file that a type is, or -1.
func (m *clangMembers) structure(kind int) int {
	for range 8 {
		name := -1
		if kind >= 0 {
			name = m.side.child(kind, "name")
		}
		switch {
		case kind < 0:
			return -1
		case clangStructures[m.side.kind(kind)] && m.side.child(kind, "body") >= 0:
			return kind
		case clangStructures[m.side.kind(kind)] && name >= 0:
			if class, known := m.tags[m.side.tree.Source(name)]; known {
				return class
			}
			return -1
		case m.side.kind(kind) == "type_descriptor":
			kind = m.side.child(kind, "type")
		case m.side.kind(kind) == "type_identifier":
			next, known := m.types[m.side.tree.Source(kind)]
			if !known {
				return -1
			}
			kind = next
		default:
			return -1
		}
	}
	return -1
}

// before is the structure of what stands in front of a member's name, or -1.
func (m *clangMembers) before(n int) int {
	s := m.side
	switch s.place(n) {
	case "field_expression.field":
		return m.value(s.child(s.parent(n), "argument"))
	case "offsetof_expression.member":
		return m.structure(s.child(s.parent(n), "type"))
	case "field_designator.":
		return m.initialised(n)
	}
	return -1
}

// value is the structure that a value is, or points to, or -1.
func (m *clangMembers) value(n int) int {
	s := m.side
	if n < 0 {
		return -1
	}
	switch s.kind(n) {
	case "identifier":
		if s.macros()[s.tree.Source(n)] {
			return -1
		}
		return m.declaredAs(s.lookup(s.scopeAt(n), s.tree.Source(n), s.tree.Nodes[n].Start))
	case "parenthesized_expression":
		return m.value(n + firstPart(s, n))
	case "pointer_expression", "subscript_expression":
		return m.value(s.child(n, "argument"))
	case "cast_expression", "compound_literal_expression":
		return m.structure(s.child(n, "type"))
	case "field_expression":
		if o := s.declared[s.child(n, "field")]; o != nil && o.member {
			return m.kinds[o]
		}
	case "call_expression":
		if callee := s.child(n, "function"); s.kind(callee) == "identifier" && !s.macros()[s.tree.Source(callee)] {
			return m.value(callee)
		}
	case "conditional_expression":
		if yes, no := m.value(s.child(n, "consequence")), m.value(s.child(n, "alternative")); yes == no {
			return yes
		}
	}
	return -1
}

// declaredAs is the structure that a variable is declared to be.
func (m *clangMembers) declaredAs(o *object) int {
	s := m.side
	if o == nil || o.conditional || o.member {
		return -1
	}
	found := -1
	for i, leaf := range m.homes[o] {
		declaration := s.above(leaf, setOf("declaration", "parameter_declaration", "function_definition"))
		if declaration < 0 || s.field(s.underOf(leaf, declaration)) != "declarator" {
			return -1
		}
		kind := m.structure(s.child(declaration, "type"))
		if i > 0 && kind != found {
			return -1
		}
		found = kind
	}
	return found
}

// initialised is the structure whose member a designator names, or -1.
func (m *clangMembers) initialised(n int) int {
	s := m.side
	pair := s.above(n, setOf("initializer_pair"))
	if pair < 0 || s.parent(s.parent(n)) != pair || s.first(pair, "field_designator") != s.parent(n) || s.kind(s.parent(pair)) != "initializer_list" {
		return -1
	}
	list, depth := s.parent(pair), 0
	for s.kind(s.parent(list)) == "initializer_list" {
		list, depth = s.parent(list), depth+1
	}
	owner := s.parent(list)
	switch s.kind(owner) {
	case "compound_literal_expression":
		if depth == 0 {
			return m.structure(s.child(owner, "type"))
		}
	case "init_declarator":
		declarator := s.child(owner, "declarator")
		arrays := 0
		for s.kind(declarator) == "array_declarator" {
			declarator, arrays = s.child(declarator, "declarator"), arrays+1
		}
		if s.kind(declarator) == "identifier" && arrays == depth && s.kind(s.parent(owner)) == "declaration" {
			return m.structure(s.child(s.parent(owner), "type"))
		}
	}
	return -1
}
