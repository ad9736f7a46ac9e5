package languages

import (
	"context"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// arrangement puts the declarations of one program into the order of the
// other's, list by list.
type arrangement struct {
	ctx           context.Context
	before, after *side
	moves         []verdict.Move
	// broken is the first pair whose order has meaning.
	broken *disorder
}

// align works on a program's tree, parents first: the lists in a declaration
// are put in order when it stands beside its partner.
func (m *arrangement) align(before, after *tree.Node) {
	if before == nil || after == nil || before.Kind != after.Kind || m.ctx.Err() != nil {
		return
	}
	b, a := m.before.lists[before], m.after.lists[after]
	if len(b) > 0 && len(b) == len(a) {
		m.list(after, b, a)
	}
	for i := range min(len(before.Kids), len(after.Kids)) {
		m.align(before.Kids[i], after.Kids[i])
	}
}

// list puts the parts of one list into the order of the other.
func (m *arrangement) list(after *tree.Node, b, a []*item) {
	pairs := m.match(b, a)
	partner := make([]int, len(b))
	for _, p := range pairs {
		partner[p.Before.Line()] = p.After.Line()
	}
	if slices.IsSorted(partner) {
		return
	}
	for i := range b {
		for j := i + 1; j < len(b); j++ {
			if partner[i] > partner[j] && m.broken == nil {
				m.check(b[i], b[j], a[partner[i]], a[partner[j]])
			}
		}
	}
	for _, p := range tree.Moved(pairs) {
		was, is := b[p.Before.Line()], a[p.After.Line()]
		m.moves = append(m.moves, verdict.Move{Declaration: is.label, FromLine: was.line, ToLine: is.line})
	}
	var kids []*tree.Node
	for i := range b {
		kids = append(kids, a[partner[i]].kids...)
	}
	after.Kids = kids
}

// check holds two declarations that changed places to what both sides say of
// them.
func (m *arrangement) check(first, second, firstNow, secondNow *item) {
	why := first.opposes(second)
	if why == "" {
		why = firstNow.opposes(secondNow)
	}
	if why != "" {
		m.broken = &disorder{label: firstNow.label, why: why, line: firstNow.line}
	}
}

// match finds a partner for each part: by shape, then by name, then as they
// come. The comparison that follows finds out where it guessed wrongly.
func (m *arrangement) match(b, a []*item) []tree.Pair {
	pairs, gone, added := tree.Match(m.ctx, decls(m.before, b), decls(m.after, a))
	var rest []*tree.Decl
	for _, d := range gone {
		i := slices.IndexFunc(added, func(o *tree.Decl) bool { return o.Label == d.Label })
		if i < 0 {
			rest = append(rest, d)
			continue
		}
		pairs = append(pairs, tree.Pair{Before: d, After: added[i]})
		added = slices.Delete(added, i, i+1)
	}
	for i, d := range rest {
		pairs = append(pairs, tree.Pair{Before: d, After: added[i]})
	}
	return pairs
}

func decls(s *side, items []*item) []*tree.Decl {
	list := make([]*tree.Decl, len(items))
	for i, it := range items {
		list[i] = it.decl(s, i)
	}
	return list
}
