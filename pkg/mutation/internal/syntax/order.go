package syntax

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// digest stands for all tokens of a part, with or without the names in it.
func (s *side) digest(it item, names bool) string {
	h := fnv.New128a()
	var word [8]byte
	for i := it.first; i < it.next; i++ {
		t := &s.tokens[i]
		flags := t.flags & compared
		word = [8]byte{byte(t.symbol), byte(t.symbol >> 8), byte(flags), byte(flags >> 8), byte(t.depth)}
		h.Write(word[:])
		if t.flags&(opens|closes) == 0 && (names || t.flags&(named|member) == 0) {
			h.Write([]byte(s.text(t)))
			h.Write([]byte{0})
		}
	}
	return string(h.Sum(nil))
}

// outer is the scope in which a part stands.
func (s *side) outer(it item) int32 {
	t := &s.tokens[it.first]
	if t.flags&opens != 0 && s.scopeOf(t.symbol) != 0 {
		return s.scopes[t.scope].parent
	}
	return t.scope
}

// label is the name that a part declares in the scope around it, or "".
func (s *side) label(it item) string {
	outer := s.outer(it)
	for _, d := range s.defs {
		if d.token >= it.first && d.token < it.next && d.scope == outer {
			return d.name
		}
	}
	return ""
}

// order is what it means that a part stands before another.
type order int

const (
	// fence: nothing may pass it.
	fence order = iota
	// effect: it does something when it is reached.
	effect
	// still: it only declares, but when it is reached.
	still
	// free: it is there before anything is reached.
	free
)

// placed is a part with what its place means.
type placed struct {
	order          order
	label          string
	line           int
	defines, reads map[string]bool
	// early: it is known wherever it stands.
	early bool
}

func (s *side) placed(it item) *placed {
	p := &placed{defines: map[string]bool{}, reads: map[string]bool{}, line: s.lineAt(s.tokens[it.first].start)}
	p.label = s.label(it)
	n := it.node
	for s.kind(s.tree.Nodes[n].Symbol)&isWrap != 0 {
		last := -1
		for c := range s.tree.Children(n) {
			if k := s.kind(s.tree.Nodes[c].Symbol); k&(isFree|isStill|isWrap) != 0 {
				last = c
			}
		}
		if last < 0 {
			break
		}
		n = last
	}
	switch bits := s.kind(s.tree.Nodes[n].Symbol); {
	case bits&isFenceKind != 0:
		return p
	case bits&isFree != 0:
		p.order = free
	case bits&isStill != 0:
		p.order = still
	case bits&isComment != 0 || int(s.tree.Nodes[n].Next) == n+1:
		return p
	default:
		p.order = effect
	}
	p.order = min(p.order, s.noise(it))
	if s.acts != nil && s.acts.Match(s.src[s.tree.Nodes[it.node].Start:s.tree.Nodes[it.node].End]) {
		p.order = min(p.order, effect)
	}
	if p.order == fence {
		return p
	}
	if i := it.first; s.kind(s.tokens[i].symbol)&isComment != 0 {
		p.order = fence // what it says may be about what follows
	}
	if p.order > effect && p.label == "" && s.kind(s.tree.Nodes[n].Symbol)&isNameless == 0 {
		p.order = fence
	}
	for c := range s.tree.Children(n) {
		if child := s.tree.Nodes[c]; s.at(s.tree.Nodes[n].Symbol, child.Field, child.Symbol, child.Field)&isFence != 0 {
			p.order = fence
		}
	}
	p.early = p.order == free && !s.mentions
	outer := s.outer(it)
	for _, d := range s.defs {
		if d.token >= it.first && d.token < it.next && (s.within(outer, d.scope) || d.name == p.label) {
			p.defines[d.name] = true
		}
	}
	s.readsOf(it, p)
	return p
}

// noise is what happens when a part is reached: an effect, something that nothing may pass, or nothing.
func (s *side) noise(it item) order {
	inside, outer := 0, s.outer(it)
	for i := it.first; i < it.next; i++ {
		t := &s.tokens[i]
		if s.scopeOf(t.symbol) == functionScope && t.flags&opens != 0 {
			inside++
		}
		if s.scopeOf(t.symbol) == functionScope && t.flags&closes != 0 {
			inside--
		}
		k := s.kind(t.symbol)
		if t.flags&closes != 0 || s.calm != nil && s.calm.Match(s.src[t.start:]) {
			k &^= isNoisy | isComment
		}
		if k&isLoud != 0 || t.flags&wild != 0 && t.scope == s.tokens[it.first].scope || k&isNoisy != 0 && (inside == 0 || k&isLead != 0 || t.scope == outer) || t.symbol == gapSymbol || k&isComment != 0 {
			if k&isFenceKind != 0 {
				return fence
			}
			return effect
		}
	}
	return free
}

// readsOf notes the names that a part looks at when it is reached: all but those in the bodies of functions, or all of
// them where a part must not pass what mentions it.
func (s *side) readsOf(it item, p *placed) {
	inside := 0
	for i := it.first; i < it.next; i++ {
		t := &s.tokens[i]
		isFunction := s.scopeOf(t.symbol) == functionScope
		switch {
		case isFunction && t.flags&opens != 0:
			inside++
		case isFunction && t.flags&closes != 0:
			inside--
		case t.flags&(opens|closes) == 0 && (s.mentions || inside == 0):
			for _, w := range strings.FieldsFunc(s.text(t), func(r rune) bool { return !inWord(r) }) {
				p.reads[w] = true
			}
		}
	}
	for name := range p.defines {
		delete(p.reads, name)
	}
}

// opposes says why two parts may not change places, or "".
func (x *placed) opposes(y *placed) string {
	switch {
	case x.order == fence || y.order == fence:
		return "passed something that may count on its place"
	case x.order == effect && y.order == effect:
		return "changed places, and may not do so without effect"
	case x.order == effect && y.order == still, x.order == still && y.order == effect:
		return "passed something that may have an effect when it is loaded"
	case meet(x.defines, y.defines):
		return "changed places with one of the same name"
	case !x.early && meet(x.defines, y.reads), !y.early && meet(x.reads, y.defines):
		return "passed something that uses it, or that it uses"
	}
	return ""
}

func meet(x, y map[string]bool) bool {
	for name := range x {
		if y[name] {
			return true
		}
	}
	return false
}

// listed is the most parts of a list whose order is looked at.
const listed = 2000

// inOrder holds parts that changed places to what their order means.
func (c *comparison) inOrder(lb, la *list, partner []int) bool {
	moved := false
	for x, y := range partner {
		moved = moved || x != y
	}
	if !moved {
		return true
	}
	if len(partner) > listed {
		return c.differs(lb.open, la.open, "%d parts are more than are put in order", len(partner))
	}
	parts := make([]*placed, len(partner))
	get := func(x int) *placed {
		if parts[x] == nil {
			parts[x] = c.before.placed(lb.items[x])
		}
		return parts[x]
	}
	for x := range partner {
		for z := x + 1; z < len(partner); z++ {
			if partner[x] < partner[z] {
				continue
			}
			if why := get(x).opposes(get(z)); why != "" {
				c.held = true
				return c.differs(lb.items[x].first, la.items[partner[x]].first, "%s %s", describePart(get(x)), why)
			}
		}
	}
	kept := longestRise(partner)
	for x, y := range partner {
		if !kept[x] {
			c.moves = append(c.moves, verdict.Move{Declaration: describePart(get(x)), FromLine: get(x).line, ToLine: c.after.lineAt(c.after.tokens[la.items[y].first].start)})
		}
	}
	return true
}

func describePart(p *placed) string {
	if p.label == "" {
		return fmt.Sprintf("what stood in line %d", p.line)
	}
	return clip(p.label)
}

// longestRise marks a longest subsequence that rises: what kept its place.
func longestRise(places []int) []bool {
	length, previous := make([]int, len(places)), make([]int, len(places))
	best := -1
	for x := range places {
		length[x], previous[x] = 1, -1
		for z := range x {
			if places[z] < places[x] && length[z]+1 > length[x] {
				length[x], previous[x] = length[z]+1, z
			}
		}
		if best < 0 || length[x] > length[best] {
			best = x
		}
	}
	kept := make([]bool, len(places))
	for x := best; x >= 0; x = previous[x] {
		kept[x] = true
	}
	return kept
}
