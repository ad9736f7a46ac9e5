package languages

import (
	"path"
	"slices"
	"strings"
)

// cppTops are functions, classes and enumerations that stand in the namespaces
// of C++ files. All functions of a name change together: which of them a call
// means is then the same.
var cppTops = &topRules{
	declares: cppDeclares, role: cppRole, keeps: cppKeeps, around: clangAround,
	bound:    "headers can have another %s of that name, and a program can print the name of a type",
	reserved: cppTaken,
	whole:    func(s *side, leaf int) bool { return s.kind(leaf) == "type_identifier" },
}

// cppTaken are names that cannot be given or given up: calls find functions of
// libraries by the types of their arguments.
var cppTaken = func() set {
	taken := setOf(clangKeywords...)
	for name := range clangCommon {
		taken[name] = true
	}
	for _, name := range strings.Fields(`main sin cos tan asin acos atan atan2 sinh cosh tanh sqrt cbrt pow exp exp2 log log2 log10 floor ceil round lround trunc fmod
		remainder fabs fmax fmin hypot erf lerp midpoint gcd lcm isnan isinf signbit labs llabs div real imag arg norm conj polar proj printf scanf puts gets getc putc read write
		open close send recv connect accept listen select poll time clock signal raise abort exit system rand srand index rindex remove rename strlen strcmp memcpy
		memset malloc calloc free realloc is_sorted partition shuffle sample set_union set_difference includes push_heap pop_heap inner_product partial_sum reduce
		scan ranges views format print println from_chars to_chars to_address addressof align allocate deallocate swap_ranges iter_swap count_n mismatch_if
		adjacent_find nth_element partial_sort stol stoul stod stof quoted get_if get_temporary terminate uncaught_exception rethrow throw_with_nested
		string vector list map set array pair tuple deque queue stack function optional variant any span thread mutex atomic future exception`) {
		taken[name] = true
	}
	return taken
}()

var cppTypeKinds = setOf("class_specifier", "struct_specifier", "union_specifier", "enum_specifier")

// cppDeclares: functions, and types with a body, in namespaces.
func cppDeclares(s *side, leaf int) (kind, in string) {
	owner := s.parent(leaf)
	switch {
	case s.kind(leaf) == "type_identifier" && cppTypeKinds[s.kind(owner)] && s.field(leaf) == "name" && s.child(owner, "body") >= 0:
		kind, _, _ = strings.Cut(s.kind(owner), "_")
	case s.kind(leaf) == "identifier" && s.kind(owner) == "function_declarator" && s.field(leaf) == "declarator":
		kind = "function"
		for owner = leaf; declarators[s.parentKind(owner)] && (s.field(owner) == "declarator" || s.kind(s.parent(owner)) == "reference_declarator"); owner = s.parent(owner) {
		}
		owner = s.parent(owner)
		if k := s.kind(owner); k != "declaration" && k != "function_definition" {
			return "", ""
		}
	default:
		return "", ""
	}
	for n := s.parent(owner); n > 0; n = s.parent(n) {
		switch k := s.kind(n); {
		case k == "declaration_list", k == "namespace_definition", k == "linkage_specification", k == "template_declaration", k == "declaration", clangConditions[k]:
		default:
			return "", ""
		}
	}
	return kind, s.cppSpace(owner)
}

// cppSpace is the namespace of a place.
func (s *side) cppSpace(n int) string { return strings.Join(s.chain(n), "::") }

func cppKeeps(s *side, leaf int) string {
	text := string(s.tree.Text)
	class := s.parent(leaf)
	switch {
	case s.above(leaf, setOf("template_declaration")) >= 0:
		return "it is a template"
	case s.spellingPins(s.tree.Source(leaf)) != "":
		return s.spellingPins(s.tree.Source(leaf))
	case splicedName(text):
		return "the file breaks lines in names"
	case s.kind(leaf) == "type_identifier" && strings.Contains(s.tree.Source(class), "Q_"):
		return "macros in it can look at the name"
	case s.macros()[s.tree.Source(leaf)]:
		return "it is a macro, too"
	}
	return ""
}

func cppRole(t *tops, f *file, s *side, leaf int, d top) role {
	kind, owner := s.kind(leaf), s.parent(leaf)
	isType := d.kind != "function"
	if strings.HasPrefix(s.kind(owner), "preproc") || s.inMacro(leaf) || s.above(leaf, setOf("using_declaration", "friend_declaration", "attribute_specifier", "attribute_declaration")) >= 0 {
		return unclear
	}
	if k, in := cppDeclares(s, leaf); k != "" {
		if in == d.space && cppKeeps(s, leaf) == "" && (k == "function") != isType {
			return meant
		}
		return unclear
	}
	switch {
	case kind == "statement_identifier", kind == "field_identifier" && s.place(leaf) == "field_expression.field":
		return apart
	case !t.cppSees(f, s, d), t.cppUses(s, d):
		return unclear
	case isType && t.cppOwn(s, leaf, d):
		return meant
	}
	switch {
	case kind == "namespace_identifier" && isType && s.place(leaf) == "qualified_identifier.scope",
		kind == "type_identifier" && isType && s.cppTypePlace(leaf),
		kind == "identifier" && s.cppValuePlace(leaf):
	default:
		return unclear
	}
	return t.cppReached(s, leaf, d)
}

// cppReached tells whether a use finds the declaration: by its full name, or from
// within its namespace, where no class around it could have the name.
func (t *tops) cppReached(s *side, leaf int, d top) role {
	at, qualified := s.cppQualifier(leaf)
	chain := s.cppSpace(leaf)
	if qualified {
		first, _, _ := strings.Cut(at, "::")
		if at != d.space || chain != "" && chain != d.space || t.cppClasses(s).met[first] {
			return unclear
		}
		return meant
	}
	if d.space != "" && chain != d.space && !strings.HasPrefix(chain, d.space+"::") {
		return unclear
	}
	if d.kind == "function" && s.above(leaf, setOf("template_declaration")) >= 0 {
		return unclear // the types of its arguments are not known
	}
	if o := s.lookup(s.scopeAt(leaf), d.name, s.tree.Nodes[leaf].Start); o != nil && o.Kind != "function" {
		return unclear
	}
	known := t.cppClasses(s).known
	for up := s.parent(leaf); up >= 0; up = s.parent(up) {
		switch {
		case cppTypeKinds[s.kind(up)] && s.kind(up) != "enum_specifier":
			name := s.child(up, "name")
			if isOwn := d.kind != "function" && name >= 0 && s.tree.Source(name) == d.name; !isOwn && (name < 0 || !known[s.tree.Source(name)]) {
				return unclear
			}
		case s.kind(up) == "function_definition":
			if !s.clangFree(up, known) && (d.kind == "function" || !s.clangFree(up, setOf(d.name))) {
				return unclear
			}
		}
	}
	return meant
}

// cppQualifier is what stands before a name with ::, and whether anything does.
func (s *side) cppQualifier(leaf int) (at string, qualified bool) {
	n := leaf
	if s.field(leaf) == "scope" {
		n = s.parent(leaf)
	}
	var parts []string
	for s.place(n) == "qualified_identifier.name" {
		n = s.parent(n)
		qualified = true
		if scope := s.child(n, "scope"); scope >= 0 {
			parts = append(parts, s.tree.Source(scope))
		}
	}
	slices.Reverse(parts)
	// ::name
	if s.field(leaf) == "scope" && s.kind(n) == "qualified_identifier" && s.kind(n+1) == "::" {
		qualified = true
	}
	return strings.Join(parts, "::"), qualified
}

// cppOwn: a constructor or destructor is called as its class.
func (t *tops) cppOwn(s *side, leaf int, d top) bool {
	n := leaf
	if s.parentKind(n) == "destructor_name" {
		n = s.parent(n)
	}
	switch place := s.place(n); {
	case place == "qualified_identifier.name":
		at, _ := s.cppQualifier(n)
		own := d.name
		if chain := s.cppSpace(leaf); d.space != "" && chain != d.space {
			own = d.space + "::" + d.name
			return at == own && chain == ""
		}
		return at == own
	case place == "function_declarator.declarator":
		for n = s.parent(n); n >= 0 && s.kind(n) != "field_declaration_list"; n = s.parent(n) {
			if k := s.kind(n); k == "compound_statement" || k == "parameter_list" || k == "template_declaration" {
				return false
			}
		}
		name := s.child(s.parent(max(n, 0)), "name")
		if n < 0 || name < 0 || s.tree.Source(name) != d.name {
			return false
		}
		kind, in := cppDeclares(s, name)
		return kind != "" && in == d.space
	}
	return false
}

func (s *side) cppTypePlace(leaf int) bool {
	switch owner := s.parentKind(leaf); {
	case owner == "base_class_clause":
		return true
	case cppTypeKinds[owner]:
		// class X; among the declarations of a namespace, and class X *p.
		class := s.parent(leaf)
		above := s.parent(class)
		return s.field(leaf) == "name" && s.child(class, "body") < 0 && (above == 0 || s.kind(above) == "declaration_list" || s.field(class) == "type" && s.child(above, "declarator") >= 0)
	case owner == "qualified_identifier":
		return s.field(leaf) == "name" && s.field(s.parent(leaf)) != "declarator"
	}
	return s.field(leaf) == "type"
}

var cppValuePlaces = setOf("call_expression.function", "argument_list.", "init_declarator.value", "return_statement.", "binary_expression.left", "binary_expression.right",
	"assignment_expression.right", "conditional_expression.condition", "conditional_expression.consequence", "conditional_expression.alternative",
	"pointer_expression.argument", "parenthesized_expression.", "initializer_list.", "optional_parameter_declaration.default_value", "unary_expression.argument",
	"field_declaration.default_value", "declaration.value", "initializer_pair.value", "comma_expression.left", "comma_expression.right")

func (s *side) cppValuePlace(leaf int) bool {
	n := leaf
	for s.place(n) == "qualified_identifier.name" {
		n = s.parent(n)
	}
	if n != leaf && s.place(n) == "function_declarator.declarator" {
		// int space::name(...) { }
		top := n
		for declarators[s.parentKind(top)] {
			top = s.parent(top)
		}
		return s.parentKind(top) == "function_definition" && s.parent(s.parent(top)) == 0
	}
	return cppValuePlaces[s.place(n)]
}

// cppUses tells whether a file takes all names of a namespace that could have
// others: not of the standard library, whose functions are reserved.
func (t *tops) cppUses(s *side, d top) bool {
	for n := range s.tree.Nodes {
		if s.kind(n) != "using_declaration" || !s.has(n, "namespace") {
			continue
		}
		list := words(s.tree.Source(n))
		if name := strings.Join(list[min(2, len(list)):], "::"); name != "std" && !strings.HasPrefix(name, "std::") && name != d.space {
			return true
		}
	}
	return false
}

// cppSees tells whether a file has the declaration, or includes by quotes, also
// through others, a file of the call that has it.
func (t *tops) cppSees(f *file, s *side, d top) bool {
	seen := set{f.path: true}
	waiting := []*file{f}
	for len(waiting) > 0 {
		next := waiting[0]
		waiting = waiting[1:]
		at := next.before
		if s == f.after {
			at = next.after
		}
		for n := range at.tree.Nodes {
			if !at.isLeaf(n) || at.tree.Source(n) != d.name {
				continue
			}
			if kind, in := cppDeclares(at, n); kind != "" && in == d.space {
				return true
			}
		}
		for _, found := range quotedInclude().FindAllSubmatch(at.tree.Text, -1) {
			if to := t.cppIncluded(next.path, string(found[1])); to != nil && !seen[to.path] {
				seen[to.path] = true
				waiting = append(waiting, to)
			}
		}
	}
	return false
}

// cppIncluded is the file of the call that an include means, if it can mean no
// other.
func (t *tops) cppIncluded(from, name string) (found *file) {
	places := 0
	for _, place := range headerPlaces(path.Clean(from), name) {
		i := slices.IndexFunc(t.files, func(f *file) bool { return f.path == place })
		if i >= 0 && t.files[i] != found {
			found = t.files[i]
			places++
		} else if i < 0 && t.read != nil {
			if _, err := t.read(place); err == nil {
				places++
			}
		}
	}
	if places != 1 {
		return nil
	}
	return found
}

// cppClasses are those of one side of the call.
type cppClasses struct{ known, met set }

// cppClasses finds the classes of the call of which all members stand in it, and
// the names of all.
func (t *tops) cppClasses(s *side) cppClasses {
	if c, done := t.cpp[s]; done {
		return c
	}
	bases, c := map[string][]string{}, cppClasses{set{}, set{}}
	for _, f := range t.files {
		at := f.before
		if slices.ContainsFunc(t.files, func(f *file) bool { return f.after == s }) {
			at = f.after
		}
		for n := range at.tree.Nodes {
			name := at.child(n, "name")
			if k := at.kind(n); k == "namespace_alias_definition" && name >= 0 {
				c.met[at.tree.Source(name)] = true
			} else if !cppTypeKinds[k] || name < 0 || at.child(n, "body") < 0 {
				continue
			}
			text := at.tree.Source(name)
			c.known[text] = !c.met[text] && at.kind(name) == "type_identifier" && !at.contains(n, setOf("using_declaration", "preproc_include", "preproc_call"))
			c.met[text] = true
			bases[text] = append(bases[text], at.cppBases(n)...)
		}
	}
	for changed := true; changed; {
		changed = false
		for name, list := range bases {
			if c.known[name] && slices.ContainsFunc(list, func(base string) bool { return !c.known[base] }) {
				c.known[name], changed = false, true
			}
		}
	}
	if t.cpp == nil {
		t.cpp = map[*side]cppClasses{}
	}
	t.cpp[s] = c
	return c
}

// cppBases are what a class is made from.
func (s *side) cppBases(class int) (names []string) {
	if clause := s.first(class, "base_class_clause"); clause >= 0 {
		for c := range s.tree.Children(clause) {
			if k := s.kind(c); s.named(c) && k != "access_specifier" && k != "virtual" && !s.language.comments[k] {
				names = append(names, s.tree.Source(c))
			}
		}
	}
	return names
}
