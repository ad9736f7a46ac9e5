package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func rust() *language {
	l := braces(treesitter.Rust, nil, nil)
	l.comments = setOf("line_comment", "block_comment")
	// Documentation is an attribute, which macros read.
	l.kept = func(_ *side, _ int, text string) bool {
		return strings.HasPrefix(text, "///") && !strings.HasPrefix(text, "////") || strings.HasPrefix(text, "//!") ||
			strings.HasPrefix(text, "/**") && !strings.HasPrefix(text, "/***") && len(text) > 4 || strings.HasPrefix(text, "/*!")
	}
	l.exact = setOf("string_literal", "raw_string_literal", "char_literal")
	l.foldsLineEnds = true
	l.optional = func(s *side, n int) bool {
		if s.kind(n) != "," {
			return false
		}
		before, after := s.siblings(n)
		switch s.parentKind(n) {
		case "match_arm":
			return true
		case "where_clause":
			return after < 0
		case "tuple_expression", "tuple_type", "tuple_pattern":
			return before >= 0 && after >= 0 && s.kind(after) == ")" && s.parts(s.parent(n)) > 1
		}
		return s.trailing(n, rustLists)
	}
	l.inner = rustInner
	l.fixed = rustFixed
	l.rewrite = rustRewrite
	l.scopes = map[string]scopeKind{
		"function_item": function, "closure_expression": function, "block": block, "match_arm": block, "for_expression": block, "while_expression": block,
		"if_expression": block, "else_clause": block, "function_signature_item": function, "const_item": function, "static_item": function,
		"declaration_list": block, "struct_item": block, "enum_item": block, "union_item": block, "type_item": block,
	}
	l.declare = rustDeclare
	l.finish = rustFinish
	l.reserved = setOf(rustKeywords...)
	l.settled = true
	l.pinned = func(name string) string {
		if name[0] >= 'A' && name[0] <= 'Z' || strings.HasPrefix(name, "r#") {
			return "in a pattern it could be a constant"
		}
		return ""
	}
	rustHolds(l)
	l.inlining = rustInlining()
	return l
}

var rustLists = setOf("arguments", "parameters", "field_initializer_list", "field_declaration_list", "enum_variant_list", "array_expression", "use_list",
	"type_parameters", "type_arguments", "ordered_field_declaration_list", "struct_pattern", "slice_pattern", "tuple_struct_pattern")

// rustInner takes off what has no meaning of its own.
func rustInner(s *side, n int) int {
	switch s.kind(n) {
	case "expression_statement":
		// A jump has no value: a semicolon after it changes nothing.
		if k := s.kind(n + 1); k == "return_expression" || k == "break_expression" || k == "continue_expression" {
			return n + 1
		}
	case "block":
		// What an arm or a closure evaluates is dropped at its end, with braces
		// or without.
		if place := s.place(n); place == "match_arm.value" || place == "closure_expression.body" && !s.has(s.parent(n), "->") {
			return rustValue(s, n)
		}
	}
	return -1
}

// rustValue is the only thing in a block, if it is its value, or -1.
func rustValue(s *side, n int) int {
	found := -1
	for c := range s.tree.Children(n) {
		switch {
		case s.language.comments[s.kind(c)] && !s.language.kept(s, c, s.tree.Source(c)):
		case !s.named(c):
			if k := s.kind(c); k != "{" && k != "}" {
				return -1
			}
		case found >= 0:
			return -1
		default:
			found = c
		}
	}
	if found < 0 {
		return -1
	}
	if s.kind(found) == "expression_statement" {
		if int(s.tree.Nodes[found+1].Next) != int(s.tree.Nodes[found].Next) {
			return -1 // with a semicolon it is no value
		}
		found++
	}
	kind := s.kind(found)
	if kind == "identifier" || kind == "scoped_identifier" || strings.HasSuffix(kind, "_literal") || strings.HasSuffix(kind, "_expression") {
		return found
	}
	return -1
}

func rustFixed(s *side, n int) bool {
	switch s.parentKind(n) {
	case "lifetime", "label", "use_list", "use_as_clause", "scoped_use_list", "use_declaration":
		return true
	case "scoped_identifier", "scoped_type_identifier":
		return true
	case "macro_invocation", "function_item", "mod_item", "macro_definition":
		return s.field(n) == "macro" || s.field(n) == "name"
	case "token_tree":
		before, after := s.siblings(n)
		return before >= 0 && s.kind(before) == "." || after >= 0 && (s.kind(after) == "=" || s.kind(after) == ":" || s.kind(after) == "::")
	}
	return false
}

// rustPlain macros read their arguments as expressions.
var rustPlain = setOf("println", "print", "eprintln", "eprint", "format", "write", "writeln", "panic", "assert", "assert_eq", "assert_ne", "debug_assert",
	"debug_assert_eq", "debug_assert_ne", "vec", "unreachable", "todo", "unimplemented", "format_args", "matches")

func rustDeclare(s *side, n int, in *scope) {
	switch kind := s.kind(n); kind {
	case "token_tree":
		rustMacro(s, n)
	case "identifier", "shorthand_field_identifier":
		rustPattern(s, n, in)
	case "attribute_item", "inner_attribute_item":
		s.conceal(n)
	}
}

// rustMacro makes the names in a macro unusable if it may do more with them
// than to read them.
func rustMacro(s *side, n int) {
	outer := n
	for s.parentKind(outer) == "token_tree" {
		outer = s.parent(outer)
	}
	plain := false
	if m := s.parent(outer); s.kind(m) == "macro_invocation" {
		plain = rustPlain[s.tree.Source(s.child(m, "macro"))]
	}
	before, _ := s.siblings(n)
	literal := s.kind(before) == "identifier" && isUpper(rune(s.tree.Source(before)[0])) && strings.HasPrefix(s.tree.Source(n), "{")
	if !plain || literal {
		s.conceal(n) // in a literal of a type, a variable can be a field, too
		return
	}
	for c := range s.tree.Children(n) {
		switch s.kind(c) {
		case "string_literal", "raw_string_literal":
			rest := s.tree.Source(c)
			for {
				_, after, found := strings.Cut(rest, "{")
				if !found {
					break
				}
				name, tail, _ := strings.Cut(after, "}")
				s.opaque = append(s.opaque, freeText{name, s.tree.Nodes[c].Start, s.scopeAt(c).region(), false})
				rest = tail
			}
		case "identifier":
			if _, after := s.siblings(c); after >= 0 && (s.kind(after) == "=" || s.kind(after) == ":") {
				s.conceal(c)
			}
		}
	}
}

// rustPattern declares the names of patterns.
func rustPattern(s *side, n int, in *scope) {
	top := n
	for {
		p := s.parent(top)
		switch s.kind(p) {
		case "tuple_pattern", "slice_pattern", "ref_pattern", "mut_pattern", "reference_pattern", "captured_pattern", "or_pattern", "match_pattern", "remaining_field_pattern":
			if s.field(top) == "condition" {
				return
			}
		case "tuple_struct_pattern", "struct_pattern":
			if s.field(top) == "type" {
				return
			}
		case "field_pattern":
			if s.field(top) == "name" && s.kind(n) != "shorthand_field_identifier" {
				return
			}
		default:
			rustBind(s, n, top, p, in)
			return
		}
		top = p
	}
}

func rustBind(s *side, n, top, owner int, in *scope) {
	kind, from := "variable", s.tree.Nodes[n].Start
	switch s.kind(owner) {
	case "let_declaration", "let_condition":
		if s.field(top) != "pattern" {
			return
		}
		from = s.tree.Nodes[owner].End
	case "for_expression":
		if s.field(top) != "pattern" {
			return
		}
		from = s.bodyOf(owner, "body")
	case "match_arm":
		if s.field(top) != "pattern" {
			return
		}
	case "parameter":
		if s.field(top) != "pattern" {
			return
		}
		kind = "parameter"
	case "closure_parameters":
		kind = "parameter"
	default:
		return
	}
	name := s.tree.Source(n)
	if first := name[0]; first >= 'A' && first <= 'Z' {
		return // a constant
	}
	if known := in.names[name]; len(known) > 0 {
		// The alternatives of one pattern bind the same.
		if o := known[len(known)-1].object; o.leaf >= top && o.leaf < int(s.tree.Nodes[top].Next) {
			s.declared[n] = o
			rustShorthand(s, n, o)
			return
		}
	}
	o := s.addNamed(in, n, name, kind, from)
	rustShorthand(s, n, o)
}

// rustShorthand pins a name that stands for a field as well, in a form that
// has no long one.
func rustShorthand(s *side, n int, o *object) {
	if s.kind(n) == "shorthand_field_identifier" && s.parent(n)+1 != n {
		o.pin("it is a field, too")
	}
}

func rustRewrite(b *builder, n int, field string) *tree.Node {
	switch b.kind(n) {
	case "shorthand_field_initializer":
		name := b.first(n, "identifier")
		if name < 0 || b.parts(n) > 1 {
			return nil
		}
		return b.rustField(name, "field_initializer", "field", "value")
	case "field_pattern":
		name := n + 1
		if b.kind(name) != "shorthand_field_identifier" || int(b.tree.Nodes[name].Next) != int(b.tree.Nodes[n].Next) || b.declared[name] == nil {
			return nil
		}
		return b.rustField(name, "field_pattern", "name", "pattern")
	case "token_tree":
		return b.tokenTree(n, field)
	}
	return nil
}

// rustField builds the long form of a field and a variable of one name.
func (b *builder) rustField(name int, kind, key, value string) *tree.Node {
	variable := b.name(name, "")
	variable.Kind = label("identifier", value)
	line := b.line(name)
	colon := &tree.Node{Kind: ":", Text: ":", Line: line}
	field := b.leaf(name, label("field_identifier", key), b.tree.Source(name))
	if o := b.keys[name]; o != nil {
		b.resolved = append(b.resolved, resolvedLeaf{o, b.tree.Nodes[name].Start, true})
		field = &tree.Node{Kind: field.Kind, Line: line, Object: o.Object}
	}
	return &tree.Node{Kind: label(kind, ""), Literal: true, Line: line, Kids: []*tree.Node{field, colon, variable}}
}

// rustFinish: attributes other than these are macros that may look at the whole
// function.
func rustFinish(s *side) {
	rustScopes(s)
	rustItems(s)
	rustMember(s)
	known := setOf("test", "inline", "must_use", "allow", "warn", "deny", "expect", "cfg", "doc", "deprecated", "derive", "cold", "track_caller", "no_mangle",
		"ignore", "should_panic", "cfg_attr", "target_feature", "repr", "default", "non_exhaustive", "unsafe", "export_name", "link_section", "rustfmt", "clippy")
	seen := map[int]bool{}
	for n := range s.tree.Nodes {
		if s.kind(n) != "attribute_item" {
			continue
		}
		name := strings.TrimLeft(s.tree.Source(n), "#[! ")
		if end := strings.IndexFunc(name, func(r rune) bool { return !isLetter(r) && r != '_' }); end > 0 && !known[name[:end]] {
			if _, after := s.siblings(n); after >= 0 {
				for after >= 0 && s.kind(after) == "attribute_item" {
					_, after = s.siblings(after)
				}
				seen[after] = true
			}
		}
	}
	values := set{}
	for n := range s.tree.Nodes {
		switch s.place(n) {
		case "const_item.name", "static_item.name", "struct_item.name":
			values[s.tree.Source(n)] = true
		}
	}
	for leaf, o := range s.declared {
		if values[o.Name] && (o.Kind == "variable" || o.Kind == "parameter") {
			o.pin("in a pattern it is a constant")
		}
		for n := leaf; n > 0; n = s.parent(n) {
			if seen[n] {
				o.pin("an attribute may look at the name")
			}
		}
	}
}

var rustKeywords = strings.Fields(`as break const continue crate else enum extern false fn for if impl in let loop match mod move mut pub ref
	return self Self static struct super trait true type unsafe use where while async await dyn abstract become box do final macro override
	priv typeof unsized virtual yield try gen union _`)
