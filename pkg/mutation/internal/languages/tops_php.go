package languages

import (
	"regexp"
	"strings"
	"sync"
)

var phpAnnotation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@\\?([A-Z]|\w+\\)`) })

var phpTops = &topRules{
	declares: phpDeclares, role: phpRole, bound: nameOfType, fold: true,
	// A class is loaded by a path that is made of its name.
	follows: func(*side, int) bool { return true },
	reserved: setOf(strings.Fields(`self static parent int float bool string true false null void iterable object mixed never enum resource numeric
		array callable integer boolean double`)...),
	keeps: func(s *side, leaf int) string {
		if s.child(s.parent(leaf), "attributes") >= 0 {
			return "an attribute may look at the name"
		}
		// Annotations are comments, and begin with a letter in upper case.
		if comment := s.previous(s.parent(leaf)); s.kind(comment) == "comment" && phpAnnotation().MatchString(s.tree.Source(comment)) {
			return "an annotation may look at the name"
		}
		return ""
	},
}

var phpTypes = setOf("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")

// phpDeclares: classes outside of a namespace share it with those of PHP.
func phpDeclares(s *side, leaf int) (kind, in string) {
	class := s.parent(leaf)
	if s.kind(leaf) != "name" || s.field(leaf) != "name" || !phpTypes[s.kind(class)] || s.parent(class) != 0 {
		return "", ""
	}
	if in = s.phpNamespace(); in == "" {
		return "", ""
	}
	kind, _, _ = strings.Cut(s.kind(class), "_")
	return kind, in
}

// phpNamespace is that of a file that has one, before all else; "" for others.
func (s *side) phpNamespace() (name string) {
	for n := range s.tree.Nodes {
		if s.kind(n) != "namespace_definition" {
			continue
		}
		if name != "" || s.parent(n) != 0 || s.child(n, "body") >= 0 || s.child(n, "name") < 0 {
			return ""
		}
		name = strings.Join(strings.Fields(s.tree.Source(s.child(n, "name"))), "")
	}
	return name
}

func phpRole(_ *tops, f *file, s *side, leaf int, d top) role {
	if s.kind(leaf) != "name" {
		return unclear
	}
	parent := s.parent(leaf)
	switch s.place(leaf) {
	case "variable_name.", "member_access_expression.name", "nullsafe_member_access_expression.name", "member_call_expression.name",
		"nullsafe_member_call_expression.name", "scoped_call_expression.name", "method_declaration.name", "function_definition.name",
		"argument.name", "enum_case.name":
		return apart
	case "function_call_expression.function":
		return apart
	case "const_element.":
		if parent+1 == leaf && s.above(parent, phpTypes) >= 0 {
			return apart
		}
		return unclear
	case "class_constant_access_expression.":
		if parent+1 != leaf {
			return apart
		}
	case "namespace_name.":
		// A part of a path, but the first one can be an alias.
		if parent+1 != leaf || s.above(leaf, setOf("namespace_definition", "namespace_use_declaration")) >= 0 {
			return apart
		}
		return unclear
	}
	if phpTypes[s.kind(parent)] && s.field(leaf) == "name" {
		if kind, in := phpDeclares(s, leaf); kind != "" && strings.EqualFold(in, d.space) {
			return meant
		}
		return unclear
	}
	if !sameProgram(sourceRoot(f.path, s.phpNamespace()), sourceRoot(d.file.path, d.space)) {
		return unclear
	}
	full := d.space + `\` + d.name
	name := leaf
	if s.kind(parent) == "qualified_name" {
		name = parent
	}
	if s.parentKind(name) == "namespace_use_clause" {
		return s.phpImport(name, leaf, full)
	}
	if !s.phpClassPlace(name) {
		return unclear
	}
	// Another class of the name would get the use that was forgotten here.
	if strings.EqualFold(s.phpMeaning(s.tree.Source(name)), full) {
		return meant
	}
	return unclear
}

// phpImport: what is imported under the name of the declaration is it, or
// another class that is called the same here.
func (s *side) phpImport(name, leaf int, full string) role {
	clause := s.parent(name)
	statement := s.parent(clause)
	if s.kind(statement) != "namespace_use_declaration" || s.field(leaf) == "alias" {
		return unclear
	}
	if !s.phpUsesClass(clause) {
		return unclear
	}
	if strings.EqualFold(strings.TrimPrefix(s.tree.Source(name), `\`), full) {
		return meant
	}
	return unclear
}

// phpUsesClass tells whether a clause imports a class, and no function or
// constant.
func (s *side) phpUsesClass(clause int) bool {
	for _, n := range []int{clause, s.parent(clause)} {
		text := strings.Fields(strings.ToLower(s.tree.Source(n)))
		if len(text) > 0 && text[0] == "use" {
			text = text[1:]
		}
		if len(text) > 1 && (text[0] == "function" || text[0] == "const") {
			return false
		}
	}
	return true
}

// phpClassPlace tells whether a name stands where only that of a class can.
func (s *side) phpClassPlace(n int) bool {
	parent := s.parent(n)
	switch s.kind(parent) {
	case "named_type", "object_creation_expression", "base_clause", "class_interface_clause", "use_declaration":
		return true
	case "scoped_call_expression", "scoped_property_access_expression":
		return s.field(n) == "scope"
	case "class_constant_access_expression":
		return parent+1 == n
	case "binary_expression":
		return s.field(n) == "right" && strings.EqualFold(s.tree.Source(s.child(parent, "operator")), "instanceof")
	}
	return false
}

// phpMeaning is the whole name of the class that a name stands for; "" if that
// is not certain. Classes are looked for in one place only.
func (s *side) phpMeaning(name string) string {
	if rest, absolute := strings.CutPrefix(name, `\`); absolute {
		return rest
	}
	first, rest, qualified := strings.Cut(name, `\`)
	in := s.phpNamespace()
	if in == "" || strings.EqualFold(first, "namespace") || strings.ContainsAny(name, space) {
		return ""
	}
	meaning := in + `\` + first
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "namespace_use_group":
			if hasWord(strings.ToLower(s.tree.Source(n)), strings.ToLower(first)) {
				return ""
			}
		case "namespace_use_clause":
			if s.parentKind(n) != "namespace_use_declaration" {
				continue
			}
			named := s.first(n, "qualified_name")
			if named < 0 {
				named = s.first(n, "name")
			}
			if named < 0 {
				return ""
			}
			path := s.tree.Source(named)
			called := path[strings.LastIndex(path, `\`)+1:]
			if alias := s.child(n, "alias"); alias >= 0 {
				called = s.tree.Source(alias)
			}
			if strings.EqualFold(called, first) {
				if !s.phpUsesClass(n) {
					return "" // there are two of the name
				}
				meaning = strings.TrimPrefix(path, `\`)
			}
		}
	}
	if qualified {
		meaning += `\` + rest
	}
	return meaning
}

// previous is the node before one, comments included; -1 if there is none.
func (s *side) previous(n int) int {
	before := -1
	for c := range s.tree.Children(s.parent(n)) {
		if c == n {
			return before
		}
		before = c
	}
	return -1
}
