package syntax

import (
	"bytes"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// node adds a node with all its parts. under is its parent; pattern is what its names declare, or nil.
func (b *builder) node(n, under int, field uint16, pattern *definition) {
	node := b.tree.Nodes[n]
	bits := b.kind(node.Symbol)
	parent := b.tree.Nodes[under].Symbol
	nth := b.nth(n, under, field)
	at := b.at(parent, field, node.Symbol, nth)
	switch {
	case bits&isComment != 0:
		b.comment(node)
		return
	case at&isDropped != 0 && b.ends(node), at&isEmpty != 0 && !b.hasParts(n), bits&isComma != 0 && b.isLast(n, under):
		b.pos = node.End
		return
	}
	if at&isPaired != 0 && b.tree.Nodes[under].Next == b.tree.Nodes[node.Next].Next {
		at &^= isPaired
	}
	if d := b.declares(parent, field, node.Symbol, nth); d != nil {
		pattern = d
		if d.after == "." {
			defer b.known(len(b.tokens), ".")
		}
	} else if at&isValue != 0 || b.kind(parent)&isPattern == 0 {
		pattern = nil
	}
	if at&isOutside != 0 {
		defer func(sc int32) { b.scope = sc }(b.scope)
		b.scope = max(b.scopes[b.scope].parent, 0)
	}
	if bits&isText != 0 {
		if end := b.inText(n, under); end > node.Start {
			b.emit(token{symbol: node.Symbol, start: node.Start, end: end, scope: b.scope, flags: named})
			b.pos = end
			b.emit(token{symbol: node.Symbol, start: end, end: node.End, scope: b.scope})
			b.pos = node.End
			return
		}
	}
	if first := len(b.tokens); at&isWild != 0 || bits&isWildKind != 0 {
		defer func() {
			if first < len(b.tokens) {
				b.tokens[first].flags |= wild
			}
		}()
	}
	if int(node.Next) == n+1 || bits&isWhole != 0 || bits&isQuoted != 0 && b.spelled(node, bits) != "" {
		b.leaf(n, field, at, pattern)
		return
	}
	if at&isUnwrapped != 0 && int(b.tree.Nodes[n+1].Next) == int(node.Next) {
		b.node(n+1, n, b.tree.Nodes[n+1].Field, pattern)
		return
	}
	if at&isGroup != 0 {
		b.group(n, field, pattern)
		return
	}
	open := len(b.tokens)
	b.inner(n, field, pattern)
	if bits&isMacro != 0 && b.kind(parent)&isMacro == 0 {
		b.macro(n, under, open)
	}
	if at&isUnsure != 0 {
		b.conceal(open)
	}
}

// nth is which part of its parent a node without a field is.
func (b *builder) nth(n, under int, field uint16) uint16 {
	switch {
	case field != 0:
		return field
	case n == int(b.tree.Nodes[under+1].Next):
		return secondPart
	case n != under+1:
		return laterPart
	case b.tree.Nodes[n].Next == b.tree.Nodes[under].Next:
		return onlyPart
	}
	return firstPart
}

// ends tells whether what stands around a token that is dropped would be two
// statements without it as well, if a line break or a bracket is there.
func (b *builder) ends(node treesitter.Node) bool {
	if b.table.kinds[isBreakAfter][b.lastText()] {
		return false
	}
	rest := bytes.TrimLeft(b.src[node.End:], " \t\r\n")
	for bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) {
		until := []byte("\n")
		if rest[1] == '*' {
			until = []byte("*/")
		}
		_, rest, _ = bytes.Cut(rest, until)
		rest = bytes.TrimLeft(rest, " \t\r\n")
	}
	return len(rest) == 0 || !bytes.ContainsRune([]byte("([<*+-/.?,=&|^%`"), rune(rest[0])) && !bytes.HasPrefix(rest, []byte("in"))
}

// lastText is the text of the last leaf.
func (b *builder) lastText() string {
	if b.leaves == 0 {
		return ""
	}
	return b.text(&b.tokens[b.lastLeaf()])
}

// hasParts tells whether a node has named children.
func (b *builder) hasParts(n int) bool {
	for c := range b.tree.Children(n) {
		if b.tree.Nodes[c].Flags&treesitter.Named != 0 {
			return true
		}
	}
	return false
}

// isLast tells whether a comma is the last part of a list but for its bracket.
func (b *builder) isLast(n, under int) bool {
	if k := b.kind(b.tree.Nodes[under].Symbol); k&isTrailing == 0 && (k&isMacro == 0 || !b.plainMacro(under)) {
		return false
	}
	parts := 0
	for c := range b.tree.Children(under) {
		k := b.kind(b.tree.Nodes[c].Symbol)
		switch {
		case c < n && k&(isComment|isOpening|isBrace) == 0:
			parts++
		case c > n && k&isComment == 0:
			return k&isClosing != 0 && parts > 0
		}
	}
	return parts > 0
}

func (b *builder) inner(n int, field uint16, pattern *definition) {
	node := b.tree.Nodes[n]
	bits := b.kind(node.Symbol)
	if b.deep++; b.deep > b.limit {
		return
	}
	outer := b.scope
	if kind := b.scopeOf(node.Symbol); kind != 0 {
		b.scopes = append(b.scopes, scope{kind, outer})
		b.scope = int32(len(b.scopes) - 1)
	}
	if bits&isExport != 0 {
		b.export++
	}
	b.module = b.module || bits&isModule != 0
	defer func(sc int32) { b.guard = sc }(b.guard)
	if bits&isGuard != 0 {
		b.guard = b.scope
	}
	if bits&isChoice != 0 && !b.wholeFile(n) {
		defer func(sc int32) { b.choice = sc }(b.choice)
		b.choice = b.scope
	}
	open := len(b.tokens)
	b.tokens = append(b.tokens, token{symbol: node.Symbol, field: field, flags: opens, scope: b.scope, start: node.Start, end: node.Start})
	if b.parts(n, open, pattern) || bits&isOpaque != 0 {
		b.conceal(open)
	}
	b.tokens = append(b.tokens, token{symbol: node.Symbol, flags: closes, scope: b.scope, start: node.End, end: node.End})
	b.scope = outer
	if bits&isExport != 0 {
		b.export--
	}
	if bits&isAfter != 0 {
		b.known(open, b.tree.Kind(n))
	}
	if b.deep <= b.limit {
		b.deep--
	}
}

// wholeFile tells whether a node is all that a file has: the guard of a header.
func (b *builder) wholeFile(n int) bool {
	for c := range b.tree.Children(0) {
		if c != n && b.kind(b.tree.Nodes[c].Symbol)&isComment == 0 {
			return false
		}
	}
	return n > 0 && b.deep == 2
}

// known ends the wait of names that are known behind a node.
func (b *builder) known(open int, kind string) {
	b.waiting = slices.DeleteFunc(b.waiting, func(i int) bool {
		d := &b.defs[i]
		if d.token < open || d.after != kind {
			return false
		}
		d.from = len(b.tokens)
		return true
	})
}

// parts adds those of a node, and notes them where they may change places. It
// tells whether the node prints its own text.
func (b *builder) parts(n, open int, pattern *definition) (shows bool) {
	node := b.tree.Nodes[n]
	bits := b.kind(node.Symbol)
	var l *list
	if bits&isList != 0 {
		l = &list{open: open}
	}
	if n == 0 {
		b.pos = 0
	}
	if bits&isExact != 0 {
		b.exacts++
		defer func() { b.exacts-- }()
	}
	exact, hidden := b.exacts > 0, false
	for c := range b.tree.Children(n) {
		child := b.tree.Nodes[c]
		first := len(b.tokens)
		b.gap(child.Start, exact)
		shows = shows || b.at(node.Symbol, child.Field, child.Symbol, child.Field)&isShow != 0
		if b.apart && (n == 0 || bits&(isList|isChoice) != 0) && b.faultIn(c) >= 0 && !b.reaches(c) {
			b.setAside(c)
		} else {
			b.node(c, n, child.Field, pattern)
		}
		switch k := b.kind(child.Symbol); {
		case k&isHiding != 0:
			hidden = hidden || b.calm == nil || !b.calm.Match(b.src[child.Start:child.End])
		case k&isComment == 0:
			if hidden {
				b.conceal(first)
			}
			hidden = false
		}
		b.gap(child.End, false)
		if l != nil && len(b.tokens) > l.next(open) {
			if b.lines == linesEnd && len(l.items) == 0 {
				b.begin(l.next(open)) // as the others do, with which it can change places
			}
			k := b.kind(child.Symbol)
			if first < len(b.tokens) && b.alone[b.firstWord(first)] {
				k &^= isLead
			}
			l.add(c, open, len(b.tokens), k)
		}
	}
	end := node.End
	if n == 0 {
		end = uint32(len(b.src))
	}
	b.gap(end, exact)
	if l != nil {
		l.close = len(b.tokens)
		if l.close > l.next(open) {
			l.items = append(l.items, item{n, l.next(open), l.close})
		}
		b.lists[open] = l
	}
	return shows
}

// begin has a line begin at the first leaf of a part.
func (b *builder) begin(first int) {
	for i := first; i < len(b.tokens); i++ {
		if t := &b.tokens[i]; t.flags&(opens|closes) == 0 {
			t.flags |= broken
			return
		}
	}
}

// firstWord is the text of the first leaf from a token on.
func (b *builder) firstWord(i int) string {
	for i < len(b.tokens)-1 && b.tokens[i].flags&opens != 0 {
		i++
	}
	return b.text(&b.tokens[i])
}

// conceal has no name of a node be resolved.
func (b *builder) conceal(open int) {
	for i := open; i < len(b.tokens); i++ {
		b.tokens[i].flags &^= named | member | neutral | keyword
	}
	b.defs = slices.DeleteFunc(b.defs, func(d def) bool { return d.token >= open })
	b.waiting = slices.DeleteFunc(b.waiting, func(i int) bool { return i >= len(b.defs) })
}

// reaches tells whether a node has parts of which only some were not understood.
func (b *builder) reaches(n int) bool {
	if b.kind(b.tree.Nodes[n].Symbol)&isChoice != 0 {
		return true
	}
	within := false
	for c := range b.tree.Children(n) {
		if b.faultIn(c) >= 0 {
			if within = b.kind(b.tree.Nodes[c].Symbol)&isList != 0; !within {
				return false
			}
		}
	}
	return within
}

// setAside makes one text of a declaration that the parser did not understand.
// With a quote that does not end in its line, nothing behind it is certain.
func (b *builder) setAside(n int) {
	node := b.tree.Nodes[n]
	for line := range bytes.Lines(b.src[node.Start:node.End]) {
		if bytes.Count(line, []byte(`"`))%2 != 0 || bytes.Count(line, []byte(`'`))%2 != 0 {
			b.fault = n
		}
	}
	b.asides = true
	b.emit(token{symbol: node.Symbol, start: node.Start, end: node.End})
	b.pos = node.End
}

// faultIn is the first node in one that the parser did not understand, or made
// up; -1 if there is none.
func (b *builder) faultIn(n int) int {
	for i := n; i < int(b.tree.Nodes[n].Next); i++ {
		if b.tree.Nodes[i].Flags&(treesitter.Error|treesitter.Missing) != 0 {
			return i
		}
	}
	return -1
}

// group adds what is in parentheses without them.
func (b *builder) group(n int, field uint16, pattern *definition) {
	inner := -1
	for c := range b.tree.Children(n) {
		if child := b.tree.Nodes[c]; child.Flags&treesitter.Named != 0 {
			if inner >= 0 || b.kind(child.Symbol)&isComment != 0 {
				inner = -1
				break
			}
			inner = c
		}
	}
	if inner < 0 || b.contains(inner, isStaying) {
		b.inner(n, field, pattern)
		return
	}
	node := b.tree.Nodes[n]
	b.pos = node.Start + 1
	b.groups++
	b.gap(b.tree.Nodes[inner].Start, false)
	b.node(inner, n, field, pattern)
	b.gap(node.End-1, false)
	b.groups--
	b.pos = node.End
}

// contains tells whether a node is, or has in it, one of some kinds.
func (b *builder) contains(n int, bits kindBits) bool {
	for i := n; i < int(b.tree.Nodes[n].Next); i++ {
		if b.kind(b.tree.Nodes[i].Symbol)&bits != 0 {
			return true
		}
	}
	return false
}

// builder makes the tokens of a side.
type builder struct {
	*side
	pos      uint32 // the end of the last leaf
	space    bool   // white space since then
	newline  bool   // with a line break
	previous uint16 // the symbol of the last leaf
	leaves   int
	brackets []bool // true where a line break is layout
	scope    int32
	export   int // how many exporting nodes are open
	fault    int // the first node that the parser did not understand, or -1
	deep     int
	exacts   int // how many nodes with meaning in their white space are open
	groups   int // how many parentheses that were left out are open
	limit    int
	waiting  []int  // defs whose from is not known
	guard    int32  // the scope of what an open node may look at, or -1
	others   []byte // what could give a macro its name
	all      bool   // all comments are read
	choice   int32  // the scope that an open choice is in, or -1
	escaping int32  // the last scope in which a word says that its names belong to the file
}
