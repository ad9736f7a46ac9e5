package treesitter

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// Flags of a node.
type Flags uint8

// The flags, as build/export.c sets them.
const (
	Named Flags = 1 << iota
	// Extra nodes may stand anywhere: comments, most of all.
	Extra
	// Error nodes hold text that the grammar has no place for.
	Error
	// Missing nodes have no text: the parser made them up to go on.
	Missing
)

// Node is a node of a tree. Its descendants follow it, up to Next.
type Node struct {
	Symbol, Field uint16
	Flags         Flags
	// Start and End are byte offsets into the text.
	Start, End uint32
	// Next is the index of the first node that is no descendant.
	Next uint32
}

// Tree is the syntax tree of one text. Nodes[0] is its root.
type Tree struct {
	Text    []byte
	Nodes   []Node
	Grammar *Grammar
}

// Grammar has the names of a language's symbols and fields, by their numbers.
type Grammar struct {
	Symbols, Fields []string
}

// Kind is the name of the node's symbol: for an unnamed node its text in the grammar.
func (t *Tree) Kind(node int) string { return t.Grammar.symbol(t.Nodes[node].Symbol) }

// Source is the text that the node stands for.
func (t *Tree) Source(node int) string {
	n := t.Nodes[node]
	return string(t.Text[n.Start:n.End])
}

// Children yields the indices of the node's children in order.
func (t *Tree) Children(node int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for child := node + 1; child < int(t.Nodes[node].Next); child = int(t.Nodes[child].Next) {
			if !yield(child) {
				return
			}
		}
	}
}

// Fault is the byte offset of the first place that the parser had to repair.
func (t *Tree) Fault() (offset int, faulty bool) {
	for _, n := range t.Nodes {
		if n.Flags&(Error|Missing) != 0 {
			return int(n.Start), true
		}
	}
	return 0, false
}

func (g *Grammar) symbol(number uint16) string {
	if int(number) < len(g.Symbols) {
		return g.Symbols[number]
	}
	return "ERROR" // the core's own symbol, 65535
}

const nodeSize = 5 * 4

// decode reads the nodes that a module wrote and holds them to what the rest of
// the program takes for granted: a module is not trusted to be without bugs.
func decode(wire []byte, textLength int) ([]Node, error) {
	nodes := make([]Node, len(wire)/nodeSize)
	for i := range nodes {
		w := wire[i*nodeSize:]
		word := binary.LittleEndian.Uint32
		nodes[i] = Node{
			Symbol: uint16(word(w)), Field: uint16(word(w) >> 16), Flags: Flags(word(w[4:])),
			Start: word(w[8:]), End: word(w[12:]), Next: word(w[16:]),
		}
		n := nodes[i]
		if n.Start > n.End || n.End > uint32(textLength) || n.Next <= uint32(i) || n.Next > uint32(len(nodes)) {
			return nil, fmt.Errorf("%w: node %d is out of bounds", ErrFault, i)
		}
	}
	if len(nodes) == 0 || int(nodes[0].Next) != len(nodes) {
		return nil, fmt.Errorf("%w: no tree", ErrFault)
	}
	return nodes, nil
}
