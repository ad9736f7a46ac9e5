package languages

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// methodInlining says how a language whose variables have no types writes a
// private method that is nothing but an expression.
type methodInlining struct {
	// declares is the place that declares a method, accepts tells whether it may
	// be a helper by its name and class.
	declares string
	accepts  func(m *methodHelper) bool
	// read finds the parameters and the expression of a method, fits tells
	// whether a call of it is the same as the expression.
	read func(m *methodHelper) bool
	fits func(m *methodHelper, call int) bool
	// grouped puts an expression into parentheses where it needs them to stand
	// in place of a call.
	grouped func(m *methodHelper, parent, call, made *tree.Node) *tree.Node
	// tidy takes out what has no meaning without the helpers.
	tidy func(s *side, root *tree.Node)
}

// methodHelper is a helper that is a private method. Unlike other helpers it is
// read in the program's own tree.
type methodHelper struct {
	helper
	own *methodInlining
	// method and value are the nodes of the method and of its expression.
	method, value int
	// names are those of the parameters.
	names []string
}

// methodHelperOf recognises a helper among the declarations of a class.
func (s *side) methodHelperOf(it *item, homes map[*object][]int) *methodHelper {
	own := s.language.inlining.methods
	if it.leaf < 0 || it.fence || it.order == tree.Effect || s.place(it.leaf) != own.declares {
		return nil
	}
	o := s.declared[it.leaf]
	if o == nil || !o.member || o.Pinned != "" || len(homes[o]) != 1 || s.disturbs(o, o.Name, o.Name) != "" {
		return nil
	}
	m := &methodHelper{helper: helper{side: s, how: s.language.inlining, item: it, object: o, homes: homes}, own: own, method: s.parent(it.leaf)}
	// What stands in front of it are comments, which go with it.
	for _, k := range it.kids[:len(it.kids)-1] {
		if k.Kind != "comment" {
			return nil
		}
	}
	if !own.accepts(m) || !own.read(m) || m.expr == nil {
		return nil
	}
	return m
}

// calledBy is the leaf that has the name of the helper, if a node is a call of
// it; in Ruby a call without arguments may be the name alone.
func (m *methodHelper) calledBy(n *tree.Node) *tree.Node {
	if n.Object == m.object.Object && n.Kind != "name name" && !strings.HasPrefix(n.Kind, "method ") {
		return n
	}
	for _, k := range n.Kids {
		if k != nil && k.Object == m.object.Object && (k.Kind == "name name" || k.Kind == "method identifier") {
			return k
		}
	}
	return nil
}

// find collects the calls of a helper. It fails if the helper is used in any
// way that is not surely the same as its expression.
func (m *methodHelper) find(root *tree.Node) bool {
	uses := 0
	root.Walk(func(n *tree.Node) bool {
		if slices.Contains(m.item.kids, n) {
			return false
		}
		if n.Object == m.object.Object {
			uses++
		}
		for i, k := range n.Kids {
			if k == nil {
				continue
			}
			leaf := m.calledBy(k)
			at, known := m.side.origin[leaf]
			if leaf == nil || !known {
				continue
			}
			if leaf != k {
				at = m.side.parent(at)
			}
			if args := m.given(k); len(args) == len(m.params) && m.own.fits(m, at) && !slices.ContainsFunc(args, func(a *tree.Node) bool { return a.Object == nil || len(a.Kids) > 0 }) {
				m.sites = append(m.sites, site{n, i})
			}
		}
		return true
	})
	return uses > 0 && uses == len(m.sites)
}

// given are the arguments of a call.
func (m *methodHelper) given(call *tree.Node) (args []*tree.Node) {
	for _, list := range call.Kids {
		if !strings.HasPrefix(list.Kind, "arguments ") {
			continue
		}
		for _, k := range list.Kids {
			if k.Kind == "argument" && len(k.Kids) == 1 {
				k = k.Kids[0]
			}
			if k.Kind != "(" && k.Kind != ")" && k.Kind != "," {
				args = append(args, k)
			}
		}
	}
	return args
}

// replaced is the expression in place of a call.
func (m *methodHelper) replaced(parent, call *tree.Node) *tree.Node {
	field := ""
	for _, kind := range []string{"member call expression", "scoped call expression", "call", "identifier"} {
		if rest, found := strings.CutSuffix(call.Kind, kind); found {
			field = rest
			break
		}
	}
	made := m.substituted(m.expr, m.given(call))
	made.Kind = strings.TrimPrefix(made.Kind, "body ")
	made = m.own.grouped(m, parent, call, made)
	made.Kind = field + made.Kind
	return made
}

// inParentheses is an expression in parentheses of a kind.
func inParentheses(kind string, made *tree.Node) *tree.Node {
	open, end := token("(", made.Line), token(")", made.Line)
	return &tree.Node{Kind: kind, Literal: true, Line: made.Line, Kids: []*tree.Node{open, made, end}}
}

// each calls a function with the nodes of a node, itself first, until it
// returns false.
func (s *side) each(n int, visit func(i int) bool) bool {
	for i := n; i < int(s.tree.Nodes[n].Next); i++ {
		if !visit(i) {
			return false
		}
	}
	return true
}
