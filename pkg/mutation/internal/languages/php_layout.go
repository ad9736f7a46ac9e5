package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// phpLone are statements that may be the whole body of another, without braces.
var phpLone = setOf("expression_statement", "return_statement", "continue_statement", "break_statement", "echo_statement", "unset_statement", "switch_statement",
	"foreach_statement", "for_statement", "while_statement", "do_statement", "exit_statement", "try_statement",
	"goto_statement")

// phpBodies are statements whose body is the same in braces: they have no names
// of their own.
var phpBodies = setOf("if_statement", "else_if_clause", "else_clause", "foreach_statement", "for_statement", "while_statement", "do_statement")

// phpBraced builds a statement that is the body of another as it would be in
// braces.
func (b *builder) phpBraced(n int, field string, build func(n int, field string) *tree.Node) *tree.Node {
	parent := b.parentKind(n)
	// else if is another word for elseif.
	if field != "body" || !phpBodies[parent] || b.kind(n) == "if_statement" && parent == "else_clause" || b.phpOpenEnded(n) {
		return build(n, field)
	}
	made := build(n, "")
	return &tree.Node{Kind: "body compound statement", Literal: true, Line: made.Line, Kids: []*tree.Node{token("{", made.Line), made, token("}", made.Line)}}
}

// phpOpenEnded tells whether the statement around a body is written with a
// colon, or an else behind both could be that of an if in the body: the parser
// takes it for that of the first one.
func (b *builder) phpOpenEnded(n int) bool {
	asks := b.contains(n, setOf("if_statement"))
	for at := b.parent(n); phpBodies[b.kind(at)]; at = b.parent(at) {
		if b.has(at, ":") || b.has(at, "colon_block") || asks && b.child(at, "alternative") >= 0 {
			return true
		}
	}
	return false
}

// phpModifiers puts the words in front of a member in one order.
func phpModifiers(made *tree.Node) *tree.Node {
	end := 0
	for end < len(made.Kids) && strings.HasSuffix(made.Kids[end].Kind, " modifier") {
		end++
	}
	slices.SortStableFunc(made.Kids[:end], func(a, b *tree.Node) int { return strings.Compare(a.Kind, b.Kind) })
	return made
}
