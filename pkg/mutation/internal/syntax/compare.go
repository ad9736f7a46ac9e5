package syntax

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// change is a name that is spelled otherwise than before.
type change struct{ before, after int } // tokens

// comparison walks two sides at once.
type comparison struct {
	ctx           context.Context
	before, after *side
	changes       []change
	moves         []verdict.Move
	// moving: parts of a list may have changed places.
	moving bool
	steps  int
	// line and why are the first difference, or why parts may not change places.
	line int
	why  string
	held bool
}

// span is a stretch of tokens.
type span struct{ first, next int }

// compare says whether two sides are the same but for names.
func compare(ctx context.Context, before, after *side) *comparison {
	all := func(s *side) span { return span{0, len(s.tokens)} }
	c := &comparison{ctx: ctx, before: before, after: after}
	if c.same(all(before), all(after)) {
		return c
	}
	if o := before.ordered; before.asides || after.asides || o != nil && (o.Match(before.src) || o.Match(after.src)) {
		return c
	}
	moved := &comparison{ctx: ctx, before: before, after: after, moving: true}
	if moved.same(all(before), all(after)) || moved.held {
		return moved
	}
	return c
}

func (c *comparison) differs(b, a int, format string, args ...any) bool {
	if c.why == "" {
		c.why = fmt.Sprintf(format, args...)
		if a < len(c.after.tokens) {
			c.line = c.after.lineAt(c.after.tokens[a].start)
		} else if b < len(c.before.tokens) {
			c.line = c.before.lineAt(c.before.tokens[b].start)
		}
	}
	return false
}

// same walks two spans in step.
func (c *comparison) same(b, a span) bool {
	i, j := b.first, a.first
	for i < b.next && j < a.next {
		if c.steps++; c.steps%1024 == 0 && c.ctx.Err() != nil {
			return c.differs(i, j, "the comparison took too long and was given up")
		}
		if c.moving {
			lb, la := c.before.lists[i], c.after.lists[j]
			if lb != nil && la != nil && (lb.close != b.next || i != b.first) {
				if !c.arrange(i, j, lb, la) {
					return false
				}
				i, j = lb.close, la.close
				continue
			}
		}
		if !c.token(i, j) {
			return false
		}
		i, j = i+1, j+1
	}
	switch {
	case i < b.next:
		return c.differs(i, j, "%s was removed", c.before.describe(i))
	case j < a.next:
		return c.differs(i, j, "%s was added", c.after.describe(j))
	}
	return true
}

// token compares two tokens, and notes a name that changed.
func (c *comparison) token(i, j int) bool {
	b, a := &c.before.tokens[i], &c.after.tokens[j]
	switch {
	case b.symbol != a.symbol || (b.flags^a.flags)&(opens|closes|named|neutral|member) != 0:
		return c.differs(i, j, "%s became %s", c.before.describe(i), c.after.describe(j))
	case (b.flags^a.flags)&compared != 0 || b.depth != a.depth:
		return c.differs(i, j, "a line break, an indentation or a space with meaning changed at %s", c.after.describe(j))
	case b.flags&(opens|closes) != 0:
		return true
	}
	if c.before.sameText(b, c.after, a) {
		return true
	}
	if b.flags&(named|member) != 0 {
		c.changes = append(c.changes, change{i, j})
		return true
	}
	return c.differs(i, j, "%s became %s", c.before.describe(i), c.after.describe(j))
}

func (s *side) sameText(t *token, other *side, o *token) bool {
	if t.text == "" && o.text == "" {
		return string(s.src[t.start:t.end]) == string(other.src[o.start:o.end])
	}
	return s.text(t) == other.text(o)
}

// describe names a token for a reason. Reasons stand in records that cannot be taken back, so they quote names and
// operators, but not literals, which may be secrets.
func (s *side) describe(i int) string {
	t := &s.tokens[i]
	kind := "text"
	if t.symbol != gapSymbol && int(t.symbol) < len(s.tree.Grammar.Symbols) {
		kind = s.tree.Grammar.Symbols[t.symbol]
	}
	text := s.text(t)
	switch {
	case t.flags&closes != 0:
		return "the end of the " + people(kind)
	case t.flags&opens != 0, t.flags&(named|neutral|member) == 0 && kind != text:
		return "the " + people(kind)
	}
	return fmt.Sprintf("%q", clip(text))
}

// people is a kind of node in words.
func people(kind string) string { return strings.ReplaceAll(kind, "_", " ") }

// arrange compares two lists whose parts may have changed places.
func (c *comparison) arrange(i, j int, lb, la *list) bool {
	if len(lb.items) != len(la.items) {
		at := j
		if len(la.items) > 0 {
			at = la.items[len(la.items)-1].first
		}
		return c.differs(i, at, "the %s has %d parts instead of %d", people(c.after.tree.Grammar.Symbols[c.after.tokens[j].symbol]), len(la.items), len(lb.items))
	}
	if !c.token(i, j) {
		return false
	}
	partner := c.match(lb, la)
	for x, y := range partner {
		if !c.same(lb.items[x].span(), la.items[y].span()) {
			return false
		}
	}
	return c.inOrder(lb, la, partner)
}

func (it item) span() span { return span{it.first, it.next} }

// match finds which part became which: by what they are, by their names, by
// what they are but for names, and else by their places.
func (c *comparison) match(lb, la *list) []int {
	partner := make([]int, len(lb.items))
	for x := range partner {
		partner[x] = -1
	}
	taken := make([]bool, len(la.items))
	keys := []func(*side, item) string{
		func(s *side, it item) string { return s.digest(it, true) },
		func(s *side, it item) string { return s.label(it) },
		func(s *side, it item) string { return s.digest(it, false) },
		func(*side, item) string { return "*" },
	}
	for _, key := range keys {
		if !slices.Contains(partner, -1) {
			break
		}
		waiting := map[string][]int{}
		for y, it := range la.items {
			if !taken[y] {
				if k := key(c.after, it); k != "" {
					waiting[k] = append(waiting[k], y)
				}
			}
		}
		for x, it := range lb.items {
			if partner[x] >= 0 {
				continue
			}
			if k := key(c.before, it); len(waiting[k]) > 0 {
				partner[x] = waiting[k][0]
				waiting[k] = waiting[k][1:]
				taken[partner[x]] = true
			}
		}
	}
	return partner
}
