package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// scriptInlining: parts of an expression are worked out from left to right, and
// a function is there before anything runs.
func scriptInlining() *inlining {
	return &inlining{
		function: "function declaration", call: "call expression", name: "identifier",
		expression: setOf("binary expression", "member expression", "subscript expression", "call expression", "arguments", "identifier", "property identifier", "number",
			"string", "template string", "template substitution", "string fragment", "true", "false", "null", "undefined", "ternary expression", "parenthesized expression",
			"array", "regex"),
		around: setOf("arguments", "binary expression", "return statement", "variable declarator", "assignment expression", "augmented assignment expression", "array", "pair",
			"ternary expression", "template substitution", "parenthesized expression", "member expression", "await expression"),
		forbidden: setOf("eval", "arguments", "this", "super", "new", "delete", "await", "yield", "?.", "=>", "async", "in", "??", "**", "import", "typeof", "void"),
		usable: func(s *side) bool {
			if s.unsafeFor != "" || !s.isModule() && !s.isCommonJS() {
				return false
			}
			for n := range s.tree.Nodes {
				if s.kind(n) == "identifier" && (s.tree.Source(n) == "eval" || s.tree.Source(n) == "arguments") {
					return false
				}
			}
			return true
		},
		helper: func(s *side, o *object, _ []*item, _ int) bool { return o.Reach == tree.Local && !s.assigned()[o] },
		stable: func(h *helper, o *object, at int) bool {
			home := h.homes[o][0]
			if h.side.assigned()[o] || o.Kind != "parameter" && o.Kind != "variable" {
				return false
			}
			// A variable is not there before its declaration was reached.
			return o.Kind == "parameter" || h.side.tree.Nodes[home].Start < h.side.tree.Nodes[at].Start && h.side.kind(o.in.node) != "switch_body" &&
				h.side.above(home, setOf("for_in_statement", "for_statement")) < 0
		},
	}
}

// assigned are the objects that are set to something after their declaration.
func (s *side) assigned() map[*object]bool {
	if s.set == nil {
		s.set = map[*object]bool{}
		for n := range s.tree.Nodes {
			switch s.place(n) {
			case "assignment_expression.left", "augmented_assignment_expression.left", "for_in_statement.left", "update_expression.argument":
				for i := n; i < int(s.tree.Nodes[n].Next); i++ {
					if s.language.names[s.kind(i)] {
						if o := s.lookup(s.scopeAt(i), s.tree.Source(i), s.tree.Nodes[i].Start); o != nil {
							s.set[o] = true
						}
					}
				}
			}
		}
	}
	return s.set
}
