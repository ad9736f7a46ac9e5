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
	// A jump has no value: a semicolon after it changes nothing.
	l.inner = func(s *side, n int) int {
		if s.kind(n) == "expression_statement" {
			if k := s.kind(n + 1); k == "return_expression" || k == "break_expression" || k == "continue_expression" {
				return n + 1
			}
		}
		return -1
	}
	l.fixed = rustFixed
	l.rewrite = rustRewrite
	l.scopes = map[string]scopeKind{
		"function_item": function, "closure_expression": function, "block": block, "match_arm": block, "for_expression": block, "while_expression": block,
		"if_expression": block, "else_clause": block, "function_signature_item": function, "const_item": function, "static_item": function,
		"declaration_list": block,
	}
	l.declare = rustDeclare
	l.finish = rustFinish
	l.reserved = setOf(rustKeywords...)
	l.pinned = func(name string) string {
		if name[0] >= 'A' && name[0] <= 'Z' || strings.HasPrefix(name, "r#") {
			return "in a pattern it could be a constant"
		}
		return ""
	}
	return l
}

var rustLists = setOf("arguments", "parameters", "field_initializer_list", "field_declaration_list", "enum_variant_list", "array_expression", "use_list",
	"type_parameters", "type_arguments", "ordered_field_declaration_list", "struct_pattern", "slice_pattern", "tuple_struct_pattern")

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
	if !plain {
		s.conceal(n)
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
	o := s.addNamed(in, n, name, kind, from)
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
	return &tree.Node{Kind: label(kind, ""), Literal: true, Line: line,
		Kids: []*tree.Node{b.leaf(name, label("field_identifier", key), b.tree.Source(name)), colon, variable}}
}

// tokenTree builds what is given to a macro: whether signs stand together has
// meaning there.
func (b *builder) tokenTree(n int, field string) *tree.Node {
	made := &tree.Node{Kind: label("token_tree", field), Line: b.line(n), Literal: true}
	at, signs, apart := b.tree.Nodes[n].Start, false, false
	for c := range b.tree.Children(n) {
		start := b.tree.Nodes[c].Start
		b.gap(made, n, at, start)
		apart = apart || start > at
		at = b.tree.Nodes[c].End
		part := b.node(c, b.field(c))
		if part == nil {
			apart = true
			continue
		}
		sign := !b.named(c)
		if signs && sign && apart {
			made.Kids = append(made.Kids, &tree.Node{Kind: "space", Line: b.line(c)})
		}
		made.Kids = append(made.Kids, part)
		signs, apart = sign, false
	}
	return made
}

// rustFinish: attributes other than these are macros that may look at the whole
// function.
func rustFinish(s *side) {
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
		if values[o.Name] {
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
