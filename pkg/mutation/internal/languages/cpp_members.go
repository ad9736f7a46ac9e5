package languages

import (
	"slices"
	"strings"
)

// cppMembers makes names of the private members of C++ classes that are all in
// the file: of those, nobody else can have a use. In a function of the class a
// name without a type before it is the member's if no local has it.
type cppMembers struct {
	*families
	// named are the classes by their names; -1 where a name has another meaning,
	// too.
	named map[string]int
	// globals are the names of the file's functions and variables.
	globals set
	// wholes are the classes of which all bodies stand in the file.
	wholes map[int]bool
	// kinds are the types of members.
	kinds map[*object]cppType
}

// cppType is a class of the file and how many pointers lead to it.
type cppType struct{ class, pointers int }

var noClass = cppType{-1, 0}

var cppClassKinds = setOf("class_specifier", "struct_specifier", "union_specifier")

// cppProtocol are members that the language looks for.
var cppProtocol = setOf(strings.Fields(`begin end cbegin cend rbegin rend get size empty data swap first second type value await_ready await_suspend await_resume
	get_return_object initial_suspend final_suspend return_value return_void unhandled_exception yield_value await_transform
	get_return_object_on_allocation_failure allocate deallocate construct destroy rebind`)...)

func cppMember(s *side) {
	m := &cppMembers{named: map[string]int{}, kinds: map[*object]cppType{}, wholes: map[int]bool{}}
	var classes []int
	for n := range s.tree.Nodes {
		if !s.named(n) {
			continue
		}
		switch place := s.place(n); {
		case cppClassKinds[s.kind(n)] && s.child(n, "body") >= 0:
			if name := s.child(n, "name"); name >= 0 {
				once(m.named, s.tree.Source(name), n)
				if s.kind(n) != "union_specifier" && s.kind(name) == "type_identifier" && s.cppAtTop(n) {
					classes = append(classes, n)
				}
			}
		case place == "enum_specifier.name", place == "alias_declaration.name", place == "type_definition.declarator", place == "type_parameter_declaration.",
			place == "optional_type_parameter_declaration.name", place == "concept_definition.name", place == "namespace_definition.name", place == "namespace_alias_definition.name",
			s.kind(n) == "type_identifier" && s.field(n) == "declarator":
			once(m.named, s.tree.Source(n), -1)
		case s.kind(n) == "using_declaration":
			for _, word := range words(s.tree.Source(n)) {
				once(m.named, word, -1)
			}
		}
	}
	if len(classes) == 0 {
		return
	}
	m.families = newFamilies(s, classes, func(_ *families, class int) (int, string) { return -1, s.cppOpen(class) })
	m.globals = set{}
	for _, o := range s.declared {
		if o.region == s.scopes[0] && (o.Kind == "function" || o.Kind == "variable") {
			m.globals[o.Name] = true
		}
	}
	for n := range s.tree.Nodes {
		if s.kind(n) == "field_identifier" {
			m.declareAt(n)
		}
	}
	m.resolve()
	m.heed()
	m.settle()
}

// declareAt declares a member.
func (m *cppMembers) declareAt(n int) {
	s := m.side
	top, method := n, false
	for declarators[s.parentKind(top)] {
		if top = s.parent(top); s.kind(top) == "function_declarator" {
			method = method || s.child(top, "declarator") == n
		}
	}
	declaration := s.parent(top)
	class := s.above(declaration, cppClassKinds)
	if k := s.kind(declaration); k != "field_declaration" && k != "function_definition" || m.of[class] == nil || s.cppIn(declaration) != s.child(class, "body") || s.field(top) != "declarator" {
		return
	}
	kind := "field"
	if method {
		kind = "method"
	}
	o := m.declare(class, n, s.tree.Source(n), kind)
	if first := o.leaf == 0; first {
		o.leaf = n
	} else if kind == "field" {
		o.pin("it is declared twice")
	}
	o.private = s.cppPrivate(class, declaration) && m.whole(class)
	m.kinds[o] = m.declaredType(n, declaration)
	head := string(s.tree.Text[s.tree.Nodes[declaration].Start:s.tree.Nodes[n].Start])
	switch {
	case !s.cppPrivate(class, declaration):
		o.pin("others can use it")
	case cppProtocol[o.Name]:
		o.pin("others look for that name")
	case method && s.has(class, "base_class_clause"):
		o.pin("a base may have a method of that name")
	case method && (hasWord(head, "virtual") || s.contains(declaration, setOf("virtual_specifier", "virtual"))):
		o.pin("it is virtual")
	case !method && hasWord(head, "static") && !hasWord(head, "constexpr") && !hasWord(head, "inline"):
		o.pin("it may be defined elsewhere")
	}
	for up := declaration; up != class; up = s.parent(up) {
		if clangConditions[s.kind(up)] {
			o.pin("whether it is there is a condition of the build")
		}
	}
	if m.globals[o.Name] {
		o.pin("the file has another of that name")
	}
}

// whole is cppWhole, asked once for each class.
func (m *cppMembers) whole(class int) bool {
	whole, known := m.wholes[class]
	if !known {
		whole = m.side.cppWhole(class)
		m.wholes[class] = whole
	}
	return whole
}

// resolve finds what each name of a member stands for.
func (m *cppMembers) resolve() {
	s := m.side
	for n := range s.tree.Nodes {
		kind := s.kind(n)
		for name := range s.clangOthers(n) {
			s.loose = append(s.loose, freeText{text: name, at: s.tree.Nodes[n].Start})
		}
		switch kind {
		case "field_identifier":
			if s.declared[n] == nil && !m.member(n) {
				s.loosen(n)
			}
		case "identifier":
			if s.declared[n] == nil {
				m.bare(n)
			}
			if s.declared[n] == nil && s.language.fixed(s, n) {
				s.loosen(n)
			}
		case "type_identifier", "namespace_identifier":
			if s.declared[n] == nil && s.language.fixed(s, n) {
				s.loosen(n)
			}
		}
	}
	for _, o := range s.declared {
		if o.conditional && !o.member {
			s.loose = append(s.loose, freeText{text: o.Name, at: s.tree.Nodes[o.leaf].Start})
		}
	}
}

// member resolves what stands behind a dot or an arrow, and what a constructor
// begins with.
func (m *cppMembers) member(n int) bool {
	s := m.side
	switch s.place(n) {
	case "field_expression.field":
		access := s.parent(n)
		of, pointers := m.typeOf(s.child(access, "argument")), 0
		if s.tree.Source(max(s.child(access, "operator"), 0)) == "->" {
			pointers = 1
		}
		return of.class >= 0 && of.pointers == pointers && m.use(of.class, n, s.tree.Source(n))
	case "field_initializer.":
		class, sure := m.around(n)
		return sure && s.parent(n)+1 == n && m.use(class, n, s.tree.Source(n))
	}
	return false
}

// bare resolves a name with nothing before it, in a function of a class, and the
// name under which such a function is defined.
func (m *cppMembers) bare(n int) {
	s := m.side
	name := s.tree.Source(n)
	if s.place(n) == "qualified_identifier.name" {
		q := s.parent(n)
		top := q
		for declarators[s.parentKind(top)] {
			top = s.parent(top)
		}
		function := s.parent(top)
		if s.kind(function) != "function_definition" || s.cppQualified(function) != q || !s.cppAtTop(function) {
			return
		}
		if class := m.classOf(s.child(q, "scope")); class >= 0 && slices.Equal(s.chain(class), s.chain(function)) {
			if known := m.of[class].scope.names[name]; len(known) > 0 && known[0].object.Kind == "method" {
				m.use(class, n, name)
			}
		}
		return
	}
	class, sure := m.around(n)
	if !sure || s.language.fixed(s, n) || len(m.of[class].scope.names[name]) == 0 {
		return
	}
	// It declares something, or says what is not evaluated as an expression.
	if f := s.field(n); f == "declarator" || f == "name" && s.parentKind(n) != "template_function" || strings.HasPrefix(s.parentKind(n), "preproc") {
		return
	}
	if o := s.lookup(s.scopeAt(n), name, s.tree.Nodes[n].Start); o != nil && (o.Kind == "parameter" || o.region.kind == function) {
		return
	}
	m.use(class, n, name)
}

// classOf is the class that a name means, or -1.
func (m *cppMembers) classOf(name int) int {
	if name < 0 {
		return -1
	}
	class, known := m.named[m.side.tree.Source(name)]
	if !known || m.of[class] == nil {
		return -1
	}
	return class
}

// around is the class whose members a place sees, if it is one that sees all of
// them.
func (m *cppMembers) around(n int) (class int, sure bool) {
	s := m.side
	late := false
	for below, p := n, s.parent(n); p > 0; below, p = p, s.parent(p) {
		switch k := s.kind(p); {
		case k == "field_initializer_list", k == "function_definition" && s.field(below) == "body", s.field(below) == "default_value":
			late = true
		}
		switch k := s.kind(p); {
		case cppClassKinds[k] && s.field(below) == "body":
			return p, late && m.of[p] != nil
		case k == "enum_specifier", k == "template_declaration" && s.kind(below) == "template_parameter_list":
			return -1, false
		case k == "function_definition":
			if q := s.cppQualified(p); q >= 0 {
				class := m.classOf(s.child(q, "scope"))
				ok := class >= 0 && n > q && s.cppAtTop(p) && slices.Equal(s.chain(class), s.chain(p)) && s.kind(s.child(q, "name")) != "qualified_identifier"
				return class, ok
			}
		}
	}
	return -1, false
}

// heed pins the members of classes in whose functions a macro stands that may
// use what it is not given.
func (m *cppMembers) heed() {
	s := m.side
	for n := range s.tree.Nodes {
		if s.kind(n) != "identifier" || !s.unknownMacro(n) {
			continue
		}
		if class, _ := m.around(n); class >= 0 && m.of[class] != nil && m.of[class].fixed == "" {
			m.of[class].fixed = "the macro " + s.tree.Source(n) + " may use it"
		}
	}
}
