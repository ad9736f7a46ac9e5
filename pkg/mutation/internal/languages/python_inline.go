package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// pythonInlining: parts of an expression are worked out from left to right, and
// a function is there when its line was reached.
func pythonInlining() *inlining {
	return &inlining{
		function: "function definition", call: "call", name: "identifier",
		expression: setOf("binary operator", "boolean operator", "comparison operator", "not operator", "unary operator", "call", "argument list", "attribute", "subscript",
			"identifier", "integer", "float", "string", "string start", "string content", "string end", "none", "true", "false", "conditional expression", "list"),
		around: setOf("argument list", "binary operator", "boolean operator", "comparison operator", "not operator", "unary operator", "return statement", "assignment",
			"augmented assignment", "conditional expression", "list", "pair", "keyword argument", "if statement", "elif clause", "while statement", "attribute"),
		tested: setOf("boolean operator", "not operator", "conditional expression", "if statement", "elif clause", "while statement"),
		forbidden: setOf("locals", "vars", "dir", "globals", "eval", "exec", "super", "_getframe", "inspect", "sys", "await", "yield", "lambda", ":=", "traceback", "warnings",
			"warn", "logging", "logger", "log"),
		usable: func(s *side) bool { return s.unsafeFor == "" && len(s.elsewhere) == 0 && len(s.matches) == 0 },
		// Nothing may happen between the first function that calls it and it.
		helper: func(s *side, o *object, list []*item, at int) bool {
			for i := range at {
				uses := false
				for _, k := range list[i].kids {
					k.Walk(func(n *tree.Node) bool {
						uses = uses || n.Object == o.Object
						return !uses
					})
				}
				for j := i; uses && j < at; j++ {
					if list[j].order == tree.Effect {
						return false
					}
				}
			}
			return !strings.HasPrefix(o.Name, "_") || !strings.HasSuffix(o.Name, "_")
		},
		stable: func(h *helper, o *object, _ int) bool {
			if o.Kind == "parameter" {
				return true
			}
			// A variable may not be set, which is told when it is read: so it must be
			// read in any case, and before anything else happens.
			plain := o.Kind == "variable"
			h.expr.Walk(func(n *tree.Node) bool {
				switch base(n.Kind, h.how.expression) {
				case "call", "conditional expression", "boolean operator", "comparison operator":
					plain = false
				}
				return plain
			})
			for _, p := range h.params {
				plain = plain && h.count(p) > 0
			}
			return plain
		},
	}
}
