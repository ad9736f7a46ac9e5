package languages

// closers end a list.
var closers = setOf(")", "]", "}", ">")

// trailing tells whether a node is a comma after the last of several parts of a
// list, where it has no meaning in the lists of these kinds.
func (s *side) trailing(n int, lists set) bool {
	if s.kind(n) != "," || !lists[s.parentKind(n)] {
		return false
	}
	before, after := s.siblings(n)
	return after >= 0 && closers[s.kind(after)] && before >= 0 && s.named(before)
}

// sole is the only part between a node's first and last token, or -1.
func (s *side) sole(n int) int {
	found := -1
	for c := range s.tree.Children(n) {
		switch {
		case s.language.comments[s.kind(c)]:
			if s.language.kept != nil && s.language.kept(s, c, s.tree.Source(c)) {
				return -1
			}
		case !s.named(c):
			if k := s.kind(c); k != "(" && k != ")" {
				return -1
			}
		case found >= 0:
			return -1
		default:
			found = c
		}
	}
	return found
}

// contains tells whether a kind is anywhere in a node.
func (s *side) contains(n int, kinds set) bool {
	for i := n; i < int(s.tree.Nodes[n].Next); i++ {
		if kinds[s.kind(i)] {
			return true
		}
	}
	return false
}
