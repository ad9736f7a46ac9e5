package languages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// Extraction is a program in which an expression of a method is a method of its
// own, which is called in its place.
type Extraction struct {
	// Expression is what was taken, Names are its variables.
	Expression string
	Names      []string
	// Call and Method are what came.
	Call, Method string
	// Text is the program, CallAt and MethodAt where they stand in it.
	Text             string
	CallAt, MethodAt int
}

// extracted are the kinds of expressions that are taken, refused those that
// they may not have: what sets something, and what sees where it stands.
var (
	extracted = setOf("binary_expression", "conditional_expression", "encapsed_string", "unary_op_expression", "binary", "conditional", "call", "string", "element_reference")
	refused   = setOf("assignment_expression", "augmented_assignment_expression", "update_expression", "anonymous_function", "arrow_function", "yield_expression",
		"include_expression", "require_once_expression", "exit_statement", "throw_expression", "dynamic_variable_name", "heredoc", "assignment", "operator_assignment",
		"block", "do_block", "lambda", "yield", "super", "heredoc_beginning", "comment", "self", "block_argument", "splat_argument", "hash_splat_argument", "anonymous_class")
)

// Extractions are those of a text, of which each has one expression in a method
// of its own.
func Extractions(name string, text []byte) (list []Extraction) {
	s := understood(name, text)
	if s == nil {
		return nil
	}
	t := s.tree
	for n := range t.Nodes {
		if !extracted[s.kind(n)] || !s.named(n) || s.contains(n, refused) {
			continue
		}
		method := s.above(n, setOf("method_declaration", "anonymous_function", "arrow_function", "method", "singleton_method", "lambda"))
		if method < 0 {
			continue
		}
		class := s.above(method, setOf("class_declaration", "class", "module", "trait_declaration", "interface_declaration", "singleton_class"))
		if k := s.kind(method); k != "method_declaration" && k != "method" || class < 0 || s.kind(class) != "class_declaration" && s.kind(class) != "class" ||
			s.above(n, setOf("formal_parameters", "method_parameters", "static_variable_declaration")) >= 0 || s.child(class, "body") < 0 {
			continue
		}
		if s.field(n) == "left" && strings.HasSuffix(s.parentKind(n), "assignment") || s.kind(n) == "call" && s.child(n, "receiver") < 0 || !s.contains(n, setOf("variable_name", "instance_variable")) && len(s.extraction(n, method, class).Names) == 0 {
			continue // a target, a call of the object itself, a literal
		}
		list = append(list, s.extraction(n, method, class))
	}
	return list
}

func (s *side) extraction(n, method, class int) Extraction {
	e := Extraction{Expression: s.tree.Source(n)}
	s.each(n, func(i int) bool {
		name := s.tree.Source(i)
		variable := s.kind(i) == "variable_name" && name != "$this" || s.kind(i) == "identifier" && s.declaredAt(i) != nil && !s.declaredAt(i).member && !s.language.fixed(s, i)
		if variable && !slices.Contains(e.Names, name) {
			e.Names = append(e.Names, name)
		}
		return true
	})
	given := strings.Join(e.Names, ", ")
	end := int(s.tree.Nodes[class].End) - 1
	if s.language.grammar == treesitter.PHP {
		static, call := "", "$this->"
		if s.has(method, "static_modifier") {
			static, call = "static ", "self::"
		}
		e.Call = call + "extractedPart(" + given + ")"
		e.Method = fmt.Sprintf("\n    private %sfunction extractedPart(%s)\n    {\n        return %s;\n    }\n", static, given, e.Expression)
	} else {
		end -= len("en")
		e.Call = "extracted_part(" + given + ")"
		e.Method = fmt.Sprintf("\n  private\n\n  def extracted_part(%s)\n    %s\n  end\n", given, e.Expression)
	}
	from, to, text := int(s.tree.Nodes[n].Start), int(s.tree.Nodes[n].End), string(s.tree.Text)
	e.CallAt, e.MethodAt = from, end+len(e.Call)-(to-from)
	e.Text = text[:from] + e.Call + text[to:end] + e.Method + text[end:]
	return e
}
