package languages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// ordering says what it means that a declaration stands where it does among
// its neighbours.
type ordering struct {
	// order is Free for what is there before any statement runs, Still for what
	// only declares when it is run, Effect for everything else.
	order tree.Order
	// fence is what nothing may pass.
	fence bool
	// keeps its place among the others that keep theirs.
	keeps bool
	// leaf is where the declaration has its name, or -1.
	leaf int
	// defines are the names that it declares, reads those that it looks at when
	// it is loaded, or that it could be bound to by where it stands.
	defines, reads set
}

// fenced is the ordering of what no table knows.
func fenced() ordering { return ordering{order: tree.Effect, fence: true, leaf: -1} }

// effect is the ordering of what does something.
func effect() ordering { return ordering{order: tree.Effect, leaf: -1} }

// declares is the ordering of a declaration of one name.
func (s *side) declares(order tree.Order, leaf int, prefix string) ordering {
	o := ordering{order: order, leaf: leaf}
	if leaf >= 0 {
		o.defines = setOf(prefix + strings.Trim(s.tree.Source(leaf), `"'`))
	}
	return o
}

// item is one of the declarations of a list, with the attributes in front of
// it.
type item struct {
	ordering
	kids  []*tree.Node
	label string
	line  int
}

// listed is the most declarations of a list that are looked at.
const listed = 2000

// itemise notes the parts of a list. sources are the nodes that its kids were
// made of; -1 for what was made of none.
func (b *builder) itemise(made *tree.Node, sources []int) {
	var items []*item
	var leads []int
	barred, start := false, 0
	for i, n := range sources {
		if n >= 0 && b.language.leads != nil && b.language.leads(b.side, n) && i < len(sources)-1 {
			leads = append(leads, n)
			continue
		}
		if n >= 0 && len(items) > 0 && len(leads) == 0 && b.language.trails != nil && b.language.trails(b.side, n) {
			last := items[len(items)-1]
			last.kids = append(last.kids, made.Kids[i])
			start = i + 1
			continue
		}
		it := b.item(n, leads)
		it.kids = slices.Clone(made.Kids[start : i+1])
		comment := n >= 0 && b.language.comments[b.kind(n)]
		// What a comment that has meaning says may be about what follows.
		it.fence = it.fence || barred || comment
		barred = comment
		items = append(items, it)
		leads, start = nil, i+1
	}
	if len(items) <= listed {
		b.lists[made] = items
	}
}

func (b *builder) item(n int, leads []int) *item {
	if n < 0 || !b.named(n) {
		return &item{ordering: fenced(), label: "text"}
	}
	it := &item{ordering: b.language.order(b.side, n, leads), line: b.line(n)}
	it.label = declarationLabel(b.kind(n))
	if it.leaf >= 0 {
		it.label += " " + strings.Trim(b.tree.Source(it.leaf), `"'`)
	}
	return it
}

// declarationLabel is a kind of declaration for people.
func declarationLabel(kind string) string {
	for _, end := range []string{"_declaration", "_definition", "_item", "_specifier", "_signature"} {
		kind = strings.TrimSuffix(kind, end)
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// decl is the item for the matching by shape. Its place in the list stands for
// its line, so that several in one line have an order.
func (it *item) decl(s *side, place int) *tree.Decl {
	d := &tree.Decl{Label: it.label, Order: it.order, Node: &tree.Node{Kind: "declaration", Line: place, Kids: it.kids}}
	if it.leaf >= 0 {
		if o := s.declared[it.leaf]; o != nil {
			d.Objects = []*tree.Object{o.Object}
		}
	}
	return d
}

// opposes says why two declarations may not change places, or "". x stood
// before y.
func (x *item) opposes(y *item) string {
	switch {
	case x.fence || y.fence:
		return "passed something that may count on its place"
	case x.order == tree.Effect && y.order == tree.Effect, x.keeps && y.keeps:
		return "changed places, and may not do so without effect"
	case x.order == tree.Effect && y.order == tree.Still, x.order == tree.Still && y.order == tree.Effect:
		return "passed something that may have an effect when it is loaded"
	case meet(x.defines, y.defines):
		return "changed places with one of the same name"
	case meet(x.defines, y.reads), meet(x.reads, y.defines):
		return "passed something that uses it, or that it uses"
	}
	return ""
}

func meet(x, y set) bool {
	if len(y) < len(x) {
		x, y = y, x
	}
	for name := range x {
		if y[name] {
			return true
		}
	}
	return false
}

// union is a set of all names of several.
func union(sets ...set) set {
	all := set{}
	for _, one := range sets {
		for name := range one {
			all[name] = true
		}
	}
	return all
}

// mentioned are all words in a node.
func (s *side) mentioned(n int) set {
	if n < 0 {
		return nil
	}
	return setOf(words(s.tree.Source(n))...)
}

// disorder is a pair of declarations that may not have changed places.
type disorder struct {
	label, why string
	line       int
}

func (d *disorder) String() string { return fmt.Sprintf("the %s %s", d.label, d.why) }
