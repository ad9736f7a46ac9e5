package languages

import (
	"context"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// maxHelpers is how many new functions of a file are looked at.
const maxHelpers = 30

// helpers puts the helpers that the other side does not have in place of their
// calls, and takes them out.
func (s *side) helpers(ctx context.Context, root *tree.Node, others set) (found []*helper) {
	homes, known := map[*object][]int{}, map[*tree.Object]*object{}
	for leaf, o := range s.declared {
		if s.isHome(leaf, o) {
			homes[o] = append(homes[o], leaf)
		}
		known[o.Object] = o
	}
	tried := 0
	for _, holder := range s.holders(root) {
		for i := 0; i < len(s.lists[holder]) && tried < maxHelpers && ctx.Err() == nil; i++ {
			it := s.lists[holder][i]
			if others[it.label] {
				continue
			}
			tried++
			f := s.foldingOf(s.lists[holder], i, homes)
			if f == nil {
				continue
			}
			h := f.common()
			if h.known = known; !f.find(root) {
				continue
			}
			for _, at := range h.sites {
				at.parent.Kids[at.index] = f.replaced(at.parent, at.parent.Kids[at.index])
			}
			holder.Kids = slices.DeleteFunc(holder.Kids, func(k *tree.Node) bool { return slices.Contains(it.kids, k) })
			s.lists[holder] = slices.Delete(s.lists[holder], i, i+1)
			found = append(found, h)
			s.folded = append(s.folded, h)
			i--
		}
	}
	if own := s.language.inlining.methods; own != nil && own.tidy != nil {
		own.tidy(s, root)
	}
	return found
}

// isHome tells whether a leaf is a place that declares an object: of a method
// or function, only where the language says that it is declared.
func (s *side) isHome(leaf int, o *object) bool {
	switch how := s.language.inlining; {
	case how.methods != nil:
		return o.Kind != "method" || s.place(leaf) == how.methods.declares
	case how.typed != nil:
		return o.Kind != "method" && o.Kind != "function" || how.typed.declares[s.place(leaf)]
	}
	return true
}

// folding is a helper that finds its calls and knows what stands in their place.
type folding interface {
	find(root *tree.Node) bool
	replaced(parent, call *tree.Node) *tree.Node
	common() *helper
}

func (h *helper) common() *helper { return h }

// foldingOf recognises a helper as the language has them, or gives nil.
func (s *side) foldingOf(list []*item, i int, homes map[*object][]int) folding {
	if s.language.inlining.methods != nil {
		if m := s.methodHelperOf(list[i], homes); m != nil {
			return m
		}
		return nil
	}
	if h := s.helperOf(list, i, homes); h != nil {
		return h
	}
	return nil
}
