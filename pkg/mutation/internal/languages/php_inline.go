package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// phpInlining: operators work out their parts from left to right, but read a
// variable only when all parts are there: so a helper is never a variable alone.
func phpInlining() *inlining {
	return &inlining{
		usable: func(s *side) bool {
			spaces := 0
			for n := range s.tree.Nodes {
				switch s.kind(n) {
				case "namespace_definition":
					spaces++
				case "declare_directive":
					if strings.Contains(strings.ToLower(s.tree.Source(n)), "ticks") {
						return false
					}
				}
			}
			return s.unsafeFor == "" && spaces < 2
		},
		methods: &methodInlining{declares: "method_declaration.name", accepts: phpAccepts, read: phpRead, fits: phpFits, grouped: phpGrouped},
	}
}

// phpAccepts tells whether a method is private, and nothing else but static.
func phpAccepts(m *methodHelper) bool {
	s := m.side
	if !phpPrivate(s, m.method) || !phpClasses[s.parentKind(s.parent(m.method))] {
		return false
	}
	for c := range s.tree.Children(m.method) {
		switch s.kind(c) {
		case "visibility_modifier", "static_modifier", "function", "name", "formal_parameters", ":", "compound_statement", "comment":
		default:
			if s.field(c) != "return_type" {
				return false
			}
		}
	}
	return true
}

func phpRead(m *methodHelper) bool {
	s := m.side
	for c := range s.tree.Children(s.child(m.method, "parameters")) {
		if !s.named(c) {
			continue
		}
		name := s.child(c, "name")
		if s.kind(c) != "simple_parameter" || s.kind(name) != "variable_name" || s.declared[name] == nil {
			return false
		}
		for part := range s.tree.Children(c) {
			if field := s.field(part); field != "name" && field != "type" {
				return false
			}
		}
		m.params = append(m.params, s.declared[name].Object)
		m.names = append(m.names, s.tree.Source(name))
		m.types = append(m.types, phpType(s.textOf(s.child(c, "type"))))
	}
	m.result = phpType(s.textOf(s.child(m.method, "return_type")))
	statement := s.only(s.child(m.method, "body"))
	if s.kind(statement) != "return_statement" {
		return false
	}
	if m.value = s.only(statement); m.value < 0 {
		return false
	}
	for s.kind(m.value) == "parenthesized_expression" && s.only(m.value) >= 0 {
		m.value = s.only(m.value)
	}
	// What takes in all that follows needs parentheses everywhere.
	if s.kind(m.value) == "variable_name" || s.kind(m.value) != "conditional_expression" && s.phpReaches(m.value) ||
		s.has(m.method, "static_modifier") && strings.Contains(s.tree.Source(m.value), "$this") || !s.each(m.value, m.phpPlain) || !m.phpReturns() {
		return false
	}
	m.expr = phpReturned(m.item.kids[len(m.item.kids)-1])
	return true
}

// only is the one part of a node that is no sign and no comment, or -1.
func (s *side) only(n int) int {
	found := -1
	if n < 0 {
		return found
	}
	for c := range s.tree.Children(n) {
		switch {
		case !s.named(c) || s.language.comments[s.kind(c)]:
		case found >= 0:
			return -1
		default:
			found = c
		}
	}
	return found
}

// phpReturned is the expression that a method returns, in the tree that is
// compared; nil if there is more.
func phpReturned(method *tree.Node) *tree.Node {
	for _, k := range method.Kids {
		if k.Kind != "body compound statement" {
			continue
		}
		if len(k.Kids) != 3 || k.Kids[1].Kind != "return statement" || len(k.Kids[1].Kids) != 3 {
			return nil
		}
		return k.Kids[1].Kids[1]
	}
	return nil
}

// phpParts are the kinds of nodes that an expression may be made of.
var phpParts = setOf("binary_expression", "unary_op_expression", "conditional_expression", "parenthesized_expression", "variable_name", "integer", "float", "string",
	"encapsed_string", "string_content", "escape_sequence", "boolean", "null", "array_creation_expression", "array_element_initializer", "subscript_expression",
	"member_access_expression", "function_call_expression", "arguments", "argument", "cast_expression", "cast_type", "class_constant_access_expression",
	"relative_scope", "name", "qualified_name", "namespace_name", "member_call_expression")

var phpOperators = setOf("+", "-", "*", "/", "%", ".", "<<", ">>", "&", "^", "|", "&&", "||", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "<=>", "??")

// phpObjects are what a member may be asked of.
var phpObjects = setOf("variable_name", "member_access_expression", "member_call_expression", "subscript_expression")

// phpPlain tells whether a part of an expression means the same in another
// method of the class.
func (m *methodHelper) phpPlain(n int) bool {
	s := m.side
	kind, text := s.kind(n), s.tree.Source(n)
	if !s.named(n) {
		return text != "&" || s.parentKind(n) == "binary_expression"
	}
	if !phpParts[kind] {
		return false
	}
	switch kind {
	case "binary_expression":
		return phpOperators[s.operator(n)] || s.operator(n) == "instanceof" && phpClassNames[s.kind(s.child(n, "right"))]
	case "unary_op_expression":
		return s.operator(n) == "!" || s.operator(n) == "-"
	case "variable_name":
		return slices.Contains(m.names, text) || text == "$this" && strings.HasSuffix(s.place(n), "_expression.object")
	case "member_access_expression", "member_call_expression":
		return phpObjects[s.kind(s.child(n, "object"))] && s.kind(s.child(n, "name")) == "name"
	case "function_call_expression":
		_, known := s.phpFunction(n)
		return known
	case "array_element_initializer":
		return !s.has(n, "by_ref")
	case "argument":
		return m.phpTakesValue(n)
	case "subscript_expression":
		return s.parts(n) == 2
	case "cast_type":
		return phpPlainCasts[strings.ToLower(text)]
	case "relative_scope":
		return strings.EqualFold(text, "self")
	case "qualified_name":
		return s.place(n) == "function_call_expression.function" || s.place(n) == "binary_expression.right"
	case "name":
		return !strings.HasPrefix(text, "__")
	}
	return true
}

// phpFunctions are functions of PHP that take all that they are given by value,
// ask nothing about their caller and call no function that they are given, with
// the type that they return; "" where it depends.
var phpFunctions = func() map[string]string {
	found := map[string]string{}
	for result, names := range map[string]string{
		"bool": `in_array is_array is_bool is_float is_int is_numeric is_object is_string is_null array_key_exists str_contains str_starts_with str_ends_with
			ctype_digit ctype_alpha ctype_alnum ctype_space ctype_upper ctype_lower is_nan is_finite is_infinite isset empty file_exists is_file is_dir`,
		"int":    "strlen count intdiv strcmp strcasecmp ord mb_strlen time crc32",
		"string": "strtolower strtoupper ucfirst lcfirst ucwords trim ltrim rtrim implode sprintf str_repeat chr md5 sha1 htmlspecialchars dirname basename addslashes strrev number_format str_pad gettype bin2hex",
		"array":  "explode array_keys array_values array_merge array_reverse array_unique array_slice array_flip array_diff array_intersect array_combine range",
		"float":  "sqrt sin cos tan pi fmod",
		"":       "abs max min round floor ceil substr strpos strrpos stripos str_replace array_sum array_search json_encode date mb_substr mb_strtolower mb_strtoupper urlencode rawurlencode",
	} {
		for _, name := range strings.Fields(names) {
			found[name] = result
		}
	}
	return found
}()

// phpFunction is the type that a call returns, if its function is one of PHP's
// own: in a namespace one that is not written in full may be another.
func (s *side) phpFunction(call int) (result string, known bool) {
	function := s.child(call, "function")
	name := strings.ToLower(s.textOf(function))
	switch {
	case s.kind(function) == "qualified_name":
		name = strings.TrimPrefix(name, `\`)
	case s.kind(function) != "name" || s.hasKind("namespace_definition") && name != "isset" && name != "empty":
		return "", false
	}
	for c := range s.tree.Children(s.child(call, "arguments")) {
		if s.named(c) && (s.kind(c) != "argument" || s.child(c, "name") >= 0 || s.kind(c+1) == "variadic_unpacking") {
			return "", false
		}
	}
	if name == "str_replace" && s.parts(s.child(call, "arguments")) != 3 {
		return "", false
	}
	result, known = phpFunctions[name]
	return result, known
}

var phpClassNames = setOf("name", "qualified_name", "relative_scope")

// phpTakesValue tells whether what is given to a call in the expression cannot
// be taken by reference.
func (m *methodHelper) phpTakesValue(argument int) bool {
	s := m.side
	value := s.only(argument)
	if s.child(argument, "name") >= 0 || s.has(argument, "reference_modifier") || value < 0 {
		return false
	}
	if s.kind(s.parent(s.parent(argument))) == "function_call_expression" {
		return true // one that is known
	}
	switch s.kind(value) {
	case "integer", "float", "string", "encapsed_string", "boolean", "null", "binary_expression", "array_creation_expression", "class_constant_access_expression", "name",
		"cast_expression":
		return true
	}
	return s.phpByValue(argument)
}
