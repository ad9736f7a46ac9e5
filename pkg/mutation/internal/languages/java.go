package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func java() *language {
	l := braces(treesitter.Java, places{
		"variable_declarator.name": "variable", "formal_parameter.name": "parameter", "catch_formal_parameter.name": "variable",
		"resource.name": "variable", "enhanced_for_statement.name": "variable", "lambda_expression.parameters": "parameter",
		"inferred_parameters.": "parameter",
	}, func(s *side, n int) uint32 {
		if s.parentKind(n) == "enhanced_for_statement" {
			return s.bodyOf(s.parent(n), "body")
		}
		return 0
	})
	locals := l.declare
	l.declare = func(s *side, n int, in *scope) {
		if s.place(n) == "variable_declarator.name" && s.parentKind(s.parent(n)) == "field_declaration" ||
			s.parentKind(n) == "formal_parameter" && s.kind(s.parent(s.parent(s.parent(n)))) == "record_declaration" {
			return
		}
		locals(s, n, in)
	}
	l.comments = setOf("line_comment", "block_comment")
	// The compiler reads this of comments, and escapes even in them.
	l.kept = func(_ *side, _ int, text string) bool {
		return strings.Contains(text, "@deprecated") || javaEscapes(text)
	}
	l.note = javaNote
	l.exact = setOf("string_literal", "character_literal", "multiline_string_fragment", "template_expression")
	l.foldsLineEnds = true
	l.optional = javaOptional
	l.inner, l.rewrite = javaInner, javaRewrite
	l.fixed = func(s *side, n int) bool {
		switch s.place(n) {
		case "field_access.field", "method_invocation.name", "method_declaration.name", "element_value_pair.key", "scoped_identifier.name",
			"constructor_declaration.name", "labeled_statement.", "break_statement.", "continue_statement.", "annotation.name", "marker_annotation.name":
			return true
		case "method_reference.":
			return s.parent(n)+1 != n
		}
		return false
	}
	l.scopes = map[string]scopeKind{
		"method_declaration": function, "constructor_declaration": function, "compact_constructor_declaration": function, "lambda_expression": function,
		"static_initializer": function, "block": block, "constructor_body": block, "for_statement": block, "enhanced_for_statement": block,
		"try_with_resources_statement": block, "catch_clause": block, "switch_block_statement_group": block, "switch_block": block, "switch_rule": block,
		"class_body": class, "enum_body": class, "interface_body": class, "annotation_type_body": class,
	}
	l.reserved = setOf(javaKeywords...)
	l.finish = javaMembers
	l.inlining = javaInlining()
	javaHolds(l)
	return l
}

var javaKeywords = strings.Fields(`abstract assert boolean break byte case catch char class const continue default do double else enum extends
	final finally float for goto if implements import instanceof int interface long native new package private protected public return short
	static strictfp super switch synchronized this throw throws transient try void volatile while true false null _ var yield record sealed
	permits when`)
