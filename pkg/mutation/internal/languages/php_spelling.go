package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// phpInner takes parentheses off where they only group.
func phpInner(s *side, n int) int {
	if s.kind(n) != "parenthesized_expression" {
		return -1
	}
	inner := s.sole(n)
	if inner < 0 {
		return -1
	}
	switch s.kind(inner) {
	case "by_ref", "sequence_expression", "yield_expression", "include_expression", "require_expression", "print_intrinsic", "throw_expression", "arrow_function":
		return -1
	}
	switch s.parentKind(n) {
	case "parenthesized_expression", "return_statement", "array_element_initializer", "argument":
	case "subscript_expression":
		if before, _ := s.siblings(n); before < 0 || s.kind(before) != "[" {
			return -1
		}
	case "binary_expression", "conditional_expression", "unary_op_expression":
		if !phpBinds(s, n, inner) {
			return -1
		}
	case "include_expression", "include_once_expression", "require_expression", "require_once_expression":
		// It takes in all that follows.
		if !phpEnds(s, n) || s.phpReaches(inner) {
			return -1
		}
	case "object_creation_expression":
		if k := s.kind(inner); k != "subscript_expression" && k != "member_access_expression" || s.contains(inner, phpCalls) {
			return -1
		}
	case "clone_expression":
		if k := s.kind(inner); k != "variable_name" && k != "member_access_expression" {
			return -1
		}
	case "break_statement", "continue_statement":
		if s.kind(inner) != "integer" {
			return -1
		}
	case "assignment_expression", "augmented_assignment_expression":
		if s.field(n) != "right" || s.contains(inner, setOf("and", "or", "xor")) {
			return -1
		}
	case "member_call_expression", "member_access_expression":
		if s.kind(inner) != "object_creation_expression" && s.kind(inner) != "clone_expression" || s.field(n) != "object" {
			return -1
		}
	default:
		return -1
	}
	return inner
}

var phpCalls = setOf("function_call_expression", "member_call_expression", "scoped_call_expression", "nullsafe_member_call_expression", "parenthesized_expression")

// phpOpen expressions take in whatever follows them.
var phpOpen = setOf("assignment_expression", "augmented_assignment_expression", "reference_assignment_expression", "yield_expression", "print_intrinsic",
	"throw_expression", "include_expression", "include_once_expression", "require_expression", "require_once_expression", "arrow_function",
	"conditional_expression", "and", "or", "xor")

// phpReaches tells whether an expression has one of phpOpen that no brackets
// end.
func (s *side) phpReaches(n int) bool {
	for i := n; i < int(s.tree.Nodes[n].Next); {
		switch kind := s.kind(i); {
		case phpOpen[kind]:
			return true
		case kind == "parenthesized_expression" || kind == "arguments":
			i = int(s.tree.Nodes[i].Next)
		default:
			i++
		}
	}
	return false
}

// phpLevels say how tightly an operator binds, in all versions of PHP. The
// operator . has changed its place between + and <<.
var phpLevels = map[string]int{
	"instanceof": 14, "!": 13, "*": 12, "/": 12, "%": 12, "+": 11, "-": 11, "<<": 10, ">>": 10, ".": 9, "<": 8, "<=": 8, ">": 8, ">=": 8,
	"==": 7, "!=": 7, "===": 7, "!==": 7, "<>": 7, "<=>": 7, "&": 6, "^": 5, "|": 4, "&&": 3, "||": 2, "??": 1, "?:": 0,
}

// phpBinds tells whether what is in parentheses stays together without them,
// by the language's own table: that the parser groups alike is not enough.
func phpBinds(s *side, n, inner int) bool {
	switch s.kind(inner) {
	case "function_call_expression", "member_call_expression", "member_access_expression", "scoped_call_expression", "variable_name", "string", "integer",
		"encapsed_string", "subscript_expression", "array_creation_expression":
		return s.parentKind(n) != "unary_op_expression" || s.operator(s.parent(n)) == "!"
	case "assignment_expression", "augmented_assignment_expression":
		// It is to the end of what is around it, with or without parentheses.
		return (s.place(n) == "binary_expression.right" || s.operator(s.parent(n)) == "!" || s.place(n) == "conditional_expression.alternative") && phpEnds(s, n) ||
			s.place(n) == "conditional_expression.body"
	}
	if s.place(n) == "conditional_expression.condition" && phpShort(s, s.parent(n)) && phpShort(s, inner) {
		// All versions of PHP take $a ?: $b ?: $c for this.
		return !s.phpReaches(s.child(inner, "condition")) && !s.phpReaches(s.child(inner, "alternative"))
	}
	within := phpLevel(s, inner)
	around := phpLevel(s, s.parent(n))
	if s.kind(s.parent(n)) == "binary_expression" && around >= 0 && phpSigned(s, inner) {
		return true
	}
	if within < 0 || around < 0 || s.phpReaches(inner) {
		return false
	}
	return s.phpTighter(n, within, around)
}

// phpSigned tells whether an expression is a variable that is counted up or
// down, or a number below zero: only ** binds more tightly.
func phpSigned(s *side, n int) bool {
	if s.kind(n) == "update_expression" {
		return true
	}
	argument := s.kind(s.child(n, "argument"))
	return s.kind(n) == "unary_op_expression" && s.operator(n) == "-" && (argument == "integer" || argument == "float")
}

// phpTighter tells whether an operator that stands at n, in another's part, is
// worked out first.
func (s *side) phpTighter(n, within, around int) bool {
	if within == around && within == phpLevels["??"] {
		return s.field(n) == "right" // the last one comes first
	}
	if within == around && s.place(n) == "binary_expression.left" && phpFromLeft[within] {
		return within != phpLevels["+"] || !s.phpJoined(s.parent(n))
	}
	if within < phpLevels["*"] && around > phpLevels["<"] {
		return false // the versions of PHP differ
	}
	return within > around
}

// phpFromLeft are the levels on which the first of several comes first.
var phpFromLeft = map[int]bool{phpLevels["*"]: true, phpLevels["+"]: true, phpLevels["."]: true, phpLevels["&&"]: true, phpLevels["||"]: true}

// phpJoined tells whether a sum is a part of a text: in PHP 7 both went from the
// left.
func (s *side) phpJoined(n int) bool {
	for n = s.parent(n); s.kind(n) == "binary_expression"; n = s.parent(n) {
		if level := phpLevels[s.operator(n)]; level == phpLevels["."] || level == phpLevels["<<"] {
			return true
		}
	}
	return false
}

// phpShort tells whether a node is $a ?: $b.
func phpShort(s *side, n int) bool {
	return s.kind(n) == "conditional_expression" && s.child(n, "body") < 0 && s.child(n, "condition") >= 0 && s.child(n, "alternative") >= 0
}

// phpLevel is how tightly a node's operator binds; -1 if it is not known.
func phpLevel(s *side, n int) int {
	switch s.kind(n) {
	case "conditional_expression":
		return phpLevels["?:"]
	case "unary_op_expression":
		if s.operator(n) != "!" {
			return -1
		}
	case "binary_expression":
	default:
		return -1
	}
	level, known := phpLevels[s.operator(n)]
	if !known {
		return -1
	}
	return level
}

func (s *side) operator(n int) string {
	if o := s.child(n, "operator"); o >= 0 {
		return strings.ToLower(s.tree.Source(o))
	}
	return ""
}

// phpEnds tells whether nothing can be taken into what ends with n.
func phpEnds(s *side, n int) bool {
	rest := strings.TrimLeft(string(s.tree.Text[s.tree.Nodes[n].End:]), space)
	return rest != "" && strings.ContainsAny(rest[:1], ");,]}")
}

func phpRewrite(b *builder, n int, field string) *tree.Node {
	switch b.kind(n) {
	case "string", "encapsed_string":
		return b.phpString(n, field)
	case "if_statement":
		return b.phpBraced(n, field, b.phpElseIf)
	case "method_declaration", "property_declaration":
		return phpModifiers(b.branch(n, field))
	case "heredoc", "nowdoc":
		return b.phpHeredoc(n, field)
	}
	if phpLone[b.kind(n)] {
		return b.phpBraced(n, field, b.branch)
	}
	return nil
}

// phpString builds texts in which both kinds of quotes mean the same.
func (b *builder) phpString(n int, field string) *tree.Node {
	text := b.tree.Source(n)
	value, plain := phpText(text)
	if !plain {
		return nil
	}
	b.quoted = append(b.quoted, freeText{quotedWord(text), b.tree.Nodes[n].Start, b.scope.region(), false})
	return b.leaf(n, label("string", field), "="+value)
}

// phpText is what a text in quotes stands for, if both kinds of quotes could
// say it without escapes of their own.
func phpText(text string) (value string, plain bool) {
	if len(text) < 2 || text[0] != '\'' && text[0] != '"' || text[0] == '"' && strings.Contains(text, "$") {
		return "", false
	}
	var out strings.Builder
	for i := 1; i < len(text)-1; i++ {
		if text[i] == '\\' {
			next := text[i+1]
			switch {
			case next == '\\' || next == text[0]:
				i++
			case text[0] == '"' && phpEscapes(text[i+1:]):
				return "", false
			}
		}
		out.WriteByte(text[i])
	}
	return out.String(), true
}

// phpEscapes tells whether what follows a backslash in double quotes stands for
// something else.
func phpEscapes(rest string) bool {
	switch {
	case len(rest) < 2:
		return true
	case rest[0] == 'u':
		return rest[1] == '{'
	case rest[0] == 'x':
		return strings.IndexByte("0123456789abcdefABCDEF", rest[1]) >= 0
	}
	return strings.IndexByte("nrtvefX01234567", rest[0]) >= 0
}

// phpElseIf builds else if as elseif.
func (b *builder) phpElseIf(n int, field string) *tree.Node {
	made := b.branch(n, field)
	last := len(made.Kids) - 1
	if last < 0 || made.Kids[last].Kind != "alternative else clause" || len(made.Kids[last].Kids) != 2 {
		return made
	}
	other := made.Kids[last].Kids[1]
	if other.Kind != "body if statement" || len(other.Kids) < 3 || phpHasColons(made) || phpHasColons(other) {
		return made
	}
	end := 3
	if !strings.HasPrefix(other.Kids[1].Kind, "condition ") || !strings.HasPrefix(other.Kids[2].Kind, "body ") {
		return made // a comment with meaning is between
	}
	clause := &tree.Node{Kind: "alternative else if clause", Literal: true, Line: other.Line,
		Kids: append([]*tree.Node{token("elseif", other.Line)}, other.Kids[1:end]...)}
	made.Kids = append(append(made.Kids[:last:last], clause), other.Kids[end:]...)
	return made
}

// phpHasColons tells whether a statement is written with endif.
func phpHasColons(statement *tree.Node) bool {
	for _, kid := range statement.Kids {
		if kid.Kind == "body colon block" || kid.Kind == "endif" || kid.Kind == ";" {
			return true
		}
	}
	return false
}
