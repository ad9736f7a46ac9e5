package languages

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// javaNote is what the compiler takes from a comment of documentation: that
// @deprecated stands at the start of a line.
func javaNote(text string) string {
	if !strings.HasPrefix(text, "/**") || javaEscapes(text) {
		return ""
	}
	for line := range strings.Lines(strings.TrimSuffix(text[3:], "*/")) {
		said := strings.TrimLeft(strings.TrimLeft(line, " \t\f"), "*")
		said = strings.TrimLeft(said, " \t\f")
		if after, found := strings.CutPrefix(said, "@deprecated"); found && (after == "" || strings.ContainsAny(after[:1], space)) {
			return "@deprecated"
		}
	}
	return ""
}

var javaEscape = regexp.MustCompile(`\\u+([0-9a-fA-F]{4})?`)

// javaEscapes tells whether a comment has an escape that could end it, or be
// part of @deprecated: the compiler reads escapes first. What an escaped
// backslash begins is none.
func javaEscapes(text string) bool {
	for _, m := range javaEscape.FindAllStringSubmatch(text, -1) {
		code, err := strconv.ParseUint(m[1], 16, 16)
		if err != nil || strings.ContainsRune("\n\r*/@deprcat", rune(code)) {
			return true
		}
	}
	return false
}

var javaLists = setOf("array_initializer", "element_value_array_initializer", "enum_body")

var javaJumps = setOf("return_statement", "throw_statement", "break_statement", "continue_statement", "yield_statement")

// javaOptional are commas at the end, and semicolons that are all of a
// statement or member.
func javaOptional(s *side, n int) bool {
	if s.kind(n) == ";" {
		switch s.parentKind(n) {
		case "block", "constructor_body", "class_body", "interface_body":
			// After a jump it is a statement that is never reached, and a fault.
			before, _ := s.siblings(n)
			return before < 0 || !javaJumps[s.kind(before)]
		}
		return false
	}
	if s.kind(n) == "enum_body_declarations" { // a ; after the last constant
		for c := range s.tree.Children(n) {
			if s.named(c) && (!s.language.comments[s.kind(c)] || s.language.kept(s, c, s.tree.Source(c))) {
				return false
			}
		}
		return true
	}
	if s.kind(n) == "," && s.parentKind(n) == "enum_body" {
		if _, after := s.siblings(n); s.kind(after) == "enum_body_declarations" {
			return true
		}
	}
	return s.trailing(n, javaLists)
}

// javaInner takes parentheses off where they only group.
func javaInner(s *side, n int) int {
	switch s.kind(n) {
	case "inferred_parameters": // (a) -> b is a -> b
		if inner := s.sole(n); inner >= 0 && s.kind(inner) == "identifier" {
			return inner
		}
	case "parenthesized_expression":
		if inner := s.sole(n); inner >= 0 && javaGroups(s, n, inner) {
			return inner
		}
	}
	return -1
}

// javaSimple expressions stay together next to anything.
var javaSimple = setOf("identifier", "method_invocation", "field_access", "array_access", "object_creation_expression")

func javaGroups(s *side, n, inner int) bool {
	kind := s.kind(inner)
	switch s.parentKind(n) {
	case "binary_expression", "assignment_expression", "variable_declarator", "return_statement", "argument_list", "ternary_expression", "assert_statement",
		"parenthesized_expression":
		// (a) - b is no cast, though the parser may take it for one.
		return kind != "lambda_expression" && kind != "cast_expression" || kind == "cast_expression" && javaSimple[s.kind(s.child(inner, "value"))]
	case "array_access":
		return s.field(n) == "index" && kind != "cast_expression"
	case "method_invocation", "field_access":
		return s.field(n) == "object" && (kind == "identifier" || kind == "method_invocation" || kind == "field_access")
	case "cast_expression", "unary_expression":
		return javaSimple[kind]
	case "lambda_expression":
		// What is a statement could be for another type of function without.
		return kind == "binary_expression" || kind == "instanceof_expression" || kind == "ternary_expression"
	}
	return false
}

// javaRewrite builds what can be written in two ways.
func javaRewrite(b *builder, n int, field string) *tree.Node {
	switch b.kind(n) {
	case "modifiers":
		return b.javaModifiers(n, field)
	case "formal_parameter":
		return b.javaArray(n, field)
	case "binary_expression":
		if operator := b.child(n, "operator"); operator >= 0 && b.kind(operator) == "+" && b.kind(b.child(n, "right")) == "string_literal" {
			return b.javaJoined(n, field)
		}
	}
	return nil
}

// javaJoined builds "a" + "b" as "ab", also behind another part: what is put
// together is a text then, in either order.
func (b *builder) javaJoined(n int, field string) *tree.Node {
	made := b.branch(n, field)
	if len(made.Kids) != 3 {
		return made
	}
	left, right := made.Kids[0], made.Kids[2]
	last := left
	if strings.HasSuffix(left.Kind, "binary expression") && len(left.Kids) == 3 && left.Kids[1].Text == "+" {
		last = left.Kids[2]
	}
	if !joinable(last) || !joinable(right) {
		return made
	}
	parts := slices.Concat(last.Kids[:len(last.Kids)-1], right.Kids[1:])
	last.Kids = parts[:1:1]
	for _, part := range parts[1:] {
		if before := last.Kids[len(last.Kids)-1]; before.Kind == "string fragment" && part.Kind == before.Kind {
			before.Text += part.Text
			continue
		}
		last.Kids = append(last.Kids, part)
	}
	left.Kind = label(strings.TrimPrefix(left.Kind, "left "), field)
	return left
}

// joinable tells whether a node is a text in one line, without an escaped
// backslash, which could begin an escape that goes on in the next text.
func joinable(n *tree.Node) bool {
	if !strings.HasSuffix(n.Kind, "string literal") || len(n.Kids) < 2 || n.Kids[0].Text != `"` || n.Kids[len(n.Kids)-1].Text != `"` {
		return false
	}
	return !slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return javaBackslash.MatchString(k.Text) })
}

var javaBackslash = regexp.MustCompile(`(?i)\\u+005c`)

// javaModifiers puts keywords in one order. Annotations stay where they are.
func (b *builder) javaModifiers(n int, field string) *tree.Node {
	made := b.branch(n, field)
	var words []*tree.Node
	for i, kid := range made.Kids {
		if kid.Kind == "comment" || kid.Kind == "text" {
			return made
		}
		if len(kid.Kids) == 0 && !kid.Literal {
			words = append(words, made.Kids[i])
		}
	}
	slices.SortFunc(words, func(x, y *tree.Node) int { return strings.Compare(x.Text, y.Text) })
	for i, kid := range made.Kids {
		if len(kid.Kids) == 0 && !kid.Literal {
			made.Kids[i], words = words[0], words[1:]
		}
	}
	return made
}

// javaArray builds byte b[] as byte[] b.
func (b *builder) javaArray(n int, field string) *tree.Node {
	made := b.branch(n, field)
	last := len(made.Kids) - 1
	if last < 2 || made.Kids[last].Kind != "dimensions dimensions" {
		return made
	}
	dimensions, name, element := made.Kids[last], made.Kids[last-1], made.Kids[last-2]
	array := &tree.Node{Kind: "type array type", Literal: true, Line: element.Line}
	// Annotations belong to one of the dimensions.
	annotated := func(k *tree.Node) bool { return k.Text != "[" && k.Text != "]" }
	if !strings.HasPrefix(element.Kind, "type ") || element.Kind == array.Kind || slices.ContainsFunc(dimensions.Kids, annotated) {
		return made
	}
	element.Kind = "element " + strings.TrimPrefix(element.Kind, "type ")
	array.Kids = []*tree.Node{element, dimensions}
	made.Kids = append(made.Kids[:last-2], array, name)
	return made
}
