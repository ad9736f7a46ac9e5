// Package tree compares two programs up to a consistent renaming of the names
// that they declare.
//
// A judge of a language makes a tree of each side, without comments, layout and
// optional punctuation, in which each name that the program itself declares is
// an Object, resolved by the language's rules of scope. Because both sides are
// resolved on their own, a renaming that captures another name, or is captured,
// shows as names that stand for different declarations: there is no separate
// search for captures.
//
// The package promises that Compare finds two trees the same only if they have
// the same nodes in the same order, the same text in every node, and one
// one-to-one relation between their objects under which every name means the
// same. It knows no language: what may be left out of a tree, and which
// renamings matter to somebody else, is for the judge to say.
package tree

import (
	"fmt"
	"unicode"
)

// Reach says who else can use a name.
type Reach int

// The three reaches.
const (
	// Local names are seen by nobody outside of their declaration.
	Local Reach = iota
	// Shared names can be used by other files.
	Shared
	// Member names belong to a type; other files can use them, and programs
	// can find them by their spelling.
	Member
)

// Object is what a name of the program stands for: one declaration.
type Object struct {
	Name string
	// Kind is for people: "function", "local variable".
	Kind string
	// Line is where it is declared.
	Line  int
	Reach Reach
	// Pinned says why the name must not change; "" if it may.
	Pinned string

	decl  *Decl
	index int
}

// Node is a piece of syntax.
type Node struct {
	// Kind and Text are compared as they are. Kind is for people, too.
	Kind, Text string
	// Object is what a name stands for; nil for all other nodes, and for names
	// that the program does not declare, which are Text.
	Object *Object
	// Literal text is not quoted in reasons.
	Literal bool
	Line    int
	Kids    []*Node
}

// Difference is the first place where two trees are not the same.
type Difference struct {
	// Before and After are where; either may be nil.
	Before, After *Node
	Why           string
}

// Pairing is a one-to-one relation between the objects of two programs.
type Pairing struct {
	forth, back map[*Object]*Object
	order       []*Object
}

// NewPairing returns the empty relation.
func NewPairing() *Pairing {
	return &Pairing{forth: map[*Object]*Object{}, back: map[*Object]*Object{}}
}

// Each calls yield for each pair, in the order in which they were met.
func (p *Pairing) Each(yield func(before, after *Object) bool) {
	for _, b := range p.order {
		if !yield(b, p.forth[b]) {
			return
		}
	}
}

// Partner is the object after the change that one before it is related to.
func (p *Pairing) Partner(before *Object) (after *Object, met bool) {
	after, met = p.forth[before]
	return after, met
}

// Pair relates two objects, or says that one of them is related to another.
func (p *Pairing) Pair(before, after *Object) bool {
	known, isKnown := p.forth[before]
	taken, isTaken := p.back[after]
	if isKnown || isTaken {
		return known == after && taken == before
	}
	p.forth[before], p.back[after] = after, before
	p.order = append(p.order, before)
	return true
}

// Compare relates the objects of two trees, and returns nil if the trees are
// the same under the relation. After a difference the relation is of no use.
func (p *Pairing) Compare(before, after *Node) *Difference {
	if before == nil || after == nil {
		if before == after {
			return nil
		}
		return &Difference{before, after, "something was added or removed"}
	}
	if before.Kind != after.Kind {
		return &Difference{before, after, fmt.Sprintf("%s became %s", before, after)}
	}
	if d := p.compareNames(before, after); d != nil {
		return d
	}
	if before.Text != after.Text {
		if before.String() == after.String() {
			return &Difference{before, after, fmt.Sprintf("%s is another one", after)}
		}
		return &Difference{before, after, fmt.Sprintf("%s became %s", before, after)}
	}
	for i := range min(len(before.Kids), len(after.Kids)) {
		if d := p.Compare(before.Kids[i], after.Kids[i]); d != nil {
			return uneven(before, after, d)
		}
	}
	return uneven(before, after, nil)
}

// uneven says that one of two nodes has more parts, which tells more than
// where their parts begin to differ.
func uneven(before, after *Node, first *Difference) *Difference {
	b, a := len(before.Kids), len(after.Kids)
	if b == a {
		return first
	}
	where := &Difference{before, after, fmt.Sprintf("the %s has %d parts instead of %d", before.Kind, a, b)}
	if first != nil && first.After != nil {
		where.After = first.After
	} else if a > b {
		where.After = after.Kids[b]
	}
	return where
}

func (p *Pairing) compareNames(before, after *Node) *Difference {
	b, a := before.Object, after.Object
	switch {
	case b == nil && a == nil:
		return nil
	case b == nil:
		return &Difference{before, after, fmt.Sprintf("%s is now the %s of line %d", before, a.Kind, a.Line)}
	case a == nil:
		return &Difference{before, after, fmt.Sprintf("%s is no longer the %s %q, but declared elsewhere", after, b.Kind, b.Name)}
	case b.Kind != a.Kind:
		return &Difference{before, after, fmt.Sprintf("the %s %q became the %s %q", b.Kind, b.Name, a.Kind, a.Name)}
	case !p.Pair(b, a):
		return &Difference{before, after, fmt.Sprintf("the %s %q became the %s %q, which is another one", b.Kind, b.Name, a.Kind, a.Name)}
	}
	return nil
}

// quoted is how much of a node's text a reason shows.
const quoted = 40

// String names a node for a reason. Reasons stand in records that cannot be
// taken back, so they quote names and operators, but not literals, which may
// be secrets.
func (n *Node) String() string {
	text := n.Text
	if n.Object != nil {
		text = n.Object.Name
	}
	if !isWord(text) && len(text) > longestOperator {
		text = ""
	}
	if runes := []rune(text); len(runes) > quoted {
		text = string(runes[:quoted]) + "…"
	}
	if text == "" || n.Literal {
		return "the " + n.Kind
	}
	return fmt.Sprintf("the %s %q", n.Kind, text)
}

// longestOperator of any language, in bytes.
const longestOperator = 4

func isWord(text string) bool {
	for _, r := range text {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// Walk calls visit for each node, parents first, until it returns false, which
// leaves out the node's parts.
func (n *Node) Walk(visit func(*Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, k := range n.Kids {
		k.Walk(visit)
	}
}
