package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

func kotlin() *language {
	l := braces(treesitter.Kotlin, nil, nil)
	l.lines = true
	l.goesAfter = setOf(strings.Fields("( [ { , = += -= *= /= %= && || ?: == != === !== < <= >= + - / % . ?. :: in !in is !is : ->")...)
	l.goesBefore = setOf(strings.Fields(". ?. ?: && || ) ] } , else catch finally = : ->")...)
	l.comments = setOf("line_comment", "block_comment", "multiline_comment", "shebang_line")
	l.kept = func(s *side, n int, _ string) bool { return s.kind(n) == "shebang_line" }
	l.exact = setOf("string_literal", "multiline_string_literal", "character_literal", "string_content")
	// $name in a text is not in the tree as a name.
	l.opaque = func(s *side, n int) bool {
		return s.kind(n) == "string_content" && n > 0 && strings.Contains(s.tree.Source(s.parent(n)), "$")
	}
	l.rewrite = kotlinRewrite
	l.optional = func(s *side, n int) bool {
		return s.trailing(n, setOf("value_arguments", "function_value_parameters", "class_parameters", "collection_literal", "lambda_parameters"))
	}
	l.fixed = func(s *side, n int) bool {
		switch s.parentKind(n) {
		case "navigation_expression", "callable_reference", "qualified_identifier", "package_header", "import", "import_header", "labeled_expression":
			return s.parent(n)+1 != n || s.parentKind(n) == "labeled_expression"
		case "value_argument":
			_, after := s.siblings(n)
			return after >= 0 && s.kind(after) == "="
		case "function_declaration", "class_declaration", "object_declaration", "enum_entry", "type_alias":
			return true
		}
		return false
	}
	l.scopes = map[string]scopeKind{"function_declaration": function, "anonymous_function": function, "lambda_literal": function, "secondary_constructor": function,
		"anonymous_initializer": function, "getter": function, "setter": function, "block": block, "for_statement": block, "catch_block": block,
		"when_expression": block, "when_entry": block, "class_body": class, "control_structure_body": block, "function_body": block, "while_statement": block,
		"do_while_statement": block}
	l.declare = kotlinDeclare
	l.finish = func(s *side) {
		s.pinNamed("value_argument", "=")
		for leaf, o := range s.declared {
			if o.Kind == "parameter" && s.above(leaf, setOf("lambda_literal", "anonymous_function")) < 0 {
				o.share() // callers can name it
			}
		}
		kotlinMembers(s)
	}
	l.reserved = setOf(strings.Fields(`as break class continue do else false for fun if in interface is null object package return super this throw
		true try typealias typeof val var when while it field value by catch constructor delegate dynamic file finally get import init param
		property receiver set setparam where _ actual abstract annotation companion const crossinline data enum expect external final infix
		inline inner internal lateinit noinline open operator out override private protected public reified sealed suspend tailrec vararg`)...)
	l.pinned = func(name string) string {
		if strings.HasPrefix(name, "`") {
			return "the name is written in quotes"
		}
		return ""
	}
	l.inlining = kotlinInlining()
	kotlinHolds(l)
	return l
}

func kotlinDeclare(s *side, n int, in *scope) {
	if s.kind(n) != "identifier" || in.region().kind == module {
		return
	}
	owner := s.parent(n)
	first := owner+1 == n
	switch s.kind(owner) {
	case "parameter":
		if first && s.parentKind(owner) == "function_value_parameters" && s.kind(in.node) != "lambda_literal" {
			s.addNamed(in, n, s.tree.Source(n), "parameter", s.tree.Nodes[n].Start)
		}
	case "catch_block":
		if s.siblingBefore(n) == "(" {
			s.addNamed(in, n, s.tree.Source(n), "variable", s.tree.Nodes[n].Start)
		}
	case "variable_declaration":
		if first || s.kind(owner+1) == "annotation" {
			kotlinVariable(s, n, owner, in)
		}
	}
}

func (s *side) siblingBefore(n int) string {
	before, _ := s.siblings(n)
	return s.kind(before)
}

func kotlinVariable(s *side, n, declaration int, in *scope) {
	owner := s.parent(declaration)
	if s.kind(owner) == "multi_variable_declaration" {
		owner = s.parent(owner)
	}
	from, kind := s.tree.Nodes[n].Start, "variable"
	switch s.kind(owner) {
	case "property_declaration":
		if s.parentKind(owner) == "class_body" {
			return
		}
		from = s.tree.Nodes[owner].End
	case "for_statement":
		from = s.tree.Nodes[owner].End
		for c := range s.tree.Children(owner) {
			from = s.tree.Nodes[c].Start // the body is the last
		}
	case "lambda_parameters":
		kind = "parameter"
	case "when_subject":
	default:
		return
	}
	o := s.addNamed(in, n, s.tree.Source(n), kind, from)
	if s.has(owner, "property_delegate") {
		o.pin("what it is delegated to gets its name")
	}
}
