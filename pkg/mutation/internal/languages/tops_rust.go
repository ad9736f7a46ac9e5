package languages

import (
	"path"
	"strings"
)

var rustTops = &topRules{
	declares: rustDeclares, role: rustRole, bound: "another crate or a macro can use the %s",
	reserved: setOf(rustKeywords...),
	keeps: func(s *side, leaf int) string {
		if strings.Contains(string(s.tree.Text), "#[path") {
			return "the file says where modules are"
		}
		if rustPrelude[s.tree.Source(leaf)] {
			return "the name has a meaning of its own"
		}
		if o := s.declared[leaf]; o != nil && o.Pinned != "" {
			return o.Pinned
		}
		for before, _ := s.siblings(s.parent(leaf)); before >= 0 && s.kind(before) == "attribute_item"; before, _ = s.siblings(before) {
			if !rustQuiet(s.tree.Source(before)) {
				return "an attribute may look at the name"
			}
		}
		return ""
	},
}

// rustQuiet tells whether an attribute does nothing with the name of what it
// stands at but what every program can do.
func rustQuiet(attribute string) bool {
	inner := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(attribute, "#["), "]"))
	name, arguments, _ := strings.Cut(inner, "(")
	switch strings.TrimSpace(name) {
	case "inline", "must_use", "allow", "warn", "deny", "expect", "cold", "track_caller", "non_exhaustive", "deprecated", "repr":
		return true
	case "derive":
		known := setOf("Debug", "Clone", "Copy", "PartialEq", "Eq", "Hash", "Default", "PartialOrd", "Ord")
		for _, trait := range words(arguments) {
			if !known[trait] {
				return false
			}
		}
		return true
	}
	return strings.HasPrefix(inner, "must_use") || strings.HasPrefix(inner, "inline")
}

func rustDeclares(s *side, leaf int) (kind, in string) {
	item := s.parent(leaf)
	if s.field(leaf) != "name" || s.parent(item) != 0 {
		return "", ""
	}
	if kind := rustKinds[s.kind(item)]; kind == "function" || rustTypes[kind] {
		return kind, ""
	}
	return "", ""
}

// rustOdd are nodes in which a name is something else, or not read as one.
var rustOdd = setOf("attribute_item", "inner_attribute_item", "macro_definition", "foreign_mod_item", "extern_crate_declaration", "lifetime", "label",
	"visibility_modifier")

func rustRole(t *tops, f *file, s *side, leaf int, d top) role {
	if s.kind(leaf) == "field_identifier" {
		return apart
	}
	if s.above(leaf, rustOdd) >= 0 || s.kind(leaf) != "identifier" && s.kind(leaf) != "type_identifier" {
		return unclear
	}
	parent := s.parent(leaf)
	if kind, _ := rustDeclares(s, leaf); kind != "" && f == d.file {
		return meant
	}
	if s.above(leaf, setOf("use_declaration")) >= 0 {
		if target := t.rustUse(f, s, leaf); target == d.file.path {
			return meant
		}
		return unclear
	}
	switch s.kind(parent) {
	case "token_tree":
		qualifier, ok := s.rustToken(leaf)
		if qualifier != "" && ok && t.rustModule(f, s, qualifier, leaf) == d.file.path {
			return meant
		} else if qualifier != "" || !ok {
			return unclear
		}
	case "scoped_identifier", "scoped_type_identifier":
		if s.field(leaf) == "name" {
			if p := s.child(parent, "path"); p >= 0 && t.rustModule(f, s, s.tree.Source(p), leaf) == d.file.path {
				return meant
			}
			return unclear
		}
		if d.kind == "function" {
			return unclear
		}
	case "shorthand_field_initializer", "macro_invocation", "mod_item", "type_parameter", "type_binding", "enum_variant", "use_as_clause",
		"const_parameter", "constrained_type_parameter", "optional_type_parameter", "type_parameters", "const_item", "static_item", "match_pattern",
		"use_list", "scoped_use_list", "closure_parameters", "parameter", "or_pattern", "captured_pattern":
		if s.kind(parent) != "parameter" || s.field(leaf) != "type" {
			return unclear
		}
	}
	if s.field(leaf) == "name" && (strings.HasSuffix(s.kind(parent), "_item") || s.kind(parent) == "associated_type") {
		return unclear
	}
	o := s.declared[leaf]
	if o == nil && s.kind(leaf) == "identifier" {
		o = s.lookup(s.scopeAt(leaf), d.name, s.tree.Nodes[leaf].Start)
	}
	if o != nil && (o.in != s.scopes[0] || o.Pinned != "" || f != d.file) {
		return unclear
	}
	if s.kind(leaf) == "type_identifier" && d.kind == "function" {
		return unclear
	}
	if t.rustSees(f, s, leaf, d) {
		return meant
	}
	return unclear
}

// rustToken tells whether a name in a macro is read as an expression, and with
// which path in front of it.
func (s *side) rustToken(leaf int) (qualifier string, ok bool) {
	outer := s.parent(leaf)
	for s.parentKind(outer) == "token_tree" {
		outer = s.parent(outer)
	}
	m := s.parent(outer)
	if s.kind(m) != "macro_invocation" || !rustPlain[s.tree.Source(s.child(m, "macro"))] {
		return "", false
	}
	before, after := s.siblings(leaf)
	for before >= 0 && s.kind(before) == "::" {
		part, _ := s.siblings(before)
		if k := s.kind(part); k != "identifier" && k != "crate" && k != "self" && k != "super" {
			return "", false
		}
		if qualifier != "" {
			qualifier = "::" + qualifier
		}
		qualifier = s.tree.Source(part) + qualifier
		before, _ = s.siblings(part)
	}
	if before >= 0 && (s.kind(before) == "." || s.kind(before) == "'" || s.kind(before) == ">") {
		return "", false
	}
	switch s.kind(after) {
	case "=", ":", "=>", "!", "@":
		return "", false
	}
	return qualifier, true
}

// rustSees tells whether a name alone means a declaration: in the file that has
// it, in one that imports it, and in modules within the file that import all of
// it.
func (t *tops) rustSees(f *file, s *side, leaf int, d top) bool {
	for block := s.above(leaf, setOf("block")); block >= 0; block = s.above(block, setOf("block")) {
		for c := range s.tree.Children(block) {
			if s.kind(c) == "use_declaration" && s.contains(c, setOf("use_wildcard")) {
				return false // what it brings comes first
			}
		}
	}
	if module := s.above(leaf, setOf("mod_item")); module >= 0 {
		body := s.child(module, "body")
		if s.parent(module) != 0 || body < 0 {
			return false
		}
		for c := range s.tree.Children(body) {
			if s.kind(c) != "use_declaration" {
				continue
			}
			if text := strings.Join(strings.Fields(s.tree.Source(s.child(c, "argument"))), ""); text == "super::*" || text == "super::"+d.name {
				return t.rustHas(f, s, d)
			}
		}
		return false
	}
	return t.rustHas(f, s, d)
}

// rustHas tells whether a file has a declaration at its top, of its own or by an
// import of exactly that name.
func (t *tops) rustHas(f *file, s *side, d top) bool {
	if f == d.file {
		return true
	}
	for n := range s.tree.Nodes {
		if s.kind(n) == "identifier" && s.tree.Source(n) == d.name && s.parentKind(n) != "use_as_clause" {
			use := s.above(n, setOf("use_declaration"))
			if use >= 0 && s.parent(use) == 0 && t.rustUse(f, s, n) == d.file.path {
				return true
			}
		}
	}
	return false
}

// rustUse is the path of the file whose name a leaf of an import is; "" if that
// is not certain.
func (t *tops) rustUse(f *file, s *side, leaf int) string {
	prefix, below := "", leaf
	for n := s.parent(leaf); s.kind(n) != "use_declaration"; below, n = n, s.parent(n) {
		switch s.kind(n) {
		case "scoped_identifier":
			if s.field(below) != "name" || s.child(n, "path") < 0 {
				return ""
			}
			prefix = s.tree.Source(s.child(n, "path")) + "::" + prefix
		case "use_as_clause":
			if s.field(below) != "path" {
				return ""
			}
		case "scoped_use_list":
			if s.child(n, "path") < 0 || s.field(below) != "list" {
				return ""
			}
			prefix = s.tree.Source(s.child(n, "path")) + "::" + prefix
		case "use_list":
		default:
			return ""
		}
	}
	return t.rustModule(f, s, strings.TrimSuffix(prefix, "::"), leaf)
}

// rustModule is the file of a module that a path names at a place; "" if that is
// not certain.
func (t *tops) rustModule(f *file, s *side, name string, at int) string {
	if s.above(at, setOf("mod_item")) >= 0 {
		return ""
	}
	parts := strings.Split(strings.Join(strings.Fields(name), ""), "::")
	file := f.path
	switch parts[0] {
	case "crate":
		if file = t.rustRoot(f.path); file == "" {
			return ""
		}
		parts = parts[1:]
	case "self":
		parts = parts[1:]
	default:
		for len(parts) > 0 && parts[0] == "super" {
			if file = t.rustParent(file); file == "" {
				return ""
			}
			parts = parts[1:]
		}
	}
	for _, part := range parts {
		if file = t.rustChild(file, part); file == "" {
			return ""
		}
	}
	return file
}

// rustDir is the directory in which the modules of a file are.
func rustDir(file string) string {
	switch stem(file) {
	case "mod", "lib", "main":
		return path.Dir(file)
	}
	return strings.TrimSuffix(file, ".rs")
}

// rustChild is the file of a module that a file declares.
func (t *tops) rustChild(file, name string) string {
	text, ok := t.text(file)
	if !ok || name == "" || !hasLine(text, "mod "+name+";") || strings.Contains(text, "#[path") {
		return ""
	}
	found := ""
	for _, candidate := range []string{path.Join(rustDir(file), name+".rs"), path.Join(rustDir(file), name, "mod.rs")} {
		if _, ok := t.text(candidate); ok {
			if found != "" {
				return ""
			}
			found = candidate
		}
	}
	return found
}

// hasLine tells whether a line of a text is a declaration, whoever may see it,
// and no other one is.
func hasLine(text, declaration string) bool {
	count := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == declaration || strings.HasPrefix(line, "pub") && strings.HasSuffix(line, " "+declaration) {
			count++
		}
	}
	return count == 1
}

// rustParent is the file that declares the module of a file.
func (t *tops) rustParent(file string) string {
	dir, name := path.Dir(file), stem(file)
	if name == "mod" {
		name, dir = path.Base(dir), path.Dir(dir)
	}
	found := ""
	for _, candidate := range []string{path.Join(dir, "mod.rs"), path.Join(dir, "lib.rs"), path.Join(dir, "main.rs"), dir + ".rs"} {
		if candidate != file && t.rustChild(candidate, name) == file {
			if found != "" {
				return ""
			}
			found = candidate
		}
	}
	return found
}

// rustRoot is the file that a crate begins with, from one of its modules on
// upwards.
func (t *tops) rustRoot(file string) string {
	for range maxPassed {
		switch stem(file) {
		case "lib", "main":
			return file
		}
		if file = t.rustParent(file); file == "" {
			return ""
		}
	}
	return ""
}

// text is that of a file, of the call as it was or around it.
func (t *tops) text(name string) (string, bool) {
	for _, f := range t.files {
		if f.path == name {
			return string(f.before.tree.Text), true
		}
	}
	if t.read == nil {
		return "", false
	}
	content, err := t.read(name)
	return string(content), err == nil
}
