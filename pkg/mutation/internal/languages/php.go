package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func php() *language {
	l := braces(treesitter.PHP, nil, nil)
	l.sequential = false
	l.names = setOf("variable_name")
	l.comments = setOf("comment")
	// Annotations are read from comments at run time.
	l.kept = func(_ *side, _ int, text string) bool {
		return strings.HasPrefix(text, "/**") && strings.ContainsFunc(text, func(r rune) bool { return r == '@' })
	}
	l.exact = setOf("string", "encapsed_string", "heredoc", "heredoc_body", "nowdoc", "nowdoc_body", "nowdoc_string", "shell_command_expression",
		"text", "text_interpolation", "string_content")
	trailing := lists("array_creation_expression", "arguments", "formal_parameters", "match_block", "anonymous_function_use_clause", "unset_statement", "list_literal")
	l.optional = func(s *side, n int) bool {
		// new C and new C() are the same.
		if s.kind(n) == "arguments" && s.parentKind(n) == "object_creation_expression" {
			return s.parts(n) == 0 && !s.has(s.parent(n), "declaration_list")
		}
		// A semicolon alone does nothing.
		if s.kind(n) == "empty_statement" && s.parentKind(n) == "compound_statement" {
			return s.tree.Source(n) == ";"
		}
		// So are exit and exit().
		if s.parentKind(n) == "exit_statement" && (s.kind(n) == "(" || s.kind(n) == ")") {
			return s.parts(s.parent(n)) == 0
		}
		// array(1) and [1] are the same.
		if s.parentKind(n) == "array_creation_expression" && !s.named(n) && s.kind(n) != "," {
			return true
		}
		// list($a) = $b and [$a] = $b are the same, but one cannot be in the other.
		if list := s.parent(n); list > 0 && s.kind(list) == "list_literal" && phpListSign[s.kind(n)] {
			outer := s.above(list, setOf("list_literal"))
			return outer < 0 || s.has(outer, "list") == s.has(list, "list")
		}
		return trailing(s, n)
	}
	// The letters of 0xAB and TRUE are the same in both cases.
	l.spelling = func(s *side, n int, text string) string {
		switch s.kind(n) {
		case "integer", "boolean", "null":
			return strings.ToLower(text)
		}
		return text
	}
	l.inner = phpInner
	l.rewrite = phpRewrite
	l.fixed = func(s *side, n int) bool {
		return s.place(n) == "scoped_property_access_expression.name" || s.parentKind(n) == "property_element" || s.tree.Source(n) == "$this"
	}
	// A closure's own variables share the scope of the function around it: only
	// what renames both alike is proven.
	l.scopes = map[string]scopeKind{"function_definition": function, "method_declaration": function}
	l.declare = phpDeclare
	l.finish = func(s *side) {
		s.pinNamed("argument", ":")
		byName := strings.Contains(string(s.tree.Text), "$GLOBALS")
		for _, o := range s.declared {
			if byName && o.region.parent == nil {
				o.pin("the file finds variables by their names")
			}
			if s.unsafeFor != "" {
				o.pin("the file has " + s.unsafeFor)
			}
		}
		phpMembers(s)
	}
	l.folds, l.sigil = true, "$"
	l.dynamic = map[string]reach{}
	l.reserved = setOf("$this", "$GLOBALS", "$_SERVER", "$_GET", "$_POST", "$_FILES", "$_COOKIE", "$_SESSION", "$_REQUEST", "$_ENV", "$argc", "$argv",
		"$http_response_header", "$php_errormsg")
	phpHolds(l)
	l.inlining = phpInlining()
	return l
}

var phpListSign = setOf("list", "(", ")", "[", "]")

// phpByName reach variables by their spelling.
var phpByName = setOf("compact", "extract", "get_defined_vars", "parse_str", "eval", "func_get_args", "assert")

func phpDeclare(s *side, n int, in *scope) {
	switch s.kind(n) {
	case "variable_name":
		phpVariable(s, n, in)
	case "dynamic_variable_name":
		s.unsafe("a variable that is named by another")
	case "include_expression", "include_once_expression", "require_expression", "require_once_expression":
		if in.region().kind == function {
			s.conceal(s.region(in))
		}
	case "function_call_expression":
		if f := s.child(n, "function"); f >= 0 && phpByName[strings.TrimPrefix(strings.ToLower(s.tree.Source(f)), `\`)] {
			s.conceal(s.region(in))
		}
	case "name":
		if s.tree.Source(n) == "eval" {
			s.conceal(s.region(in))
		}
	}
}

// phpPromoted is what pins the parameters of constructors that declare members,
// where those are not known.
const phpPromoted = "it is a member, too"

// region is the node of the function or file around a scope.
func (s *side) region(in *scope) int { return in.region().node }

func phpVariable(s *side, n int, in *scope) {
	if s.language.fixed(s, n) || s.parentKind(n) == "static_variable_declaration" && s.field(n) != "name" {
		return
	}
	in = in.region()
	kind := "variable"
	switch s.parentKind(n) {
	case "simple_parameter", "variadic_parameter":
		kind = "parameter"
	case "property_promotion_parameter":
		s.add(in, n, "parameter").pin(phpPromoted)
		return
	case "global_declaration":
		s.add(in, n, "variable").pin("it is a variable of the file")
		return
	}
	o := s.add(in, n, kind)
	switch {
	case in.kind == module:
		o.share()
	case kind == "parameter" && s.above(n, setOf("anonymous_function", "arrow_function")) < 0:
		o.share() // callers can name it
	}
}
