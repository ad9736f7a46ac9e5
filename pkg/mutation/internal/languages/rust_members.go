package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rustProtocol are methods of traits that are known everywhere: which one a
// call means depends on how its receiver is held.
var rustProtocol = setOf(strings.Fields(`clone clone_from into from try_into try_from to_string to_owned as_ref as_mut eq ne cmp partial_cmp lt le gt ge max min clamp
	hash default fmt drop deref deref_mut next iter iter_mut into_iter by_ref borrow borrow_mut type_id poll await size_hint index index_mut call main`)...)

// rustForeign are types of the standard library: what stands behind them is no
// member of a type of the file.
var rustForeign = setOf(strings.Fields(`Vec String Box Option Result HashMap HashSet BTreeMap BTreeSet VecDeque Rc Arc Cell RefCell Mutex RwLock Path PathBuf OsString
	Ordering Duration Instant Default Cow Cursor BufReader BufWriter Error File Some u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 str char`)...)

// rustMembers makes names of the fields, methods and constants of the types
// that stand at the top of the file.
type rustMembers struct {
	*families
	// types are those of the file that have their name alone.
	types map[string]int
	inner map[int]set
}

func rustMember(s *side) {
	m := &rustMembers{types: rustTypesOf(s), inner: rustModules(s)}
	classes := make([]int, 0, len(m.types))
	for _, n := range m.types {
		classes = append(classes, n)
	}
	slices.Sort(classes)
	m.families = newFamilies(s, classes, func(_ *families, class int) (int, string) { return -1, s.rustGenerated(class) })
	for n := range s.tree.Nodes {
		m.declareAt(n)
	}
	for n := range s.tree.Nodes {
		m.useAt(n)
	}
	m.settle()
	m.settleTraits()
}

// rustKnownTraits are traits whose methods are all among those of rustProtocol.
var rustKnownTraits = setOf(strings.Fields(`Clone Copy Debug Display Default PartialEq Eq PartialOrd Ord Hash Drop From TryFrom AsRef AsMut Borrow Deref DerefMut Index IndexMut Send Sync
	Error Add Sub Mul Neg Not`)...)

// settleTraits pins the methods of types that have traits with methods which are
// not known here: for a value, those can come before the type's own.
func (m *rustMembers) settleTraits() {
	s := m.side
	for n := range s.tree.Nodes {
		if s.kind(n) != "impl_item" || s.child(n, "trait") < 0 {
			continue
		}
		trait := words(s.tree.Source(s.child(n, "trait")))
		class := m.named(s.child(n, "type"), -1)
		if class < 0 || len(trait) == 0 || slices.ContainsFunc(trait, func(word string) bool { return rustKnownTraits[word] }) {
			continue
		}
		for _, entries := range m.of[class].scope.names {
			if o := entries[0].object; o.Kind == "method" {
				o.pin("the trait " + trait[0] + " may have a method of that name")
			}
		}
	}
}

// rustTypesOf are the types at the top of the file of whose name there is one.
func rustTypesOf(s *side) map[string]int {
	types, count := map[string]int{}, map[string]int{}
	for n := range s.tree.Nodes {
		if s.kind(n) != "type_identifier" && s.kind(n) != "identifier" {
			continue
		}
		text := s.tree.Source(n)
		switch s.place(n) {
		case "struct_item.name", "enum_item.name", "union_item.name":
			count[text]++
			if s.parentKind(s.parent(n)) == "source_file" {
				types[text] = s.parent(n)
			}
		case "trait_item.name", "type_item.name", "type_parameter.name", "associated_type.name", "mod_item.name", "use_as_clause.alias":
			count[text]++
		default:
			if use := s.above(n, setOf("use_declaration")); use >= 0 && s.place(n) != "scoped_identifier.path" && s.parentKind(use) == "source_file" {
				count[text]++
			}
		}
	}
	for name := range types {
		if count[name] != 1 {
			delete(types, name)
		}
	}
	return types
}

// rustGenerated says which macro writes code for a type.
func (s *side) rustGenerated(item int) string {
	o := &object{Object: &tree.Object{}}
	s.rustAttributes(item, o)
	return o.Pinned
}

// impl is the type of the file to which a node's function belongs, or -1, and
// whether a trait says what it is called.
func (m *rustMembers) impl(n int) (class int, ofTrait bool) {
	list := m.side.above(n, setOf("declaration_list"))
	impl := m.side.parent(max(list, 0))
	if list < 0 || m.side.kind(impl) != "impl_item" || m.side.parentKind(impl) != "source_file" {
		return -1, false
	}
	return m.named(m.side.child(impl, "type"), -1), m.side.child(impl, "trait") >= 0
}

// named is the type of the file that a type is, without its parameters, or -1.
// own is what Self means.
func (m *rustMembers) named(n, own int) int {
	s := m.side
	if n >= 0 && (s.kind(n) == "generic_type" || s.kind(n) == "generic_type_with_turbofish") {
		n = s.child(n, "type")
	}
	if n < 0 || s.kind(n) != "type_identifier" && s.kind(n) != "identifier" {
		return -1
	}
	text := s.tree.Source(n)
	if text == "Self" {
		return own
	}
	if mod := s.above(n, setOf("mod_item")); mod >= 0 && !m.inner[mod]["*"] && !m.inner[mod][text] || s.rustInGlob(n, 0) {
		return -1
	}
	if class, known := m.types[text]; known {
		return class
	}
	return -1
}

// declareAt declares what a type's own parts are called.
func (m *rustMembers) declareAt(n int) {
	s := m.side
	name := s.tree.Source(n)
	switch s.place(n) {
	case "field_declaration.name":
		class := s.parent(s.parent(s.parent(n)))
		if _, known := m.of[class]; known && s.kind(class) != "enum_item" {
			if o := m.declare(class, n, name, "field"); s.isPublic(class) && s.isPublic(s.parent(n)) {
				o.pin("every program that uses the crate can see it")
			}
			return
		}
		s.loosen(n)
	case "function_item.name", "const_item.name":
		if s.parentKind(s.parent(n)) != "declaration_list" {
			return
		}
		class, ofTrait := m.impl(n)
		if class < 0 || ofTrait {
			s.loosen(n)
			return
		}
		kind := strings.TrimSuffix(strings.Replace(s.parentKind(n), "function", "method", 1), "_item")
		o := m.declare(class, n, "static "+name, kind)
		if kind == "const" && !s.language.reserved[name] {
			o.Pinned = ""
		}
		if rustProtocol[name] {
			o.pin("others look for that name")
		}
		s.rustAttributes(s.parent(n), o)
		if s.isPublic(class) && s.isPublic(s.parent(n)) {
			o.pin("every program that uses the crate can see it")
		}
	case "function_signature_item.name", "associated_type.name", "enum_variant.name":
		s.loosen(n)
	}
}

// isPublic tells whether an item or field is for all others.
func (s *side) isPublic(n int) bool { return s.hasText(n, "visibility_modifier", "pub") }

// useAt finds out whose member a name is.
func (m *rustMembers) useAt(n int) {
	s := m.side
	switch s.kind(n) {
	case "string_content":
		if text := s.tree.Source(n); !strings.ContainsAny(text, space+"{") {
			s.said = append(s.said, freeText{text: text, at: s.tree.Nodes[n].Start})
		}
		return
	case "field_identifier", "identifier", "shorthand_field_identifier", "type_identifier":
	default:
		return
	}
	class, key := -1, s.tree.Source(n)
	switch s.place(n) {
	case "field_expression.field":
		class = m.receiver(s.child(s.parent(n), "value"), n)
		if p := s.place(s.parent(n)); p == "call_expression.function" || p == "generic_function.function" {
			key = "static " + key
		}
	case "scoped_identifier.name":
		key = "static " + key
		if s.above(n, setOf("use_declaration")) >= 0 {
			break
		}
		own, _ := m.impl(n)
		path := s.child(s.parent(n), "path")
		if class = m.named(path, own); class < 0 && path >= 0 && rustForeign[s.tree.Source(path)] {
			return
		}
	case "field_initializer.field", "field_pattern.name", "shorthand_field_initializer.":
		m.inLiteral(n)
		return
	case "token_tree.":
		m.inMacro(n)
		return
	default:
		return
	}
	if class < 0 || !m.use(class, n, key) {
		s.loosen(n)
	}
}

// receiver is the type of the file that a value surely has, or -1.
func (m *rustMembers) receiver(value, n int) int {
	s := m.side
	own, _ := m.impl(n)
	switch s.kind(value) {
	case "self":
		if function := s.above(n, setOf("function_item")); function >= 0 && s.kind(s.parent(function)) == "declaration_list" && s.takesSelf(function) {
			return own
		}
	case "identifier":
		o := s.lookup(s.scopeAt(value), s.tree.Source(value), s.tree.Nodes[value].Start)
		if o == nil || o.conditional || s.field(o.leaf) != "pattern" || len(m.homes[o]) != 1 {
			return -1
		}
		switch owner := s.parent(o.leaf); s.kind(owner) {
		case "parameter", "let_declaration":
			kind := s.child(owner, "type")
			for s.kind(kind) == "reference_type" {
				kind = s.child(kind, "type")
			}
			own, _ := m.impl(owner)
			return m.named(kind, own)
		}
	}
	return -1
}

// takesSelf tells whether a function has the type that it belongs to as self.
func (s *side) takesSelf(function int) bool {
	parameters := s.child(function, "parameters")
	return parameters >= 0 && s.has(parameters, "self_parameter")
}

// inLiteral is about the names of fields where a value is made or taken apart.
func (m *rustMembers) inLiteral(n int) {
	s := m.side
	around := s.above(n, setOf("struct_expression", "struct_pattern"))
	own, _ := m.impl(n)
	kind := s.child(around, "name")
	if s.kind(around) == "struct_pattern" {
		kind = s.child(around, "type")
	}
	class := m.named(kind, own)
	shorthand := s.kind(n) == "shorthand_field_identifier" || s.parentKind(n) == "shorthand_field_initializer"
	switch {
	case class < 0 || m.of[class] == nil || len(m.of[class].scope.names[s.tree.Source(n)]) == 0:
		s.loosen(n)
	case !shorthand:
		m.use(class, n, s.tree.Source(n))
	case s.kind(n) == "shorthand_field_identifier" && s.parent(n)+1 != n || s.kind(n) == "identifier" && s.parts(s.parent(n)) > 1:
		s.loosen(n)
	default:
		if s.keys == nil {
			s.keys = map[int]*object{}
		}
		s.keys[n] = m.of[class].scope.names[s.tree.Source(n)][0].object
	}
}

// inMacro is about names behind a dot or a path in what a macro is given.
func (m *rustMembers) inMacro(n int) {
	s := m.side
	sign, after := s.siblings(n)
	if k := s.kind(sign); sign < 0 || k != "." && k != "::" {
		return
	}
	head, _ := s.siblings(sign)
	before := -1
	if head >= 0 {
		before, _ = s.siblings(head)
	}
	class, key := -1, s.tree.Source(n)
	own, _ := m.impl(n)
	switch behind := s.kind(before) == "." || s.kind(before) == "::"; {
	case head < 0 || behind:
	case s.kind(sign) == "::":
		class, key = m.named(head, own), "static "+key
	case s.kind(head) == "self":
		class = m.receiver(head, n)
		if s.kind(after) == "token_tree" && strings.HasPrefix(s.tree.Source(after), "(") {
			key = "static " + key
		}
	}
	if class < 0 || !m.use(class, n, key) {
		s.loosen(n)
	}
}
