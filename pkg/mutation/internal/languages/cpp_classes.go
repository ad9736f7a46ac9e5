package languages

import "strings"

// cppAtTop tells whether a class stands in a namespace, and is no template.
func (s *side) cppAtTop(n int) bool {
	for n = s.parent(n); n > 0; n = s.parent(n) {
		if k := s.kind(n); k != "declaration_list" && k != "namespace_definition" && k != "declaration" && !clangConditions[k] {
			return false
		}
	}
	return true
}

// cppOpen says why others may use the private members of a class, or "".
func (s *side) cppOpen(class int) string {
	for n := class; n < int(s.tree.Nodes[class].Next); n++ {
		switch k := s.kind(n); {
		case k == "friend_declaration":
			return "the class has a friend"
		case k == "using_declaration":
			return "the class takes names of another"
		case strings.HasPrefix(k, "preproc_call"), k == "preproc_include":
			return "a part of the class stands elsewhere"
		case k == "identifier" && s.parentKind(n) == "function_declarator" && s.unknownName(n), (k == "type_identifier" || k == "identifier") && strings.HasPrefix(s.tree.Source(n), "Q_"):
			return "a macro may look at it"
		}
	}
	for n := range s.tree.Children(s.child(class, "body")) {
		if s.kind(n) == "template_declaration" {
			return "it has a template"
		}
	}
	return ""
}

// cppWhole tells whether the bodies of all functions that a class declares stand
// in the file. In one that is no header those that do not stand nowhere.
func (s *side) cppWhole(class int) bool {
	missing := map[string]int{}
	body := s.child(class, "body")
	for n := body; n < int(s.tree.Nodes[class].Next); n++ {
		if s.cppIn(n) != body {
			continue
		}
		if k := s.kind(n); cppClassKinds[k] {
			return false
		} else if k != "field_declaration" && k != "declaration" {
			continue
		} else if cppClassKinds[s.kind(s.child(n, "type"))] {
			return false // a class in it sees its members, wherever its functions are
		}
		if name := s.cppMethod(n); name != "" {
			missing[name]++
		}
	}
	own := s.tree.Source(s.child(class, "name"))
	for n := range s.tree.Nodes {
		if s.kind(n) != "function_definition" || s.child(n, "body") < 0 && !s.has(n, "default_method_clause") {
			continue
		}
		if d := s.cppQualified(n); d >= 0 && s.tree.Source(max(s.child(d, "scope"), 0)) == own {
			missing[s.tree.Source(s.child(d, "name"))]--
		}
	}
	for _, count := range missing {
		if count > 0 {
			return false
		}
	}
	return true
}

// unknownName tells whether a name in capitals is likely a macro.
func (s *side) unknownName(n int) bool {
	name := s.tree.Source(n)
	return strings.ToUpper(name) == name && len(name) > 2 && strings.Contains(name, "_")
}

// cppMethod is the name of what a declaration in a class declares as a function,
// or "".
func (s *side) cppMethod(n int) string {
	d := s.child(n, "declarator")
	for d >= 0 && s.kind(d) != "function_declarator" {
		if s.kind(d) == "operator_cast" {
			return s.tree.Source(d)
		}
		next := s.child(d, "declarator")
		if next < 0 && s.kind(d) == "reference_declarator" {
			next = d + firstPart(s, d)
		}
		d = next
	}
	if d < 0 {
		return ""
	}
	if name := s.child(d, "declarator"); name >= 0 && s.kind(name) != "parenthesized_declarator" {
		return s.tree.Source(name)
	}
	return ""
}

// cppQualified is the name with its class that a function is defined under, or
// -1.
func (s *side) cppQualified(function int) int {
	d := s.child(function, "declarator")
	for d >= 0 && s.kind(d) != "qualified_identifier" {
		next := s.child(d, "declarator")
		if next < 0 && (s.kind(d) == "reference_declarator" || s.kind(d) == "parenthesized_declarator") {
			next = d + firstPart(s, d)
		}
		d = next
	}
	return d
}

// cppPrivate tells whether what a class declares there is private.
func (s *side) cppPrivate(class, declaration int) bool {
	private := s.kind(class) == "class_specifier"
	body := s.child(class, "body")
	for c := body; c < declaration; c++ {
		if s.kind(c) == "access_specifier" && s.cppIn(c) == body {
			private = s.parent(c) == body && strings.Trim(s.tree.Source(c), space+":") == "private"
		}
	}
	return private
}

// cppIn is what a declaration stands in, but for conditions of the build.
func (s *side) cppIn(declaration int) int {
	n := s.parent(declaration)
	for clangConditions[s.kind(n)] {
		n = s.parent(n)
	}
	return n
}
