package golang

import "github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"

// findFieldUses finds the members that must be fields because of how they are
// used. A method of a type can stand in a file that is not at hand, and would
// come before the field of an embedded type; but nobody assigns to a method.
// What is found tells types, by which more can be found.
func (s *side) findFieldUses() {
	var selectors []*tree.Node
	for _, d := range s.decls {
		d.Node.Walk(func(n *tree.Node) bool {
			for i, k := range n.Kids {
				if k != nil && k.Kind == "selector" && onlyField(n, i) {
					selectors = append(selectors, k)
				}
			}
			return true
		})
	}
	for range maxHops {
		before := len(s.asField)
		for _, n := range selectors {
			if info := s.declared(s.instance(s.typing(n.Kids[0], 0))); info != nil {
				s.asField[use{info, n.Kids[1].Text}] = true
			}
		}
		if len(s.asField) == before {
			return
		}
		clear(s.typeOfNode)
	}
}

// onlyField tells whether the i-th part of a node can be no method.
func onlyField(n *tree.Node, i int) bool {
	switch n.Kind {
	case "selector", "index", "type assertion", "send":
		return i == 0
	case "slice", "pointer", "targets":
		return true
	case "operator":
		return n.Text != "==" && n.Text != "!="
	case "statement":
		return n.Text != ""
	case "assignment":
		return n.Kids[i].Kind != "values"
	case "if", "for":
		return i == 1
	}
	return false
}
