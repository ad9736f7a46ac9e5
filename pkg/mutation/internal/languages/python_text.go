package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// pythonFloat writes out the zeros that may be left out around the point, and
// no plus.
func pythonFloat(text string) string {
	end := strings.IndexAny(text, "ej")
	if end < 0 {
		end = len(text)
	}
	mantissa := text[:end]
	if strings.HasPrefix(mantissa, ".") {
		mantissa = "0" + mantissa
	}
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	return mantissa + strings.Replace(text[end:], "e+", "e", 1)
}

// pythonText builds a text with quotes in it, whose escapes depend on which
// quotes are around it, one or three.
func pythonText(b *builder, n int, field string) *tree.Node {
	if b.kind(n) != "string" || b.has(n, "interpolation") || pythonOpaque(b.side, n) {
		return nil
	}
	start, end := b.first(n, "string_start"), b.first(n, "string_end")
	if start < 0 || end < 0 {
		return nil
	}
	open := strings.ToLower(b.tree.Source(start))
	prefix := strings.TrimPrefix(strings.TrimRight(open, "'\""), "u")
	if strings.HasPrefix(open, "ur") {
		return nil // Python 2 looks for escapes in these
	}
	if prefix == "rb" {
		prefix = "br"
	}
	body := string(b.tree.Text[b.tree.Nodes[start].End:b.tree.Nodes[end].Start])
	if !strings.ContainsAny(body, "'\"") {
		return nil
	}
	switch prefix {
	case "", "b":
		body = withoutEscapedQuotes(body)
	case "r", "br": // a backslash stays in the text
	default:
		return nil
	}
	b.quoted = append(b.quoted, freeText{quotedWord(body), b.tree.Nodes[n].Start, b.scope.region(), false})
	return b.leaf(n, label("string", field), prefix+"="+strings.ReplaceAll(body, "\r\n", "\n"))
}

func withoutEscapedQuotes(body string) string {
	var out strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' && i+1 < len(body) {
			if i++; body[i] != '\'' && body[i] != '"' {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(body[i])
	}
	return out.String()
}

// pythonPrimary expressions are grouped by themselves.
var pythonPrimary = setOf("identifier", "call", "attribute", "subscript")

// pythonGroups tells whether parentheses mean nothing in places where they
// mostly do.
func pythonGroups(s *side, n, inner int) bool {
	switch s.place(n) {
	case "await.", "with_item.value", "with_item.", "delete_statement.":
		return pythonPrimary[s.kind(inner)]
	case "as_pattern.":
		before, _ := s.siblings(n)
		return before < 0 && s.kind(s.parent(s.parent(n))) == "with_item" && pythonPrimary[s.kind(inner)]
	case "if_statement.condition", "elif_clause.condition", "while_statement.condition":
		return s.kind(inner) == "named_expression" && !s.contains(inner, setOf("yield", "generator_expression", "parenthesized_expression"))
	case "assignment.right":
		return s.kind(inner) == "yield" && s.child(s.parent(n), "type") < 0
	}
	return false
}

// pythonLoneTarget is what stands alone in parentheses as a target, or -1.
func pythonLoneTarget(s *side, n int) int {
	if s.kind(n) != "tuple_pattern" || s.has(n, ",") {
		return -1
	}
	switch s.place(n) {
	case "for_statement.left", "for_in_clause.left":
	case "assignment.left": // (a): int has another meaning than a: int
		if s.child(s.parent(n), "type") >= 0 {
			return -1
		}
	default:
		return -1
	}
	inner := s.sole(n)
	if inner < 0 || !pythonPrimary[s.kind(inner)] {
		return -1
	}
	return inner
}

// pythonQuoted tells whether the other kind of quotes could be another text.
func pythonQuoted(body string, triple bool) bool {
	if !triple {
		return strings.ContainsAny(body, `'"`)
	}
	for _, mark := range []string{`"""`, "'''", `\'`, `\"`} {
		if strings.Contains(body, mark) {
			return true
		}
	}
	return strings.HasSuffix(body, `"`) || strings.HasSuffix(body, "'")
}
