package tree

import (
	"cmp"
	"slices"
)

// Disorder returns a declaration that stands on another side of an effect than
// before, or nil. The lists are the declarations of both sides in the order in
// which they take effect.
func Disorder(before, after []*Decl, pairs []Pair) *Decl {
	partner := make(map[*Decl]*Decl, len(pairs))
	for _, p := range pairs {
		partner[p.Before] = p.After
	}
	effects := func(decls []*Decl) (list []*Decl, passed map[*Decl]int) {
		passed = map[*Decl]int{}
		for _, d := range decls {
			if d.Order == Effect {
				list = append(list, d)
			}
			passed[d] = len(list)
		}
		return list, passed
	}
	b, passedBefore := effects(before)
	a, passedAfter := effects(after)
	for i, d := range b {
		if i >= len(a) || partner[d] != a[i] {
			return partner[d]
		}
	}
	for _, d := range before {
		if d.Order == Still && passedBefore[d] != passedAfter[partner[d]] {
			return partner[d]
		}
	}
	return nil
}

// Moved returns the pairs that stand elsewhere among their neighbours than
// before: the fewest that explain the new order, and all that changed the
// file.
func Moved(pairs []Pair) []Pair {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(x, y Pair) int { return place(x.Before, y.Before) })
	kept := longestRise(pairs)
	var moved []Pair
	for i, p := range pairs {
		if !kept[i] || p.Before.File != p.After.File {
			moved = append(moved, p)
		}
	}
	return moved
}

func place(x, y *Decl) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line(), y.Line()))
}

// longestRise marks a longest subsequence that is in order on the other side
// too (patience sorting).
func longestRise(pairs []Pair) []bool {
	var tops []int // by length, the index of the smallest end
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		at, _ := slices.BinarySearchFunc(tops, p, func(top int, p Pair) int {
			if place(pairs[top].After, p.After) <= 0 {
				return -1
			}
			return 1
		})
		previous[i] = -1
		if at > 0 {
			previous[i] = tops[at-1]
		}
		tops = append(tops[:at], append([]int{i}, tops[min(at+1, len(tops)):]...)...)
	}
	kept := make([]bool, len(pairs))
	if len(tops) == 0 {
		return kept
	}
	for i := tops[len(tops)-1]; i >= 0; i = previous[i] {
		kept[i] = true
	}
	return kept
}
