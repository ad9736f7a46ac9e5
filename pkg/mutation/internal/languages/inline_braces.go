package languages

// bracesInlining: an expression over integers, truth values and texts, without
// calls, is worked out as a whole.
func bracesInlining(function, call string, around set, typed *typedInlining) *inlining {
	return &inlining{
		function: function, call: call, name: "identifier", around: around, typed: typed, forbidden: set{},
		expression: setOf("binary expression", "unary expression", "prefix unary expression", "ternary expression", "conditional expression", "parenthesized expression",
			"identifier", "decimal integer literal", "integer literal", "number literal", "string literal", "string fragment", "string literal content", "string content",
			"escape sequence"),
		usable: func(s *side) bool {
			return s.unsafeFor == "" && !s.hasKind("checked_expression") && !s.hasKind("checked_statement")
		},
		helper: func(*side, *object, []*item, int) bool { return true },
		stable: steady,
	}
}

func javaInlining() *inlining {
	return bracesInlining("method declaration", "method invocation",
		setOf("argument list", "binary expression", "return statement", "variable declarator", "assignment expression", "ternary expression", "parenthesized expression",
			"array access", "unary expression"),
		&typedInlining{declares: setOf("method_declaration.name"), modifiers: setOf("private", "static", "final"), whole: "int", long: "long", truth: "boolean", text: "String",
			typeOf: func(s *side, leaf int) string {
				declaration := s.parent(leaf)
				if s.has(declaration, "dimensions") {
					return ""
				}
				switch s.place(leaf) {
				case "variable_declarator.name":
					// A final one could be a constant.
					if declaration = s.parent(declaration); s.kind(declaration) != "local_variable_declaration" || s.has(declaration, "modifiers") {
						return ""
					}
				case "formal_parameter.name":
				default:
					return ""
				}
				return s.textOf(s.child(declaration, "type"))
			}})
}

func csharpInlining() *inlining {
	return bracesInlining("method declaration", "invocation expression",
		setOf("argument", "binary expression", "return statement", "variable declarator", "assignment expression", "conditional expression", "parenthesized expression",
			"arrow expression clause", "if statement", "while statement", "prefix unary expression"),
		&typedInlining{declares: setOf("method_declaration.name"), modifiers: setOf("private", "static"), whole: "int", long: "long", truth: "bool", text: "string", keeps: true,
			typeOf: func(s *side, leaf int) string {
				declaration := s.parent(leaf)
				switch s.place(leaf) {
				case "variable_declarator.name":
					if declaration = s.parent(declaration); s.parentKind(declaration) != "local_declaration_statement" || s.has(s.parent(declaration), "modifier") {
						return ""
					}
				case "parameter.name":
					if declaration+1 != s.child(declaration, "type") {
						return "" // by reference
					}
				default:
					return ""
				}
				return s.textOf(s.child(declaration, "type"))
			}})
}

func kotlinInlining() *inlining {
	return bracesInlining("function declaration", "call expression",
		setOf("value argument", "binary expression", "return expression", "property declaration", "assignment", "parenthesized expression", "function body",
			"if expression", "while statement", "unary expression"),
		&typedInlining{declares: setOf("function_declaration.name"), modifiers: setOf("private"), whole: "Int", long: "Long", truth: "Boolean", text: "String", keeps: true,
			typeOf: func(s *side, leaf int) string {
				// Without a type it may be one of Java's, which can be null.
				if kind := s.parentKind(leaf); kind != "parameter" && kind != "variable_declaration" {
					return ""
				}
				return s.textOf(s.first(s.parent(leaf), "user_type"))
			}})
}

// textOf is the text of a node, "" if there is none.
func (s *side) textOf(n int) string {
	if n < 0 {
		return ""
	}
	return s.tree.Source(n)
}
