package languages

import (
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// clangNumbers are the types of numbers that are known. What is narrower than
// int becomes one in an expression; which of two is wider is known only for the
// pairs of clangWider, to the wider one.
var (
	clangNumbers = setOf("int", "unsigned", "long", "unsigned long", "long long", "unsigned long long", "size_t", "int64_t", "uint64_t")
	clangWider   = map[[2]string]string{
		{"unsigned", "unsigned long"}: "unsigned long", {"unsigned", "unsigned long long"}: "unsigned long long", {"long", "unsigned long"}: "unsigned long",
		{"long", "long long"}: "long long", {"long", "unsigned long long"}: "unsigned long long", {"unsigned long", "unsigned long long"}: "unsigned long long",
		{"long long", "unsigned long long"}: "unsigned long long",
	}
)

// clangTruth is the type of a comparison: int in C, where it is 0 or 1, and bool
// in C++.
const clangTruth = "truth"

// clangInlining: an expression over numbers and truth values is the same as a
// call if it has the type of the call under the rules of conversion, and nothing
// that is worked out beside it can change a variable.
func clangInlining(plusPlus bool) *inlining {
	grouping := setOf("binary expression", "unary expression", "conditional expression", "parenthesized expression", "assignment expression", "init declarator",
		"condition clause", "return statement")
	if plusPlus {
		delete(grouping, "return statement") // decltype(auto)
		delete(grouping, "init declarator")
	}
	return &inlining{
		function: "function definition", call: "call expression", name: "identifier", forbidden: set{}, grouping: grouping,
		expression: setOf("binary expression", "unary expression", "conditional expression", "parenthesized expression", "cast expression", "type descriptor",
			"primitive type", "sized type specifier", "identifier", "number literal", "char literal", "true", "false"),
		usable: clangUsable,
		helper: clangHelper,
		stable: clangStable,
		place:  clangSite,
		known: func(callee *tree.Node) bool {
			return callee.Object != nil && callee.Object.Kind == "function" || callee.Object == nil && clangStandard[callee.Text] && !plusPlus
		},
		typed: &typedInlining{declares: setOf("function_declarator.declarator"), read: readClang, typeOf: clangVariableType,
			fits: func(h *helper) bool { return h.clangFits(plusPlus) }},
	}
}

// clangMeanings are words that a file must not give another meaning.
var clangMeanings = setOf("int", "long", "unsigned", "signed", "bool", "_Bool", "size_t", "int64_t", "uint64_t", "char", "return", "static", "if", "while", "for",
	"true", "false", "inline", "switch", "else", "do")

// clangUsable tells whether operators and types mean what they seem to in all
// of a file.
func clangUsable(s *side) bool {
	text := string(s.tree.Text)
	for _, word := range []string{"_Pragma", "setjmp", "optimize(", "optimize__", "__pragma"} {
		if strings.Contains(text, word) {
			return false
		}
	}
	if meet(s.macros(), clangMeanings) || splicedName(text) {
		return false
	}
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "gnu_asm_expression":
			return false
		case "preproc_call":
			said := words(s.tree.Source(n))
			if len(said) > 0 && said[0] == "pragma" && !(len(said) > 1 && (said[1] == "once" || said[1] == "mark" || said[1] == "warning") || len(said) > 2 && said[2] == "diagnostic") {
				return false
			}
		case "type_definition", "alias_declaration", "struct_specifier", "union_specifier", "enum_specifier", "class_specifier", "enumerator":
			for c := range s.tree.Children(n) {
				if f := s.field(c); (f == "declarator" || f == "name") && meet(s.mentioned(c), clangMeanings) {
					return false
				}
			}
		}
	}
	return true
}

// clangHelper: a function that no other file knows.
func clangHelper(s *side, o *object, _ []*item, _ int) bool {
	definition := s.above(o.leaf, setOf("function_definition"))
	if definition < 0 || o.conditional {
		return false
	}
	if s.language.grammar == treesitter.C {
		// A header is a program of C++ as well.
		return o.Reach == tree.Local && s.hasText(definition, "storage_class_specifier", "static")
	}
	return s.hidden(o.leaf, definition)
}

// readClang takes a function apart.
func readClang(h *helper, function *tree.Node) bool {
	for _, k := range function.Kids {
		switch {
		case k.Kind == "storage class specifier":
			if words := wordsOf(k); len(words) != 1 || words[0] != "static" && words[0] != "inline" {
				return false
			}
		case strings.HasPrefix(k.Kind, "type "):
			h.result = h.side.clangTypeName(wordsOf(k))
		case k.Kind == "declarator function declarator":
			if len(k.Kids) != 2 || k.Kids[0].Kind != "declarator identifier" || !h.clangParameters(k.Kids[1]) {
				return false
			}
		case k.Kind == "body compound statement":
			h.expr = returned(k)
		default:
			return false
		}
	}
	return h.expr != nil && h.result != ""
}

func (h *helper) clangParameters(list *tree.Node) bool {
	for _, k := range list.Kids {
		if k.Kind == "(" || k.Kind == ")" || k.Kind == "," {
			continue
		}
		if k.Kind != "parameter declaration" || len(k.Kids) != 2 || k.Kids[1].Kind != "declarator identifier" || k.Kids[1].Object == nil || k.Kids[1].Object.Pinned != "" {
			return false
		}
		of := h.side.clangTypeName(wordsOf(k.Kids[0]))
		if of == "" {
			return false
		}
		h.params, h.types = append(h.params, k.Kids[1].Object), append(h.types, of)
	}
	return true
}

// clangTypeName is one name for a type that may be written in several ways, or
// "" for one that is not known. A class or namespace of C++ may have a size_t of
// its own.
func (s *side) clangTypeName(written []string) string {
	name := clangTypeName(written)
	if s.language.grammar == treesitter.CPlusPlus && strings.HasSuffix(name, "_t") {
		return ""
	}
	return name
}

func clangTypeName(written []string) string {
	if len(written) == 1 && (written[0] == "bool" || written[0] == "_Bool" || strings.HasSuffix(written[0], "_t")) {
		if clangNumbers[written[0]] || !strings.HasSuffix(written[0], "_t") {
			return written[0]
		}
		return ""
	}
	seen := map[string]int{}
	for _, word := range written {
		seen[word]++
	}
	long := seen["long"]
	if len(written) == 0 || seen["int"]+long+seen["unsigned"]+seen["signed"] != len(written) || seen["int"] > 1 || long > 2 || seen["unsigned"]+seen["signed"] > 1 {
		return ""
	}
	name := strings.TrimSpace([]string{"", "unsigned"}[seen["unsigned"]] + strings.Repeat(" long", long))
	if name == "" {
		return "int"
	}
	return name
}

// clangVariableType is the type that a local variable or parameter is declared
// with, "" if it is more than a plain one.
func clangVariableType(s *side, leaf int) string {
	declaration := s.parent(leaf)
	switch s.place(leaf) {
	case "parameter_declaration.declarator", "declaration.declarator":
	case "init_declarator.declarator":
		declaration = s.parent(declaration)
	default:
		return ""
	}
	if k := s.kind(declaration); k != "declaration" && k != "parameter_declaration" {
		return ""
	}
	for c := range s.tree.Children(declaration) {
		if f := s.field(c); f != "type" && f != "declarator" && s.named(c) && !s.language.comments[s.kind(c)] {
			return "" // static, const, volatile, an attribute
		}
	}
	written := s.child(declaration, "type")
	if k := s.kind(written); k != "primitive_type" && k != "sized_type_specifier" {
		return ""
	}
	return s.clangTypeName(words(s.tree.Source(written)))
}

// clangFits tells whether a call and the expression have one type, or are alike
// where only their truth counts.
func (h *helper) clangFits(plusPlus bool) bool {
	expr := h.expr
	for isGroup(expr) {
		expr = expr.Kids[1]
	}
	if base(expr.Kind, h.how.expression) == "identifier" {
		return false
	}
	of := h.clangType(expr, plusPlus)
	switch {
	case of == clangTruth:
		exact := "int"
		if plusPlus {
			exact = "bool"
		}
		h.tested = h.result != exact
		return true
	case of == "" || of != h.result || !clangNumbers[of]:
		return false
	case plusPlus && base(expr.Kind, h.how.expression) == "conditional expression":
		return h.isValue(expr) // else it is a variable, and not its value
	}
	return true
}

// isValue tells whether an expression is surely no variable.
func (h *helper) isValue(n *tree.Node) bool {
	for isGroup(n) {
		n = n.Kids[1]
	}
	switch base(n.Kind, h.how.expression) {
	case "identifier":
		return false
	case "conditional expression":
		return h.isValue(n.Kids[2]) || h.isValue(n.Kids[4])
	}
	return true
}

// clangType is the type of an expression over the parameters and literals, or "".
func (h *helper) clangType(n *tree.Node, plusPlus bool) string {
	kind := base(n.Kind, h.how.expression)
	switch {
	case kind == "identifier":
		i := slices.Index(h.params, n.Object)
		if n.Object == nil || i < 0 {
			return ""
		}
		if plusPlus && h.types[i] == "bool" {
			return clangTruth
		}
		return h.types[i]
	case kind == "number literal":
		return clangNumber(n.Text)
	case kind == "char literal" && len(n.Text) >= 3 && n.Text[0] == '\'' && (len(n.Text) == 3 && n.Text[1] < 128 || len(n.Text) == 4 && n.Text[1] == '\\'):
		if plusPlus {
			return "char"
		}
		return "int"
	case (kind == "true" || kind == "false") && plusPlus:
		return clangTruth
	case isGroup(n):
		return h.clangType(n.Kids[1], plusPlus)
	case kind == "unary expression" && len(n.Kids) == 2:
		return clangUnary(n.Kids[0].Text, h.clangType(n.Kids[1], plusPlus))
	case kind == "cast expression" && len(n.Kids) == 4:
		if to := h.side.clangTypeName(wordsOf(n.Kids[1])); clangNumbers[to] && h.clangType(n.Kids[3], plusPlus) != "" {
			return to
		}
	case kind == "binary expression" && len(n.Kids) == 3:
		return clangOperation(n.Kids[1].Text, h.clangType(n.Kids[0], plusPlus), h.clangType(n.Kids[2], plusPlus))
	case kind == "conditional expression" && len(n.Kids) == 5:
		left, right := h.clangType(n.Kids[2], plusPlus), h.clangType(n.Kids[4], plusPlus)
		if h.clangType(n.Kids[0], plusPlus) == "" {
			return ""
		}
		if left == right && left != "bool" && left != "_Bool" {
			return left
		}
		return clangUsual(left, right)
	}
	return ""
}

// clangNumber is the type of a number on any machine.
func clangNumber(text string) string {
	digits := strings.TrimRight(text, "uUlL")
	value, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || strings.ContainsAny(digits, "_oO") {
		return ""
	}
	limits := map[string]struct {
		of  string
		max uint64
	}{"": {"int", 1<<15 - 1}, "u": {"unsigned", 1<<16 - 1}, "l": {"long", 1<<31 - 1}, "ul": {"unsigned long", 1<<32 - 1}, "lu": {"unsigned long", 1<<32 - 1},
		"ll": {"long long", 1<<63 - 1}, "ull": {"unsigned long long", 1<<64 - 1}, "llu": {"unsigned long long", 1<<64 - 1}}
	if limit, known := limits[strings.ToLower(text[len(digits):])]; known && value <= limit.max {
		return limit.of
	}
	return ""
}

// promoted is the type that an operand has in an operation, or "".
func promoted(of string) string {
	if of == clangTruth || of == "char" {
		return "int"
	}
	if clangNumbers[of] {
		return of
	}
	return ""
}

// clangUsual is the type in which two numbers meet, or "" if machines differ.
func clangUsual(left, right string) string {
	left, right = promoted(left), promoted(right)
	switch {
	case left == "" || right == "":
		return ""
	case left == right || left == "int":
		return right
	case right == "int":
		return left
	case clangWider[[2]string{left, right}] != "":
		return clangWider[[2]string{left, right}]
	}
	return clangWider[[2]string{right, left}]
}

func clangUnary(operator, of string) string {
	switch {
	case operator == "!" && of != "":
		return clangTruth
	case operator == "-" || operator == "~":
		return promoted(of)
	}
	return ""
}

func clangOperation(operator, left, right string) string {
	switch operator {
	case "+", "-", "*", "/", "%", "&", "|", "^":
		return clangUsual(left, right)
	case "<<", ">>":
		if promoted(right) != "" {
			return promoted(left)
		}
	case "==", "!=", "<", ">", "<=", ">=":
		if clangUsual(left, right) != "" {
			return clangTruth
		}
	case "&&", "||":
		if left != "" && right != "" {
			return clangTruth
		}
	}
	return ""
}
