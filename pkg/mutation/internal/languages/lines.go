package languages

import "strings"

// goesOn tells whether a line break before a part of a node ends nothing: the
// token before it cannot be the last of a statement, the one after it cannot be
// the first, or both are in brackets.
func (s *side) goesOn(n, part int) bool {
	if !s.language.lines {
		return false
	}
	before := part - 1
	for before > n && s.language.comments[s.kind(before)] {
		before--
	}
	after := part
	for int(s.tree.Nodes[after].Next) > after+1 {
		after++
	}
	if before > n && s.language.goesAfter[s.tree.Source(before)] && !s.named(before) || s.language.goesBefore[s.tree.Source(after)] && !s.named(after) {
		return true
	}
	return s.inBrackets(n)
}

// inBrackets tells whether a node is in round or square brackets, without a
// block or a list of statements between.
func (s *side) inBrackets(n int) bool {
	for ; n > 0; n = s.parent(n) {
		kind := s.kind(n)
		for _, part := range []string{"block", "body", "statements", "lambda", "then", "else", "begin", "method", "function_declaration", "class", "entry"} {
			if strings.Contains(kind, part) {
				return false
			}
		}
		if first := s.kind(n + 1); first == "(" || first == "[" {
			return true
		}
	}
	return false
}
