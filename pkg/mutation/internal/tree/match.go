package tree

import (
	"context"
	"slices"
)

// Order says what it means that a declaration stands before another.
type Order int

// The three kinds of order.
const (
	// Free declarations may stand anywhere.
	Free Order = iota
	// Still declarations have no effect, but could be seen not yet to have
	// happened by those that have one: they must not pass these.
	Still
	// Effect declarations do something; they keep their order.
	Effect
)

// Decl is one top-level declaration.
type Decl struct {
	// Label is for people, and names the declaration among those of its side:
	// "func Parse".
	Label string
	Node  *Node
	// Objects are the names that other declarations can use, in the order in
	// which they stand in Node.
	Objects []*Object
	// File is the index of its file, in the same list for both sides.
	File  int
	Order Order

	color uint64
}

// Line is where the declaration starts.
func (d *Decl) Line() int { return d.Node.Line }

// Pair is a declaration on both sides.
type Pair struct{ Before, After *Decl }

// rounds is how often colors are refined. More rounds tell apart more
// declarations that differ only in what those that they use are made of.
const rounds = 4

// Match finds, by shape, which declaration became which. It is a guess for
// Compare to check; what has no match is in one of the other lists.
func Match(ctx context.Context, before, after []*Decl) (pairs []Pair, gone, added []*Decl) {
	paint(ctx, before)
	paint(ctx, after)
	waiting := map[uint64][]*Decl{}
	for _, d := range after {
		waiting[d.color] = append(waiting[d.color], d)
	}
	var unnamed []*Decl
	for _, b := range before {
		i := slices.IndexFunc(waiting[b.color], func(a *Decl) bool { return a.Label == b.Label && a.File == b.File })
		if i < 0 {
			unnamed = append(unnamed, b)
			continue
		}
		pairs = append(pairs, Pair{b, waiting[b.color][i]})
		waiting[b.color] = slices.Delete(waiting[b.color], i, i+1)
	}
	for _, b := range unnamed {
		candidates := waiting[b.color]
		if len(candidates) == 0 {
			gone = append(gone, b)
			continue
		}
		i := max(0, slices.IndexFunc(candidates, func(a *Decl) bool { return a.File == b.File }))
		pairs = append(pairs, Pair{b, candidates[i]})
		waiting[b.color] = slices.Delete(candidates, i, i+1)
	}
	for _, a := range after {
		if slices.Contains(waiting[a.color], a) {
			added = append(added, a)
		}
	}
	return pairs, gone, added
}

// paint gives each declaration a color that does not depend on the names of
// objects: equal up to renaming means equal color.
func paint(ctx context.Context, decls []*Decl) {
	owners := map[*Object]int{}
	for _, d := range decls {
		d.color = hash(offset, d.Node.Kind)
		for i, o := range d.Objects {
			o.decl, o.index = d, i
			owners[o]++
		}
	}
	for o, owned := range owners {
		if owned > 1 {
			o.decl = nil // of methods of one name none is the one that is meant
		}
	}
	next := make([]uint64, len(decls))
	for range rounds {
		if ctx.Err() != nil {
			return
		}
		for i, d := range decls {
			next[i] = shape(d)
		}
		for i, d := range decls {
			d.color = next[i]
		}
	}
}

// The parameters of FNV-1a, 64 bits.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

func hash(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return (h ^ 0xff) * prime
}

func mix(h, value uint64) uint64 {
	for range 8 {
		h = (h ^ value&0xff) * prime
		value >>= 8
	}
	return h
}

// shape hashes a declaration with its own locals numbered as they come, and
// everything else in the colors of the round before.
func shape(d *Decl) uint64 {
	numbers := map[*Object]uint64{}
	var walk func(h uint64, n *Node) uint64
	walk = func(h uint64, n *Node) uint64 {
		if n == nil {
			return mix(h, 1)
		}
		h = hash(hash(h, n.Kind), n.Text)
		if o := n.Object; o != nil {
			h = hash(h, o.Kind)
			if o.decl != nil {
				h = mix(mix(h, o.decl.color), uint64(o.index))
			} else {
				if _, ok := numbers[o]; !ok {
					numbers[o] = uint64(len(numbers))
				}
				h = mix(h, numbers[o])
			}
		}
		for _, k := range n.Kids {
			h = walk(h, k)
		}
		return mix(h, uint64(len(n.Kids)))
	}
	return walk(offset, d.Node)
}
