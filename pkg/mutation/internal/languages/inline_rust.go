package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rustWhole are the types of whole numbers, which have no conversions but those
// that are written; rustPlainTypes all that a helper may have.
var (
	rustWhole      = setOf("i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize")
	rustPlainTypes = union(rustWhole, setOf("bool", "char", "&str"))
)

// rustUntyped stands for the type of a number that takes it from where it stands,
// rustNegative for that of one with a sign before it.
const (
	rustUntyped  = "{integer}"
	rustNegative = "-{integer}"
)

// rustInlining: operators on these types are the language's own, parts are
// worked out from left to right, and a variable is what its declaration says.
func rustInlining() *inlining {
	return &inlining{
		function: "function item", call: "call expression", name: "identifier", forbidden: set{},
		expression: setOf("binary expression", "unary expression", "parenthesized expression", "type cast expression", "primitive type", "identifier",
			"integer literal", "char literal", "boolean literal", "string literal", "string content", "escape sequence"),
		grouping: setOf("binary expression", "unary expression", "parenthesized expression", "type cast expression", "let declaration", "assignment expression",
			"compound assignment expr", "return expression", "arguments", "range expression", "index expression", "field initializer", "if expression",
			"while expression", "match expression", "match arm", "tuple expression", "array expression", "block"),
		usable: rustUsable,
		helper: func(s *side, o *object, _ []*item, _ int) bool { return o.in.parent == nil },
		stable: func(h *helper, o *object, at int) bool {
			// What may be a macro could declare another one, which can be made a text.
			if slices.Contains(h.types, "&str") && h.side.once("disturbed", o, func() bool { return h.side.disturbs(o, o.Name, o.Name) != "" }) {
				return false
			}
			return o.Pinned == "" && !o.conditional && (o.Kind == "parameter" || o.Kind == "variable") && h.hasTypeOf(o, at)
		},
		leads: rustSpare,
		place: rustSite,
		typed: &typedInlining{
			declares: setOf("function_item.name"), read: readRust,
			fits: func(h *helper) bool {
				kind := base(h.expr.Kind, h.how.expression)
				return kind != "identifier" && h.rustType(h.expr) == h.result
			},
			typeOf: func(s *side, leaf int) string {
				if place := s.place(leaf); place != "let_declaration.pattern" && place != "parameter.pattern" {
					return ""
				}
				if of := s.textOf(s.child(s.parent(leaf), "type")); rustPlainTypes[of] {
					return of
				}
				return ""
			}},
	}
}

// rustUsable: the names of the types must have their own meaning.
func rustUsable(s *side) bool {
	if strings.Contains(string(s.tree.Text), "rustc_inherit_overflow_checks") {
		return false
	}
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "identifier", "type_identifier", "primitive_type":
			if text := s.tree.Source(n); (rustWhole[text] || text == "bool" || text == "char" || text == "str") && !s.rustOwnMeaning(n) {
				return false
			}
		case "use_wildcard":
			if s.parent(s.above(n, setOf("use_declaration"))) == 0 && s.rustBrings(n) {
				return false
			}
		}
	}
	return true
}

// rustOwnMeaning tells whether a place with the name of one of these types gives
// it to nothing else. The modules of the standard library that have such a name
// do not hide the type.
func (s *side) rustOwnMeaning(n int) bool {
	if use := s.above(n, setOf("use_declaration", "extern_crate_declaration")); use >= 0 {
		from := words(s.tree.Source(s.child(use, "argument")))
		return s.kind(use) == "use_declaration" && len(from) > 0 && (from[0] == "std" || from[0] == "core") && s.place(n) != "use_as_clause.alias"
	}
	path := s.textOf(s.child(s.parent(n), "path"))
	switch s.place(n) {
	case "scoped_identifier.path", "field_expression.field":
		return true
	case "scoped_identifier.name":
		return path == "std" || path == "core"
	}
	return s.kind(n) == "primitive_type" || s.parentKind(n) == "token_tree"
}

// rustBrings tells whether an import of all names could bring one of a type:
// what the file itself has is known, and what the standard library has.
func (s *side) rustBrings(n int) bool {
	text := s.tree.Source(n)
	path := strings.Split(strings.TrimSuffix(text, "::*"), "::")
	switch last := path[len(path)-1]; {
	case s.parentKind(n) != "use_declaration" || !strings.HasSuffix(text, "::*"):
		return true
	case path[0] == "std" || path[0] == "core" || len(path) == 1 && last == "Self":
		return false
	case len(path) == 1 && last == "super":
		return s.above(n, setOf("mod_item")) < 0
	case len(path) == 1 || len(path) == 2 && path[0] == "self" && s.above(n, setOf("mod_item")) < 0:
		for c := range s.tree.Children(0) {
			if s.kind(c) == "enum_item" && s.textOf(s.child(c, "name")) == last {
				return false
			}
		}
	}
	return true
}

// rustGlobs tells whether a block, a module or the file imports all names of
// something that could bring one of a type.
func (s *side) rustGlobs(scope int) bool {
	for use := range s.tree.Children(scope) {
		if s.kind(use) != "use_declaration" {
			continue
		}
		for n := use; n < int(s.tree.Nodes[use].Next); n++ {
			if s.kind(n) == "use_wildcard" && s.rustBrings(n) {
				return true
			}
		}
	}
	return false
}

// rustSpare tells whether something in front of a function goes with it: its
// documentation, and what tells the compiler to inline it.
func rustSpare(n *tree.Node) bool {
	if n.Kind == "comment" {
		return true
	}
	words := wordsOf(n)
	return n.Kind == "attribute item" && len(words) > 2 && (words[2] == "inline" || words[2] == "must_use" && len(words) == 4)
}

func readRust(h *helper, function *tree.Node) bool {
	for _, k := range function.Kids {
		switch {
		case k.Kind == "fn", k.Kind == "->", k.Kind == "name identifier":
		case strings.HasPrefix(k.Kind, "return type "):
			h.result = strings.Join(wordsOf(k), "")
		case k.Kind == "parameters parameters":
			if !h.typedParameters(k) {
				return false
			}
		case k.Kind == "body block":
			h.expr = rustReturned(k)
		default:
			return false
		}
	}
	for i, of := range h.types {
		h.types[i] = strings.ReplaceAll(of, " ", "")
	}
	pinned := func(p *tree.Object) bool { return p.Pinned != "" }
	return h.expr != nil && rustPlainTypes[h.result] && !slices.ContainsFunc(h.params, pinned)
}

// rustReturned is the expression that the body of a function is or returns, or
// nil.
func rustReturned(body *tree.Node) *tree.Node {
	if len(body.Kids) != 3 {
		return nil
	}
	if value := body.Kids[1]; value.Kind != "return expression" {
		return value
	} else if len(value.Kids) == 2 {
		return value.Kids[1]
	}
	return nil
}

// rustType is the type of an expression over the parameters and literals, or "".
func (h *helper) rustType(n *tree.Node) string {
	switch base(n.Kind, h.how.expression) {
	case "identifier":
		if i := slices.Index(h.params, n.Object); n.Object != nil && i >= 0 && rustPlainTypes[h.types[i]] {
			return h.types[i]
		}
	case "integer literal":
		return rustNumber(n.Text)
	case "char literal":
		if !strings.HasPrefix(strings.Join(wordsOf(n), ""), "b") {
			return "char"
		}
		return "u8"
	case "boolean literal":
		return "bool"
	case "string literal":
		if words := wordsOf(n); len(words) > 0 && words[0] == `"` {
			return "&str"
		}
	case "parenthesized expression":
		if len(n.Kids) == 3 {
			return h.rustType(n.Kids[1])
		}
	case "unary expression":
		if len(n.Kids) == 2 {
			return rustUnary(n.Kids[0].Text, h.rustType(n.Kids[1]))
		}
	case "type cast expression":
		if len(n.Kids) == 3 {
			return rustCast(h.rustType(n.Kids[0]), n.Kids[2].Text)
		}
	case "binary expression":
		if len(n.Kids) == 3 {
			return rustOperation(n.Kids[1].Text, h.rustType(n.Kids[0]), h.rustType(n.Kids[2]))
		}
	}
	return ""
}

// rustNumber is the type that stands at the end of a number.
func rustNumber(text string) string {
	for of := range rustWhole {
		if strings.HasSuffix(text, of) {
			return of
		}
	}
	return rustUntyped
}

func rustUnary(operator, of string) string {
	switch {
	case operator == "-" && of == rustUntyped:
		return rustNegative
	case operator == "-" && rustWhole[of] && of[0] == 'i', operator == "!" && (rustWhole[of] || of == "bool"):
		return of
	}
	return ""
}

func rustCast(from, to string) string {
	switch {
	case rustWhole[to] && (rustWhole[from] || from == "bool" || from == "char"), to == "char" && from == "u8":
		return to
	}
	return ""
}

// rustOperation is the type of an operation on two types, of which one must be
// certain wherever the expression stands.
func rustOperation(operator, left, right string) string {
	signed := func(of string) bool { return rustWhole[of] && of[0] == 'i' }
	switch {
	case left == rustNegative && signed(right):
		left = rustUntyped
	case right == rustNegative && signed(left):
		right = rustUntyped
	}
	of := left
	if left == rustUntyped && rustWhole[right] {
		of = right
	}
	same := of != rustUntyped && of != rustNegative && of != "" && (right == of || right == rustUntyped && rustWhole[of])
	switch operator {
	case "+", "-", "*", "/", "%":
		if same && rustWhole[of] {
			return of
		}
	case "&", "|", "^":
		if same && (rustWhole[of] || of == "bool") {
			return of
		}
	case "<<", ">>":
		if rustWhole[left] && (rustWhole[right] || right == rustUntyped) {
			return left
		}
	case "==", "!=", "<", ">", "<=", ">=":
		if same {
			return "bool"
		}
	case "&&", "||":
		if left == "bool" && right == "bool" {
			return "bool"
		}
	}
	return ""
}

// rustAround are the places in which a value is worked out and used as such.
var rustAround = setOf("arguments.", "binary_expression.left", "binary_expression.right", "unary_expression.", "type_cast_expression.value", "let_declaration.value",
	"assignment_expression.right", "compound_assignment_expr.right", "return_expression.", "if_expression.condition", "while_expression.condition",
	"match_expression.value", "match_arm.value", "range_expression.", "field_initializer.value", "tuple_expression.", "array_expression.", "expression_statement.",
	"closure_expression.body")

// rustSite tells whether a call stands where its value is used, and no
// attribute around it could make something else of an operator.
func rustSite(h *helper, at int) bool {
	s := h.side
	n := s.parent(at)
	for s.parentKind(n) == "parenthesized_expression" {
		n = s.parent(n)
	}
	tail := s.parentKind(n) == "block"
	if tail {
		_, after := s.siblings(n)
		tail = s.kind(after) == "}"
	}
	index := s.parentKind(n) == "index_expression" && n != s.parent(n)+1
	if !tail && !index && !rustAround[s.place(n)] {
		return false
	}
	for scope := s.parent(at); scope >= 0; scope = s.parent(scope) {
		if s.globBlocks()[scope] && s.rustGlobs(scope) {
			return false
		}
	}
	for n = s.parent(at); n >= 0; n = s.parent(n) {
		for before, _ := s.siblings(max(n, 1)); n > 0 && before >= 0 && s.kind(before) == "attribute_item"; before, _ = s.siblings(before) {
			if !rustKnown(strings.TrimLeft(s.tree.Source(before), "#[! \t\r\n")) {
				return false
			}
		}
	}
	return true
}
