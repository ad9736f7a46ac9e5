package verify

import (
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"slices"
)

// lineage is the graph of a whole ledger with its edges, for lines that come in any order, with duplicates. A line has
// a number of its own, in order of first mention; most lines follow one line, so that one stands in the node itself.
type lineage struct {
	index map[record.Hash]int32
	nodes []ancestor
	joins [][]int32 // the predecessors of lines that follow several
}

type ancestor struct {
	prev   int32 // noLine, a line, or joined-n for joins[n]
	record bool  // a line of ours
	standing
}

type standing uint8

const (
	present  standing = 1 << iota // the line is there
	followed                      // some line names it as its predecessor
)

const (
	noLine int32 = -1
	joined int32 = -2
)

func newLineage() *lineage { return &lineage{index: map[record.Hash]int32{}} }

func (l *lineage) number(id record.Hash) int32 {
	n, ok := l.index[id]
	if !ok {
		n = int32(len(l.nodes))
		l.index[id] = n
		l.nodes = append(l.nodes, ancestor{prev: noLine})
	}
	return n
}

// add takes a line in, and returns its number and whether it is new.
func (l *lineage) add(id record.Hash, prev []record.Hash, record bool) (int32, bool) {
	n := l.number(id)
	if l.nodes[n].standing&present != 0 {
		return n, false
	}
	l.nodes[n].standing |= present
	l.nodes[n].record = record
	switch len(prev) {
	case 0:
	case 1:
		l.nodes[n].prev = l.follow(prev[0])
	default:
		numbers := make([]int32, len(prev))
		for i, p := range prev {
			numbers[i] = l.follow(p)
		}
		l.nodes[n].prev = joined - int32(len(l.joins))
		l.joins = append(l.joins, numbers)
	}
	return n, true
}

func (l *lineage) follow(id record.Hash) int32 {
	n := l.number(id)
	l.nodes[n].standing |= followed
	return n
}

func (l *lineage) has(id record.Hash) bool {
	n, ok := l.index[id]
	return ok && l.nodes[n].standing&present != 0
}

// heads are the lines that nobody follows, sorted.
func (l *lineage) heads() []record.Hash {
	var heads []record.Hash
	for id, n := range l.index {
		if l.nodes[n].standing == present {
			heads = append(heads, id)
		}
	}
	slices.SortFunc(heads, record.CompareHash)
	return heads
}

// closure marks the lines from the given ones back to the roots, and returns how many lines that are present it marked
// for the first time.
func (l *lineage) closure(heads []int32, marked []bool) (added int) {
	stack := slices.Clone(heads)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if marked[n] {
			continue
		}
		marked[n] = true
		node := l.nodes[n]
		if node.standing&present == 0 {
			continue
		}
		added++
		switch {
		case node.prev <= joined:
			stack = append(stack, l.joins[joined-node.prev]...)
		case node.prev != noLine:
			stack = append(stack, node.prev)
		}
	}
	return added
}
