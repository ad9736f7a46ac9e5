package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func csharp() *language {
	l := braces(treesitter.CSharp, places{
		"variable_declarator.name": "variable", "parameter.name": "parameter", "foreach_statement.left": "variable", "catch_declaration.name": "variable",
		"declaration_expression.name": "variable", "declaration_pattern.name": "variable", "tuple_pattern.name": "variable",
		"lambda_expression.parameters": "parameter", "parameter_list.name": "parameter",
	}, func(s *side, n int) uint32 {
		if s.parentKind(n) == "foreach_statement" {
			return s.bodyOf(s.parent(n), "body")
		}
		return 0
	})
	l.names = setOf("identifier", "implicit_parameter")
	locals := l.declare
	l.declare = func(s *side, n int, in *scope) {
		switch s.kind(n) {
		case "anonymous_object_creation_expression", "tuple_expression", "query_expression", "with_expression":
			s.conceal(n) // names of members come from names of variables
			return
		case "invocation_expression":
			if f := s.child(n, "function"); f >= 0 && s.tree.Source(f) == "nameof" {
				s.conceal(n)
			}
			return
		}
		if s.place(n) == "variable_declarator.name" && strings.Contains(s.kind(s.parent(s.parent(s.parent(n)))), "field_declaration") {
			return
		}
		locals(s, n, in)
	}
	l.finish = func(s *side) {
		s.pinNamed("argument", ":")
		if strings.Contains(string(s.tree.Text), "CallerArgumentExpression") {
			s.unsafe("a method that reads the text of its arguments")
		}
		for leaf, o := range s.declared {
			if s.unsafeFor != "" {
				o.pin("the file has " + s.unsafeFor)
			}
			if o.Kind == "parameter" && s.above(leaf, setOf("lambda_expression", "anonymous_method_expression")) < 0 {
				o.share() // callers can name it
			}
		}
		csharpMembers(s)
	}
	l.comments = setOf("comment")
	l.exact = setOf("string_literal", "verbatim_string_literal", "raw_string_literal", "character_literal", "interpolated_string_expression", "interpolation",
		"interpolation_format_clause", "preproc_region", "preproc_line", "preproc_error", "preproc_pragma")
	l.newlines = setOf()
	l.optional = lists("initializer_expression", "enum_member_declaration_list", "anonymous_object_creation_expression", "switch_expression")
	l.fixed = func(s *side, n int) bool {
		switch s.place(n) {
		case "member_access_expression.name", "method_declaration.name", "property_declaration.name", "argument.name", "goto_statement.",
			"labeled_statement.", "member_binding_expression.name", "constructor_declaration.name", "attribute.name", "qualified_name.name":
			return s.parentKind(n) != "labeled_statement" || s.parent(n)+1 == n
		}
		return false
	}
	l.scopes = map[string]scopeKind{
		"method_declaration": function, "constructor_declaration": function, "destructor_declaration": function, "operator_declaration": function,
		"conversion_operator_declaration": function, "local_function_statement": function, "lambda_expression": function, "anonymous_method_expression": function,
		"accessor_declaration": function, "property_declaration": function, "indexer_declaration": function, "delegate_declaration": function,
		"block": block, "for_statement": block, "foreach_statement": block, "using_statement": block, "catch_clause": block, "switch_section": block,
		"while_statement": block, "fixed_statement": block, "switch_expression_arm": block, "lock_statement": block, "declaration_list": block,
	}
	l.reserved = setOf(csharpKeywords...)
	l.pinned = func(name string) string {
		if strings.HasPrefix(name, "@") {
			return "the name is written with an escape"
		}
		return ""
	}
	l.inlining = csharpInlining()
	csharpHolds(l)
	return l
}

var csharpKeywords = strings.Fields(`abstract as base bool break byte case catch char checked class const continue decimal default delegate do
	double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long
	namespace new null object operator out override params private protected public readonly ref return sbyte sealed short sizeof stackalloc
	static string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void volatile while _ value var
	dynamic await async nameof field get set add remove init when where yield record with and or not required scoped file global partial`)
