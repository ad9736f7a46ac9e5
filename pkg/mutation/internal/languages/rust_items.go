package languages

import (
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rustKinds are the items that may be renamed. Types are those that can stand
// before a "::".
var (
	rustKinds = map[string]string{"function_item": "function", "const_item": "constant", "static_item": "static", "struct_item": "type", "enum_item": "type",
		"union_item": "type", "trait_item": "trait", "type_item": "type"}
	rustTypes = setOf("type", "trait")
)

// rustPrelude are names that are there without being declared. What macros
// write may use them.
var rustPrelude = setOf(strings.Fields(`main Option Some None Result Ok Err Vec Box String ToString ToOwned Clone Copy Send Sync Sized Drop Fn FnMut FnOnce
	AsRef AsMut Into From Default Iterator Extend IntoIterator DoubleEndedIterator ExactSizeIterator Eq PartialEq Ord PartialOrd Debug Hash Unpin
	TryFrom TryInto FromIterator Future IntoFuture drop bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 std core alloc
	size_of size_of_val align_of align_of_val concat_idents vec panic eh_personality`)...)

// rustItem is an item of the file that may be renamed: every place that has its
// name is one that is known.
type rustItem struct {
	object *object
	// scope and kind are where and as what it is declared.
	scope *scope
	kind  string
	uses  []int
}

// rustItems makes names of the functions, types and values that are declared at
// the top of the file or in a function. What a name means is told by looking at every place
// of the file that has the word: there must be one declaration, and no place
// that could be about another one.
func rustItems(s *side) {
	items := map[string]*rustItem{}
	for n := range s.tree.Nodes {
		if s.field(n) == "name" && rustKinds[s.parentKind(n)] != "" {
			s.rustItem(items, n)
		}
	}
	inner := rustModules(s)
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "identifier", "type_identifier", "shorthand_field_identifier":
			if it := items[s.tree.Source(n)]; it != nil {
				s.rustPlace(it, n, inner)
			}
		}
	}
	for name, it := range items {
		if it.object.Pinned == "" {
			for _, n := range it.uses {
				s.declared[n] = it.object
			}
		}
		it.scope.names[name] = append([]*entry{{object: it.object}}, it.scope.names[name]...)
	}
}

// rustItem notes a declaration at the top of the file, or in a function.
func (s *side) rustItem(items map[string]*rustItem, leaf int) {
	item, name := s.parent(leaf), s.tree.Source(leaf)
	kind, scope := rustKinds[s.kind(item)], s.scopes[s.parent(item)]
	top := s.parentKind(item) == "source_file"
	if !top && (s.parentKind(item) != "block" || scope == nil) {
		return
	}
	if it := items[name]; it != nil {
		// Under conditions of the build there may be two.
		if it.scope != scope || it.kind != s.kind(item) {
			it.object.pin("it is declared twice")
		}
		s.declared[leaf] = it.object
		return
	}
	o := &object{Object: &tree.Object{Name: name, Kind: kind, Line: s.line(leaf)}, leaf: leaf, region: scope.region(), in: scope}
	switch {
	case s.language.reserved[name] || rustPrelude[name] || strings.HasPrefix(name, "r#"):
		o.pin("the name has a meaning of its own")
	case strings.HasPrefix(name, "__"):
		o.pin("it may be known to a macro")
	}
	if top || rustTypes[kind] {
		o.share()
	}
	if rustTypes[kind] && s.globBlocks()[0] {
		o.pin("an import of all names may bring a trait of that name")
	}
	s.rustAttributes(item, o)
	s.declared[leaf] = o
	items[name] = &rustItem{object: o, scope: scope, kind: s.kind(item)}
}

// globBlocks are the file and blocks in it that take all names of a module.
func (s *side) globBlocks() map[int]bool {
	if s.globs == nil {
		s.globs = map[int]bool{}
		for n := range s.tree.Nodes {
			if s.kind(n) == "use_wildcard" {
				use := s.above(n, setOf("use_declaration"))
				s.globs[s.parent(max(use, 1))] = true
			}
		}
	}
	return s.globs
}

// rustDerived are the derived traits that do no more with the name of a type than
// to print it.
var rustDerived = setOf("Clone", "Copy", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash", "Default", "Debug")

// rustAttributes pins what others find by its name.
func (s *side) rustAttributes(item int, o *object) {
	before, _ := s.siblings(item)
	for ; before >= 0 && s.kind(before) == "attribute_item"; before, _ = s.siblings(before) {
		parts := words(s.tree.Source(before))
		switch {
		case len(parts) == 0:
		case parts[0] == "derive":
			for _, part := range parts[1:] {
				if !rustDerived[part] {
					o.pin("the macro " + part + " may look at the name")
				}
			}
		case strings.Contains(s.tree.Source(before), "no_mangle"), parts[0] == "export_name", parts[0] == "link_section", parts[0] == "cfg_attr":
			o.pin("it is found by its name")
		}
	}
}

// rustModules are the modules in the file, with the names that they take from
// it; "*" for all of them.
func rustModules(s *side) map[int]set {
	taken := map[int]set{}
	for n := range s.tree.Nodes {
		body := s.child(n, "body")
		if s.kind(n) != "mod_item" || s.parentKind(n) != "source_file" || body < 0 {
			continue
		}
		taken[n] = set{}
		for c := range s.tree.Children(body) {
			if s.kind(c) == "use_declaration" {
				s.rustTakes(c, taken[n])
			}
		}
		if taken[n]["other *"] {
			delete(taken[n], "*")
		}
	}
	return taken
}

// rustTakes notes what a use of a module takes from the file around it.
func (s *side) rustTakes(use int, names set) {
	argument := s.child(use, "argument")
	from := s.child(argument, "path")
	switch s.kind(argument) {
	case "use_wildcard":
		if s.kind(argument+firstPart(s, argument)) == "super" {
			names["*"] = true
			return
		}
	case "scoped_identifier":
		if s.kind(from) == "super" {
			names[s.tree.Source(s.child(argument, "name"))] = true
		}
	case "scoped_use_list":
		if s.kind(from) == "super" {
			for c := range s.tree.Children(s.child(argument, "list")) {
				names[s.tree.Source(c)] = true
			}
		}
	}
	if s.contains(use, setOf("use_wildcard")) {
		names["other *"] = true
	}
}

// rustPlace finds out what an item's name means where it stands.
func (s *side) rustPlace(it *rustItem, n int, inner map[int]set) {
	uncertain := func() { it.object.pin("its name in line " + strconv.Itoa(s.line(n)) + " may be another one") }
	if o := s.declared[n]; o != nil {
		if o != it.object && it.object.Kind != "function" {
			uncertain() // in a pattern it is the constant
		}
		return
	}
	switch place := s.place(n); place {
	case "type_binding.name", "macro_invocation.macro", "field_initializer.field", "field_pattern.name", "lifetime.", "label.", "field_expression.field":
		return
	case "type_item.name", "associated_type.name", "function_item.name", "function_signature_item.name", "const_item.name":
		// Of a type or a trait: it stands behind a dot or a "::".
		if owner := s.parentKind(s.parent(s.parent(n))); owner != "impl_item" && owner != "trait_item" {
			uncertain()
		}
		return
	case "type_parameter.name", "const_parameter.name", "enum_variant.name", "mod_item.name", "static_item.name", "struct_item.name", "enum_item.name", "union_item.name",
		"trait_item.name", "macro_definition.name", "extern_crate_declaration.name", "extern_crate_declaration.alias", "use_as_clause.alias", "use_as_clause.path":
		uncertain()
		return
	case "scoped_identifier.name", "scoped_type_identifier.name":
		if !s.rustQualified(it, n) {
			uncertain()
		}
		return
	}
	if use := s.above(n, setOf("use_declaration")); use >= 0 {
		if !s.rustTaken(it, n, use) {
			uncertain()
		}
		return
	}
	if s.rustInGlob(n, it.scope.node) {
		uncertain()
		return
	}
	if mod := s.above(n, setOf("mod_item")); mod >= 0 && !inner[mod]["*"] && !inner[mod][it.object.Name] && it.scope.parent == nil {
		uncertain()
		return
	}
	if it.scope.parent == nil || s.within(it.scope, s.tree.Nodes[n].Start) {
		s.rustReference(it, n)
	}
}

// rustInGlob tells whether a block around a name, inside of the item's scope,
// takes all names of a module: they come first.
func (s *side) rustInGlob(n, scope int) bool {
	for n = s.parent(n); n > scope; n = s.parent(n) {
		if s.kind(n) == "block" && s.globBlocks()[n] {
			return true
		}
	}
	return false
}

// rustReference notes a bare name that is the item.
func (s *side) rustReference(it *rustItem, n int) {
	head := strings.HasSuffix(s.place(n), ".path") && strings.HasPrefix(s.parentKind(n), "scoped_")
	if s.parentKind(n) == "token_tree" {
		before, after := s.siblings(n)
		if s.kind(before) == "." {
			return
		}
		if s.kind(before) == "::" {
			it.object.pin("its name in line " + strconv.Itoa(s.line(n)) + " may be another one")
			return
		}
		head = s.kind(after) == "::"
	}
	switch {
	case head && !rustTypes[it.object.Kind]:
		// A path begins with a module or a type.
	case head, s.kind(n) == "type_identifier":
		it.uses = append(it.uses, n)
	case rustTypes[it.object.Kind] && !isUpper(rune(it.object.Name[0])):
		it.object.pin("its name in line " + strconv.Itoa(s.line(n)) + " may be another one")
	case s.lookup(s.scopeAt(n), it.object.Name, s.tree.Nodes[n].Start) == nil:
		it.uses = append(it.uses, n)
	}
}

// rustQualified tells whether a name behind a path is the item, which is then
// noted, or surely is not.
func (s *side) rustQualified(it *rustItem, n int) bool {
	path := s.child(s.parent(n), "path")
	if path < 0 {
		return false
	}
	top := it.scope.parent == nil
	switch mod := s.above(n, setOf("mod_item")); s.kind(path) {
	case "self":
		if top && mod < 0 {
			it.uses = append(it.uses, n)
			return true
		}
		return !top
	case "super":
		if top && mod >= 0 && s.parentKind(mod) == "source_file" {
			it.uses = append(it.uses, n)
			return true
		}
		return !top
	case "crate":
		return !top
	}
	// What belongs to a type is not an item of the file.
	last := path
	if name := s.child(path, "name"); name >= 0 {
		last = name
	}
	text := s.tree.Source(last)
	known := s.kind(path) == "bracketed_type" || s.kind(path) == "generic_type" || s.kind(path) == "generic_type_with_turbofish" || rustPrelude[text]
	return !top || known || isUpper(rune(text[0]))
}

// rustTaken tells whether a use in a module of the file takes the item from it.
func (s *side) rustTaken(it *rustItem, n, use int) bool {
	mod := s.above(n, setOf("mod_item"))
	if mod < 0 || s.parentKind(mod) != "source_file" || s.parent(use) != s.child(mod, "body") {
		return false
	}
	from := s.parent(n)
	if s.kind(from) == "use_list" {
		from = s.parent(from)
	}
	if s.kind(from) != "scoped_use_list" || s.parent(from) != use || s.kind(s.child(from, "path")) != "super" {
		return false
	}
	it.uses = append(it.uses, n)
	return true
}
