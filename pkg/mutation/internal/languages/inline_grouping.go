package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// ungroup takes off brackets that say no more than the tree: around an
// expression that is made of variables, literals and operators only. A macro in
// it could have operators of its own.
func (how *inlining) ungroup(n *tree.Node) {
	if how.grouping == nil || n == nil {
		return
	}
	if how.known != nil && base(n.Kind, setOf(how.call)) != "" && !how.known(n.Kids[0]) {
		return
	}
	inside := base(n.Kind, how.grouping) != ""
	for i, k := range n.Kids {
		for inside && isGroup(k) && how.operators(k.Kids[1]) {
			inner := k.Kids[1]
			inner.Kind = strings.TrimSuffix(k.Kind, "parenthesized expression") + inner.Kind
			n.Kids[i], k = inner, inner
		}
		how.ungroup(k)
	}
}

func isGroup(n *tree.Node) bool {
	return n != nil && strings.HasSuffix(n.Kind, "parenthesized expression") && len(n.Kids) == 3
}

// operators tells whether an expression has nothing but variables, literals and
// operators in it.
func (how *inlining) operators(n *tree.Node) bool {
	if n == nil {
		return false
	}
	kind := base(n.Kind, how.expression)
	switch {
	case len(n.Kids) == 0 && kind == how.name:
		return n.Object != nil
	case len(n.Kids) == 0 && kind == "":
		return n.Object == nil && (n.Kind == label(n.Text, "") || strings.HasSuffix(n.Kind, " "+n.Text))
	case kind == "":
		return false
	}
	for _, k := range n.Kids {
		if !how.operators(k) {
			return false
		}
	}
	return true
}
