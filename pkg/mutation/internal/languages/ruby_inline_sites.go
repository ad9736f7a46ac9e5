package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// rubyFits tells whether a call stands in a method of the same body of a class,
// where its value is asked for when the call is made, with variables that are
// set in one place.
func rubyFits(m *methodHelper, call int) bool {
	s := m.side
	method := s.above(call, setOf("method", "singleton_method"))
	if method < 0 || s.above(call, rubyBodies) != s.above(m.method, rubyBodies) || s.above(method, rubyBodies) != s.above(m.method, rubyBodies) || !s.rubyQuiet(method) {
		return false
	}
	given := 0
	if s.kind(call) == "call" {
		arguments := s.child(call, "arguments")
		if s.child(call, "receiver") >= 0 || s.child(call, "block") >= 0 || arguments >= 0 && s.kind(arguments+1) != "(" {
			return false
		}
		for c := range s.tree.Children(max(arguments, 0)) {
			if arguments < 0 || !s.named(c) || s.language.comments[s.kind(c)] {
				continue
			}
			if !m.rubyKeeps(c, method) {
				return false
			}
			given++
		}
	} else if s.kind(call) != "identifier" || s.place(call) == "call.method" {
		return false
	}
	return given == len(m.params) && m.rubyStands(call, method)
}

// rubyQuiet tells whether a method has no variables that the table does not
// know: those of patterns, and those that matching a text sets.
func (s *side) rubyQuiet(method int) bool {
	return s.each(method, func(n int) bool {
		text := ""
		switch kind := s.kind(n); kind {
		case "case_match", "test_pattern", "match_pattern", "in_clause":
			return false
		case "regex":
			return !strings.Contains(s.tree.Source(n), "(?<")
		case "global_variable":
			text = strings.TrimPrefix(s.tree.Source(n), "$")
			return text != "_" && isLetter(rune(text[0])) && text[0] > '9' && strings.ToLower(text) == text
		case "identifier":
			return s.tree.Source(n) != "last_match"
		}
		return true
	})
}

// rubyKeeps tells whether an argument is a local variable that is set in one
// place alone: so nothing can set it while the expression is worked out.
func (m *methodHelper) rubyKeeps(arg, method int) bool {
	s := m.side
	if s.kind(arg) != "identifier" {
		return false
	}
	o := s.declaredAt(arg)
	return o != nil && !o.member && len(m.homes[o]) == 1 && o.region.node == method && s.scopeAt(arg).region() == o.region && (o.Kind == "parameter" || o.Kind == "variable")
}

var rubyConditions = setOf("if", "unless", "while", "until", "elsif", "if_modifier", "unless_modifier", "while_modifier", "until_modifier")

// rubyStands tells whether the value of a call is asked for as a whole, in a
// place where the expression means the same.
func (m *methodHelper) rubyStands(at, method int) bool {
	s := m.side
	parent := s.parent(at)
	kind, field := s.kind(parent), s.field(at)
	if rubyConditions[kind] && field == "condition" {
		return true
	}
	switch kind {
	case "binary":
		return rubyLevels[s.textOf(s.child(parent, "operator"))] > 0
	case "unary":
		return s.textOf(s.child(parent, "operator")) == "!"
	case "conditional", "array":
		return true
	case "pair":
		return field == "value"
	case "interpolation":
		return s.parentKind(parent) == "string" && s.parts(parent) == 1
	case "operator_assignment":
		return field == "right"
	case "assignment":
		return field == "right" && s.kind(s.child(parent, "left")) != "left_assignment_list"
	case "element_reference":
		return !m.rubySafeCall()
	case "call":
		return field == "receiver" && !m.rubySafeCall()
	case "parenthesized_statements":
		return s.parts(parent) == 1 && m.rubyStands(parent, method)
	case "argument_list":
		return m.rubyArgument(at, parent)
	}
	return m.rubyStatement(at, parent, method)
}

// rubySafeCall tells whether the expression is a call that may be left out.
func (m *methodHelper) rubySafeCall() bool {
	return m.side.kind(m.value) == "call" && m.side.textOf(m.side.child(m.value, "operator")) == "&."
}

// rubyArgument: without parentheses the first argument must begin with what
// can be no operator.
func (m *methodHelper) rubyArgument(at, list int) bool {
	s := m.side
	call := s.kind(s.parent(list))
	if call == "return" {
		return true
	}
	if call != "call" && call != "yield" && call != "super" {
		return false
	}
	if before, _ := s.siblings(at); before >= 0 {
		return true
	}
	first := m.value
	for int(s.tree.Nodes[first].Next) > first+1 {
		first++
	}
	switch s.kind(first) {
	case "identifier", "instance_variable", "constant", "integer", "float", `"`, "'":
		return true
	}
	return false
}

// rubyStatement: what stands alone is worked out if it calls something, or is
// the value of its method or block.
func (m *methodHelper) rubyStatement(at, parent, method int) bool {
	s := m.side
	switch root := s.kind(m.value); {
	case root == "element_reference", root == "call", root == "binary" && rubyLevels[s.textOf(s.child(m.value, "operator"))] > rubyLevels["&&"]:
		switch s.kind(parent) {
		case "body_statement", "then", "else", "block_body", "do":
			return true
		case "if_modifier", "unless_modifier":
			return s.field(at) == "body"
		}
	}
	if parent == method {
		return s.field(at) == "body"
	}
	last := -1
	for c := range s.tree.Children(parent) {
		switch s.kind(c) {
		case "rescue", "ensure", "else":
			return false
		}
		if s.named(c) && !s.language.comments[s.kind(c)] {
			last = c
		}
	}
	return last == at && (s.kind(parent) == "block_body" || s.kind(parent) == "body_statement" && s.parent(parent) == method)
}

// rubyGrouped puts parentheses where the language needs them.
func rubyGrouped(m *methodHelper, parent, call, made *tree.Node) *tree.Node {
	s := m.side
	root, wraps := s.kind(m.value), false
	taken := strings.HasPrefix(call.Kind, "receiver ") || strings.HasPrefix(call.Kind, "object ")
	switch root {
	case "binary":
		wraps = taken || strings.HasSuffix(parent.Kind, "unary")
		if strings.HasSuffix(parent.Kind, "binary") {
			within, around := rubyLevels[s.textOf(s.child(m.value, "operator"))], rubyLevels[operatorOf(parent)]
			wraps = within < around || within == around && (parent.Kids[0] != call || within == rubyLevels["=="])
		}
	case "conditional":
		wraps = taken || strings.HasSuffix(parent.Kind, "unary") || strings.HasSuffix(parent.Kind, "binary") || strings.HasSuffix(parent.Kind, "conditional")
	case "unary":
		wraps = taken
	}
	if wraps {
		return inParentheses("parenthesized statements", made)
	}
	return made
}
