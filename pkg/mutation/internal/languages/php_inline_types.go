package languages

import (
	"slices"
	"strconv"
	"strings"
)

// phpType is a type as it is compared; "" for one that converts nothing.
func phpType(text string) string {
	text = strings.Join(strings.Fields(text), "")
	if lower := strings.ToLower(text); phpScalars[strings.TrimPrefix(lower, "?")] || lower == "mixed" {
		text = lower
	}
	if text == "mixed" {
		return ""
	}
	return text
}

var phpScalars = setOf("int", "float", "string", "bool", "array")

// phpReturns tells whether the expression has the type that the method
// returns: else it would be converted, or refused.
func (m *methodHelper) phpReturns() bool {
	if m.result == "" {
		return true
	}
	of := m.phpTypeOf(m.value)
	return of != "" && of == strings.TrimPrefix(m.result, "?")
}

// phpTypeOf is the type that an expression surely has, or "".
func (m *methodHelper) phpTypeOf(n int) string {
	s := m.side
	text := s.textOf(n)
	switch s.kind(n) {
	case "parenthesized_expression":
		return m.phpTypeOf(s.only(n))
	case "integer": // a greater one is a float
		if _, err := strconv.ParseInt(text, 0, 64); err == nil {
			return "int"
		}
	case "float":
		return "float"
	case "string", "encapsed_string":
		return "string"
	case "boolean":
		return "bool"
	case "array_creation_expression":
		return "array"
	case "variable_name":
		if i := slices.Index(m.names, text); i >= 0 && phpScalars[m.types[i]] {
			return m.types[i]
		}
	case "cast_expression":
		return phpCasts[strings.ToLower(s.textOf(s.child(n, "type")))]
	case "function_call_expression":
		result, _ := s.phpFunction(n)
		return result
	case "unary_op_expression":
		of := m.phpTypeOf(s.child(n, "argument"))
		if operator := s.operator(n); operator == "!" {
			return "bool"
		} else if operator == "-" && of == "float" {
			return of
		}
	case "conditional_expression":
		first := s.child(n, "body")
		if first < 0 {
			first = s.child(n, "condition")
		}
		if of := m.phpTypeOf(first); of == m.phpTypeOf(s.child(n, "alternative")) {
			return of
		}
	case "binary_expression":
		return phpOperation(s.operator(n), m.phpTypeOf(s.child(n, "left")), m.phpTypeOf(s.child(n, "right")))
	}
	return ""
}

var phpCasts = map[string]string{"int": "int", "integer": "int", "bool": "bool", "boolean": "bool", "float": "float", "double": "float", "string": "string"}

// phpOperation is the type of an operation. A sum of integers can be a float,
// and objects such as large numbers have operators of their own.
func phpOperation(operator, left, right string) string {
	number := func(of string) bool { return of == "int" || of == "float" }
	switch operator {
	case ".":
		return "string"
	case "==", "!=", "===", "!==", "<", "<=", ">", ">=", "&&", "||", "instanceof":
		return "bool"
	case "<=>":
		return "int"
	case "+", "-", "*", "/":
		if number(left) && number(right) && (left == "float" || right == "float") {
			return "float"
		}
	case "%", "<<", ">>", "&", "|", "^":
		if left == "int" && right == "int" {
			return "int"
		}
	}
	return ""
}

// phpCalm tells whether nothing else can run before the last variable of the
// expression is read: no method of an object, no function for errors.
func (m *methodHelper) phpCalm() bool {
	s, reads, typed, quiet := m.side, 0, true, true
	float, text := false, false
	s.each(m.value, func(n int) bool {
		switch s.kind(n) {
		case "variable_name":
			if i := slices.Index(m.names, s.tree.Source(n)); i >= 0 {
				reads++
				of := m.types[i]
				typed = typed && (of == "int" || of == "bool" || of == "float" || of == "string")
				float, text = float || of == "float", text || of == "string"
			}
		case "member_access_expression", "member_call_expression", "class_constant_access_expression", "name":
			// A constant may be one that is loaded when it is read.
			if s.kind(n) != "name" || s.parentKind(n) != "variable_name" {
				quiet = false
			}
		case "function_call_expression", "subscript_expression", "array_creation_expression", "cast_expression":
			typed = false
		}
		return true
	})
	s.each(m.value, func(n int) bool {
		switch s.operator(n) {
		case "%", "<<", ">>", "&", "|", "^":
			typed = typed && !float && !text
		case "+", "-", "*", "/":
			typed = typed && !text && s.kind(n) == "binary_expression"
		}
		return typed
	})
	s.each(m.value, func(n int) bool { // numbers as parts of a sum with texts
		typed = typed && (s.kind(n) != "string" && s.kind(n) != "encapsed_string" || !m.phpCounts())
		return typed
	})
	return quiet && (reads <= 1 || typed)
}

// phpCounts tells whether the expression has an operator on numbers.
func (m *methodHelper) phpCounts() bool {
	s := m.side
	return !s.each(m.value, func(n int) bool {
		return !setOf("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^")[s.operator(n)]
	})
}
