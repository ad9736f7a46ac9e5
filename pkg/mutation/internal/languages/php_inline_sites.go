package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

var phpFunctionKinds = union(phpAround, setOf("method_declaration", "function_definition", "anonymous_function", "arrow_function", "property_hook"))

// phpFits tells whether a call stands in a method of the same class, where its
// value is asked for when the call is made, with variables that the method
// surely has and that keep their values.
func phpFits(m *methodHelper, call int) bool {
	s := m.side
	method := s.above(call, phpFunctionKinds)
	class := s.parent(s.parent(m.method))
	if s.kind(method) != "method_declaration" || s.parent(s.parent(method)) != class || s.has(method, "reference_modifier") || phpHides(s, method) ||
		s.contains(method, setOf("goto_statement", "yield_expression", "declare_statement")) {
		return false
	}
	helped, static := s.has(m.method, "static_modifier"), s.has(method, "static_modifier")
	switch s.kind(call) {
	case "member_call_expression":
		if s.textOf(s.child(call, "object")) != "$this" || static {
			return false
		}
	case "scoped_call_expression":
		scope := strings.ToLower(s.textOf(s.child(call, "scope")))
		if scope != "self" && (scope != strings.ToLower(s.textOf(s.child(class, "name"))) || s.kind(s.child(call, "scope")) != "name") || static && !helped {
			return false
		}
	default:
		return false
	}
	return m.phpGiven(call, method) && m.phpStands(call)
}

// phpGiven tells whether the arguments are variables that the expression can
// read as well.
func (m *methodHelper) phpGiven(call, method int) bool {
	s, i, calm := m.side, 0, m.phpCalm()
	for c := range s.tree.Children(s.child(call, "arguments")) {
		if !s.named(c) {
			continue
		}
		leaf := s.only(c)
		if s.kind(c) != "argument" || s.has(c, "reference_modifier") || s.kind(leaf) != "variable_name" || s.declared[leaf] == nil || s.declared[leaf].member || i >= len(m.names) {
			return false
		}
		name := s.tree.Source(leaf)
		if !s.phpKeeps(name, method, calm) || !s.phpIsSet(name, call, method) || m.types[i] != "" && !s.phpTyped(name, m.types[i], method) {
			return false
		}
		i++
	}
	return i == len(m.names)
}

// phpUses are the places of a variable in a method.
func (s *side) phpUses(name string, method int) (uses []int) {
	s.each(method, func(n int) bool {
		if s.kind(n) == "variable_name" && s.tree.Source(n) == name {
			uses = append(uses, n)
		}
		return true
	})
	return uses
}

// phpKeeps tells whether nothing but the method itself can set a variable: it is
// no reference, and, if something may run while it is read, is given to nothing
// that could make it one.
func (s *side) phpKeeps(name string, method int, calm bool) bool {
	for _, n := range s.phpUses(name, method) {
		parent := s.parent(n)
		switch s.kind(parent) {
		case "by_ref", "reference_assignment_expression", "global_declaration", "static_variable_declaration", "unset_statement", "property_promotion_parameter",
			"variadic_parameter":
			return false
		case "argument":
			if !calm && !s.phpByValue(parent) {
				return false
			}
		}
		if s.has(parent, "reference_modifier") || s.child(parent, "reference_modifier") >= 0 {
			return false
		}
	}
	return true
}

// phpByValue tells whether the function that gets an argument is known to take
// it by value.
func (s *side) phpByValue(argument int) bool {
	call := s.parent(s.parent(argument))
	if s.kind(argument) != "argument" || s.parts(argument) != 1 {
		return false
	}
	switch s.kind(call) {
	case "function_call_expression":
		_, known := s.phpFunction(call)
		name := strings.ToLower(s.textOf(s.child(call, "function")))
		return known && name != "isset" && name != "empty"
	case "member_call_expression", "scoped_call_expression":
		o := s.declared[s.child(call, "name")]
		if o == nil || !o.member {
			return false
		}
		found := false
		for leaf, other := range s.declared {
			if other != o || s.place(leaf) != "method_declaration.name" {
				continue
			}
			parameters := s.child(s.parent(leaf), "parameters")
			if parameters < 0 || strings.Contains(s.tree.Source(parameters), "&") {
				return false
			}
			found = true
		}
		return found
	}
	return false
}

// phpIsSet tells whether a variable surely has a value at a place: it is a
// parameter, that of a loop around, or set in a statement before.
func (s *side) phpIsSet(name string, at, method int) bool {
	for c := range s.tree.Children(max(s.child(method, "parameters"), 0)) {
		if s.kind(c) == "simple_parameter" && s.textOf(s.child(c, "name")) == name {
			return true
		}
	}
	for child, n := at, s.parent(at); n != method; child, n = n, s.parent(n) {
		switch s.kind(n) {
		case "foreach_statement":
			if s.field(child) == "body" && s.phpRuns(n, name) {
				return true
			}
		case "compound_statement", "colon_block", "case_statement", "default_statement":
			for c := range s.tree.Children(n) {
				if c == child {
					break
				}
				set := s.only(c)
				if s.kind(c) == "expression_statement" && s.kind(set) == "assignment_expression" && s.textOf(s.child(set, "left")) == name {
					return true
				}
			}
		}
	}
	return false
}

// phpRuns tells whether a loop gives a variable its value.
func (s *side) phpRuns(loop int, name string) bool {
	passed := false
	for c := range s.tree.Children(loop) {
		switch kind := s.kind(c); {
		case kind == "as":
			passed = true
		case passed && kind == "variable_name" && s.tree.Source(c) == name:
			return true
		case passed && kind == "pair":
			for part := range s.tree.Children(c) {
				if s.kind(part) == "variable_name" && s.tree.Source(part) == name {
					return true
				}
			}
		}
	}
	return false
}

// phpTyped tells whether a variable is a parameter of a type that nothing sets.
func (s *side) phpTyped(name, of string, method int) bool {
	found := false
	for _, n := range s.phpUses(name, method) {
		parent := s.parent(n)
		switch s.kind(parent) {
		case "simple_parameter":
			if s.parent(s.parent(parent)) != method {
				return false // of a function in it
			}
			value := s.child(parent, "default_value")
			if phpType(s.textOf(s.child(parent, "type"))) != of || strings.Contains(strings.ToLower(s.textOf(value)), "null") {
				return false
			}
			found = true
			continue
		case "argument":
			if !s.phpByValue(parent) {
				return false
			}
		case "update_expression", "catch_clause", "list_literal", "foreach_statement", "pair", "anonymous_function_use_clause":
			return false
		}
		for at := n; at != method; at = s.parent(at) {
			if s.field(at) == "left" && strings.HasSuffix(s.parentKind(at), "assignment_expression") {
				return false
			}
		}
	}
	return found
}

// phpStands tells whether the value of a call is asked for as a whole, in a
// place where the expression means the same.
func (m *methodHelper) phpStands(call int) bool {
	s, at := m.side, call
	for s.parentKind(at) == "parenthesized_expression" {
		at = s.parent(at)
	}
	root, parent := s.kind(m.value), s.parent(at)
	switch kind := s.kind(parent); kind {
	case "return_statement", "echo_statement", "if_statement", "else_if_clause", "while_statement", "do_statement":
		return true
	case "binary_expression":
		// What is left of ?? is not asked for if it is not there.
		return phpOperators[s.operator(parent)] && (s.operator(parent) != "??" || s.field(at) == "right")
	case "conditional_expression":
		return root != "conditional_expression"
	case "unary_op_expression":
		return s.operator(parent) == "!"
	case "assignment_expression", "augmented_assignment_expression":
		return s.field(at) == "right" && s.kind(s.child(parent, "left")) != "list_literal" && s.operator(parent) != "??="
	case "array_element_initializer":
		return s.parentKind(parent) == "array_creation_expression"
	case "argument":
		return s.phpByValue(parent)
	case "subscript_expression":
		first, _ := s.siblings(at)
		return first >= 0
	}
	return false
}

// phpGrouped goes by the rules that take parentheses off (phpInner).
func phpGrouped(m *methodHelper, parent, call, made *tree.Node) *tree.Node {
	s := m.side
	root, wraps := s.kind(m.value), false
	switch around := strings.HasSuffix(parent.Kind, "binary expression"); {
	case !around && !strings.HasSuffix(parent.Kind, "unary op expression"):
	case root == "conditional_expression":
		wraps = true
	case root == "binary_expression":
		wraps = phpLevels[s.operator(m.value)] < phpLevels["!"]
		if around {
			within, outer := phpLevels[s.operator(m.value)], phpLevels[operatorOf(parent)]
			at := s.parent(s.origin[m.calledBy(call)])
			for s.parentKind(at) == "parenthesized_expression" {
				at = s.parent(at)
			}
			wraps = !s.phpTighter(at, within, outer)
		}
	}
	if wraps {
		return inParentheses("parenthesized expression", made)
	}
	return made
}

// operatorOf is the operator of a node in the tree that is compared.
func operatorOf(n *tree.Node) string {
	for _, k := range n.Kids {
		if strings.HasPrefix(k.Kind, "operator ") {
			return strings.ToLower(k.Text)
		}
	}
	return ""
}
