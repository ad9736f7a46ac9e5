package languages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// clangName is a function or variable of a C++ file that may be renamed: every
// place that has its name is one that is known.
type clangName struct {
	object *object
	// chain are the namespaces around it, but for those without a name.
	chain []string
}

// clangCommon are functions that calls find by the types of their arguments, in
// the standard library.
var clangCommon = setOf(strings.Fields(`main swap move forward begin end cbegin cend rbegin rend size ssize empty data get advance distance next prev find find_if count
	count_if copy copy_n copy_if fill fill_n transform accumulate sort stable_sort reverse rotate unique remove remove_if replace min max minmax clamp abs
	equal mismatch search lower_bound upper_bound equal_range binary_search merge for_each all_of any_of none_of generate iota hash to_string stoi getline invoke apply
	visit make_pair make_tuple tie ref cref bind async launder destroy construct_at exchange as_const declval hex dec oct fixed endl ends flush ws setw`)...)

// clangNames makes names of the functions and variables that stand in the
// namespaces of a C++ file. Which one a name means is told by looking at every
// place of the file that has the word.
func (s *side) clangNames() {
	names := map[string]*clangName{}
	for n := range s.tree.Nodes {
		if s.kind(n) == "identifier" && s.declared[n] == nil {
			s.clangGlobal(names, n)
		}
	}
	if len(names) == 0 {
		return
	}
	classes := s.clangClasses()
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "identifier", "type_identifier", "namespace_identifier", "field_identifier":
			c := names[s.tree.Source(n)]
			switch {
			case c == nil || s.declared[n] != nil:
			case !s.clangMeans(c, n, classes):
				c.object.pin("its name in line " + strconv.Itoa(s.line(n)) + " may be another one")
			case s.lookup(s.scopeAt(n), c.object.Name, s.tree.Nodes[n].Start) == nil:
				s.declared[n] = c.object
			}
		}
	}
	for n, sc := range s.scopes {
		if n != 0 && s.kind(n) != "namespace_definition" {
			continue
		}
		chain := s.chain(n)
		for name, c := range names {
			if slices.Equal(c.chain, chain) {
				sc.names[name] = append(sc.names[name], &entry{object: c.object})
			}
		}
	}
}

// clangGlobal notes a declaration that stands in a namespace.
func (s *side) clangGlobal(names map[string]*clangName, n int) {
	top, kind := n, "variable"
	for declarators[s.parentKind(top)] && s.field(top) == "declarator" {
		top = s.parent(top)
		if s.kind(top) == "function_declarator" {
			kind = "function"
		}
	}
	owner, name := s.parent(top), s.tree.Source(n)
	if k := s.kind(owner); k != "declaration" && k != "function_definition" || s.field(top) != "declarator" || s.kind(top) == "identifier" && k == "function_definition" {
		return
	}
	above := s.parent(owner)
	for ; s.kind(above) == "declaration_list" || s.kind(above) == "namespace_definition" || clangConditions[s.kind(above)]; above = s.parent(above) {
	}
	if above != 0 {
		return
	}
	s.clangOwn(names, n, owner, kind, name)
}

func (s *side) clangOwn(names map[string]*clangName, n, owner int, kind, name string) {
	chain := s.chain(n)
	if c := names[name]; c != nil {
		if c.object.Kind != kind || !slices.Equal(c.chain, chain) {
			c.object.pin("it is declared twice")
		}
		s.declared[n] = c.object
		if kind == "variable" && !s.hidden(n, owner) {
			c.object.share()
		}
		return
	}
	o := &object{Object: &tree.Object{Name: name, Kind: kind, Line: s.line(n)}, leaf: n, region: s.scopes[0], in: s.scopes[0]}
	if sc := s.scopes[s.above(n, setOf("namespace_definition"))]; sc != nil && len(chain) > 0 {
		o.in = sc
	}
	switch {
	case strings.HasPrefix(name, "__") || s.language.reserved[name]:
		o.pin(s.spellingPins(name))
	case kind == "function":
		o.unfit = s.spellingPins(name) // what is declared here as a function is no macro here
	default:
		o.Pinned = s.spellingPins(name)
	}
	if clangCommon[name] {
		o.pin("the standard library has a function of that name")
	}
	if kind == "function" || !s.hidden(n, owner) {
		o.share() // a header may have a function of that name for other types
	}
	s.declared[n] = o
	names[name] = &clangName{o, chain}
}

// hidden tells whether a variable of a namespace is the file's alone.
func (s *side) hidden(n, owner int) bool {
	for ns := s.above(n, setOf("namespace_definition")); ns >= 0; ns = s.above(ns, setOf("namespace_definition")) {
		if s.child(ns, "name") < 0 {
			return true
		}
	}
	return s.hasText(owner, "storage_class_specifier", "static")
}

// chain are the names of the namespaces around a node, and of itself.
func (s *side) chain(n int) (names []string) {
	for ; n >= 0; n = s.parent(n) {
		if s.kind(n) == "namespace_definition" {
			if name := s.child(n, "name"); name >= 0 {
				names = append(names, s.tree.Source(name))
			}
		}
	}
	slices.Reverse(names)
	return names
}

// clangClasses are the classes of the file of which all members stand in it.
func (s *side) clangClasses() set {
	known, met := set{}, set{}
	for n := range s.tree.Nodes {
		if k := s.kind(n); k != "class_specifier" && k != "struct_specifier" && k != "union_specifier" {
			continue
		}
		name := s.child(n, "name")
		if s.child(n, "body") < 0 || name < 0 {
			continue
		}
		text := s.tree.Source(name)
		known[text] = !met[text] && s.kind(name) == "type_identifier" && !s.has(n, "base_class_clause")
		met[text] = true
	}
	return known
}

// clangMeans tells whether a place that has the name of a function or variable
// of the file is known: then it means it.
func (s *side) clangMeans(c *clangName, n int, classes set) bool {
	if s.kind(n) != "identifier" || s.language.fixed(s, n) || s.parentKind(n) == "using_declaration" || clangConditions[s.parentKind(n)] || s.parentKind(n) == "qualified_identifier" {
		return false
	}
	if f := s.field(n); f == "declarator" || f == "name" && s.parentKind(n) != "template_function" || strings.HasPrefix(s.parentKind(n), "preproc") {
		return false // it declares something else of that name
	}
	chain := s.chain(n)
	if len(chain) < len(c.chain) || !slices.Equal(chain[:len(c.chain)], c.chain) {
		return false
	}
	// In a class a member of that name, own or inherited, comes first.
	for up := s.parent(n); up >= 0; up = s.parent(up) {
		switch s.kind(up) {
		case "class_specifier", "struct_specifier", "union_specifier":
			if name := s.child(up, "name"); name < 0 || !classes[s.tree.Source(name)] {
				return false
			}
		case "function_definition":
			if !s.clangFree(up, classes) {
				return false
			}
		}
	}
	return true
}

// clangFree tells whether a function is one of no class, or of one of which all
// members are known.
func (s *side) clangFree(function int, classes set) bool {
	d := s.cppQualified(function)
	if d < 0 {
		return true
	}
	scope, name := s.child(d, "scope"), s.child(d, "name")
	return scope >= 0 && name >= 0 && s.kind(name) != "qualified_identifier" && classes[s.tree.Source(scope)]
}
