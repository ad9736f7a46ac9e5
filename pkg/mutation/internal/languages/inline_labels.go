package languages

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// holders are the nodes whose declarations can be helpers.
func (s *side) holders(root *tree.Node) (found []*tree.Node) {
	if how := s.language.inlining; how.typed == nil && how.methods == nil {
		return []*tree.Node{root}
	}
	root.Walk(func(n *tree.Node) bool {
		if s.lists[n] != nil {
			found = append(found, n)
		}
		return true
	})
	return found
}

// labels are what a program declares.
func (s *side) labels(root *tree.Node) set {
	labels := set{}
	for _, holder := range s.holders(root) {
		for _, it := range s.lists[holder] {
			labels[it.label] = true
		}
	}
	return labels
}

// sameLabels tells whether two programs declare the same.
func sameLabels(b, a set) bool {
	for label := range a {
		if !b[label] {
			return false
		}
	}
	return len(b) == len(a)
}

// maxSites is how many calls of a function are looked at.
const maxSites = 200
