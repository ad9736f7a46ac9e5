package syntax

import (
	"bytes"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// tokenFlags say what a token is, and what the white space in front of it
// means.
type tokenFlags uint16

const (
	opens    tokenFlags = 1 << iota // a node that has parts
	closes                          // its end
	broken                          // behind a line break that has meaning
	spaced                          // behind a space that has meaning
	prefixed                        // a space in front, and none behind

	indented // Python: a block began in front of it
	named    // the name of a variable
	neutral  // a name that means no variable
	member   // the name of a member of this
	keyword  // the name of a parameter of what is called
)

// compared are the flags in which the two sides must agree.
const compared = opens | closes | broken | spaced | prefixed | indented | named | neutral | member | keyword

// token is a leaf of the tree, or the begin or end of a node that has parts.
type token struct {
	symbol, field uint16
	flags         tokenFlags
	depth         uint16 // Python: how many blocks end behind it
	scope         int32
	start, end    uint32
	text          string // where it is not what stands in the file
}

// scope is a stretch of tokens in which names are declared.
type scope struct {
	kind   scopeKind
	parent int32
}

// def is a declared name.
type def struct {
	*definition
	name  string
	token int
	scope int32
	from  int // the first token that it is known to; -1 while its node is open
	// exported names are known outside of the file.
	exported, escaped, guarded, chosen bool
}

// list is a node whose parts may change places.
type list struct {
	open, close int // its tokens
	items       []item
}

type item struct {
	node        int
	first, next int // its tokens
}

// next is the first token that is in no part yet.
func (l *list) next(open int) int {
	if len(l.items) == 0 {
		return open + 1
	}
	return l.items[len(l.items)-1].next
}

// add makes a part of a node and of all tokens since the last one. What leads
// the next one waits, and what trails belongs to the last.
func (l *list) add(node, open, next int, bits kindBits) {
	switch {
	case bits&(isLead|isComment) != 0:
	case bits&isTrail != 0 && len(l.items) > 0:
		l.items[len(l.items)-1].next = next
	default:
		l.items = append(l.items, item{node, l.next(open), next})
	}
}

// side is one version of a file.
type side struct {
	*rules
	path   string
	tree   *treesitter.Tree
	src    []byte
	tokens []token
	scopes []scope
	defs   []def
	lists  map[int]*list
	module bool
	// whole is the file of which src is a stretch, behind base lines; nil if it is all.
	whole   []byte
	base    int
	macros  set      // names that a macro of the file has, or uses
	headers *headers // nil where they were not asked for
	asides  bool     // parts of it were not understood, and are compared as they are written
	call    *call
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

// source is a file, or a stretch of one.
type source struct {
	path    string
	tree    *treesitter.Tree
	whole   []byte // the file, if the tree is that of a stretch
	start   uint32 // where the stretch begins
	headers *headers
	call    *call
}

// newSide flattens a tree. The error says where a file cannot be compared.
func newSide(r *rules, from source, depth int) (*side, error) {
	t := from.tree
	s := &side{rules: r, path: from.path, tree: t, src: t.Text, whole: from.whole, headers: from.headers, call: from.call, lists: map[int]*list{}, scopes: []scope{{fileScope, -1}}}
	s.base = bytes.Count(from.whole[:from.start], []byte("\n"))
	b := &builder{side: s, fault: -1, limit: depth, guard: -1, choice: -1, all: r.keepAll != nil && r.keepAll.Match(t.Text)}
	b.tokens = make([]token, 0, len(t.Nodes))
	if b.fault = b.faultIn(0); b.fault < 0 || r.apart && b.fault > 0 {
		b.fault = -1
		b.node(0, 0, t.Nodes[0].Field, nil)
	}
	switch {
	case b.fault >= 0:
		return nil, &fault{b.lineAt(t.Nodes[b.fault].Start), "the parser does not understand this line"}
	case b.deep > b.limit:
		return nil, &fault{0, tooDeep}
	}
	if r.macroCalls != nil {
		b.preprocess()
	}
	if r.lines == linesIndent {
		if err := b.indent(); err != nil {
			return nil, err
		}
	}
	return b.side, nil
}

// file is the text of all of the file.
func (s *side) file() []byte {
	if s.whole != nil {
		return s.whole
	}
	return s.src
}

// fault is why a file cannot be compared.
type fault struct {
	line int
	why  string
}

func (f *fault) Error() string { return f.why }

const tooDeep = "it is nested too deeply"

// text of a token as it is compared.
func (s *side) text(t *token) string {
	if t.text != "" {
		return t.text
	}
	return string(s.src[t.start:t.end])
}

func (s *side) lineAt(offset uint32) int {
	return 1 + s.base + bytes.Count(s.src[:min(int(offset), len(s.src))], []byte("\n"))
}

// node adds a node with all its parts. under is its parent; pattern is what its
// names declare, or nil.
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
	if b.breakAfter[b.lastText()] {
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

// gap looks at what stands between two parts of a node.
func (b *builder) gap(to uint32, exact bool) {
	if to <= b.pos {
		return
	}
	text := b.src[b.pos:to]
	if b.bom && b.pos == 0 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	b.space = true
	odd := exact
	for i := 0; i < len(text) && !odd; i++ {
		switch c := text[i]; {
		case c == '\n':
			b.newline = true
		case c == ' ' || c == '\t' || c == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case c == '\\' && b.splices && spliced(text[i+1:]) > 0:
			i += spliced(text[i+1:])
		default:
			odd = true
		}
	}
	if odd {
		b.newline = b.newline || bytes.IndexByte(text, '\n') >= 0
		b.emit(token{symbol: gapSymbol, start: b.pos, end: to, scope: b.scope})
	}
	b.pos = to
}

// gapSymbol is that of text that the tree has no node for.
const gapSymbol = 0xfffe

// spliced is how much of a text is a line break.
func spliced(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("\n")):
		return 1
	case bytes.HasPrefix(text, []byte("\r\n")):
		return 2
	}
	return 0
}

// comment is layout, unless somebody reads it.
func (b *builder) comment(node treesitter.Node) {
	text := b.src[node.Start:node.End]
	long := bytes.IndexByte(text, '\n') >= 0
	read := b.all || b.exacts > 0 || b.keep != nil && b.keep.Match(text)
	if b.note != nil && !read {
		if m := b.note.FindSubmatch(text); m != nil {
			text, read = m[1], true
		}
	}
	if read || long && b.lines == linesEnd && !b.newline {
		b.emit(token{symbol: node.Symbol, start: node.Start, end: node.End, scope: b.scope, text: b.outdented(string(text))})
	}
	b.space, b.newline = true, b.newline || long
	b.pos = max(b.pos, node.End)
}

// outdented is a comment that is read, without white space at the ends of its
// lines, where a star begins each.
func (b *builder) outdented(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if b.all || b.exacts > 0 || !strings.HasPrefix(text, "/**") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 && !strings.HasPrefix(strings.TrimSpace(line), "*") {
			return text
		}
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// emit adds a leaf with what the white space in front of it means.
func (b *builder) emit(t token) {
	bits, before := b.kind(t.symbol), b.kind(b.previous)
	first := b.leaves == 0
	if b.groups > 0 {
		t.flags |= grouped
	}
	if b.newline && !first && b.groups == 0 {
		switch b.lines {
		case linesFree:
			if before&isBreakAfter != 0 || b.breakAfter[b.lastText()] || bits&isBreakBefore != 0 {
				t.flags |= broken
			}
		case linesEnd:
			inside := len(b.brackets) > 0 && b.brackets[len(b.brackets)-1]
			if !inside && before&isJoinAfter == 0 && bits&isJoinBefore == 0 {
				t.flags |= broken
			}
		}
	}
	if b.space {
		t.flags |= apart
	}
	if b.space && !first && (before|bits)&isTight != 0 {
		t.flags |= spaced
	}
	if before&isPrefix != 0 && !b.space {
		if last := &b.tokens[b.lastLeaf()]; last.flags&prefixMaybe != 0 {
			last.flags |= prefixed
		}
	}
	if bits&isPrefix != 0 && b.space {
		t.flags |= prefixMaybe
	}
	switch {
	case bits&isOpening != 0:
		b.brackets = append(b.brackets, true)
	case bits&isBrace != 0:
		b.brackets = append(b.brackets, false)
	case bits&isClosing != 0 && len(b.brackets) > 0:
		b.brackets = b.brackets[:len(b.brackets)-1]
	}
	b.tokens = append(b.tokens, t)
	b.space, b.newline, b.previous = false, false, t.symbol
	b.leaves++
}

// These are no part of what is compared.
const (
	prefixMaybe tokenFlags = 1 << 15 // it could be prefixed
	grouped     tokenFlags = 1 << 14 // in parentheses that were left out
	apart       tokenFlags = 1 << 13 // behind white space
	wild        tokenFlags = 1 << 12 // it can use any name around it
)

func (b *builder) lastLeaf() int {
	i := len(b.tokens) - 1
	for i > 0 && b.tokens[i].flags&(opens|closes) != 0 {
		i--
	}
	return max(i, 0)
}

// leaf adds a node that is compared by its text.
func (b *builder) leaf(n int, field uint16, at placeBits, pattern *definition) {
	node := b.tree.Nodes[n]
	if s, ok := b.shorts[node.Symbol]; ok && !b.reserved[string(b.src[node.Start:node.End])] {
		b.short(node, field, s, pattern)
		return
	}
	t := token{symbol: node.Symbol, field: field, start: node.Start, end: node.End, scope: b.scope}
	bits := b.kind(node.Symbol)
	switch {
	case at&isUnsure != 0:
	case at&isKeyword != 0:
		t.flags |= neutral | keyword
	case at&isTag != 0 && bits&isName != 0 && (b.src[node.Start] < 'A' || b.src[node.Start] > 'Z'):
		t.flags |= neutral
	case bits&isNeutralKind != 0, at&isPaired != 0, bits&isName != 0 && (at&isNeutral != 0 || b.kind(b.previous)&isBehind != 0):
		t.flags |= neutral
	case bits&isName != 0 && at&isMember != 0:
		t.flags |= member
	case bits&isName != 0 && node.Flags&treesitter.Named != 0:
		t.flags |= named
	}
	if t.text = b.spelled(node, bits); bits&isFolded != 0 && t.text == "=" {
		b.pos = node.End
		return
	}
	b.emit(t)
	b.pos = node.End
	if t.flags&(named|member|neutral) == 0 {
		if at&isEscape != 0 {
			b.escaping = b.scope
		}
		return
	}
	if pattern != nil && (t.flags&neutral == 0 || pattern.pinned) {
		b.define(pattern, len(b.tokens)-1)
	}
	if at&isEscape != 0 || pattern != nil && b.escaping == b.scope && b.scope > 0 {
		b.defs = append(b.defs, def{definition: &definition{kind: "variable"}, name: string(b.src[node.Start:node.End]), token: len(b.tokens) - 1, escaped: true})
	}
}

// inText is where the name ends that a text begins with, if a $ before it makes
// it one. In $$"text" it takes more than one.
func (b *builder) inText(n, under int) uint32 {
	node, literal := b.tree.Nodes[n], b.tree.Nodes[under].Start
	if n-1 <= under || b.tree.Source(n-1) != "$" || b.src[literal] != '"' || literal > 0 && b.src[literal-1] == '$' {
		return node.Start
	}
	end := node.Start
	for end < node.End && b.src[end] < 128 && b.src[end] != '$' && inWord(rune(b.src[end])) {
		end++
	}
	if end < node.End && b.src[end] > 127 || b.src[node.Start] <= '9' || string(b.src[node.Start:end]) == "this" {
		return node.Start
	}
	return end
}

// short adds {x} as {x: x}.
func (b *builder) short(node treesitter.Node, field uint16, s shorts, pattern *definition) {
	if s.pair != 0 {
		b.tokens = append(b.tokens, token{symbol: s.pair, field: field, flags: opens, scope: b.scope, start: node.Start, end: node.Start})
	}
	b.emit(token{symbol: s.key, field: s.keyField, start: node.Start, end: node.End, scope: b.scope, flags: neutral})
	b.emit(token{symbol: s.colon, start: node.Start, end: node.Start, text: ":", scope: b.scope})
	b.emit(token{symbol: s.value, field: s.valueField, start: node.Start, end: node.End, scope: b.scope, flags: named})
	if pattern != nil {
		b.define(pattern, len(b.tokens)-1)
	}
	if s.pair != 0 {
		b.tokens = append(b.tokens, token{symbol: s.pair, flags: closes, scope: b.scope, start: node.End, end: node.End})
	}
	b.pos = node.End
}

// define notes a name that is declared.
func (b *builder) define(d *definition, at int) {
	t := &b.tokens[at]
	sc := t.scope
	switch d.region {
	case "outer":
		sc = max(b.scopes[sc].parent, 0)
	case "file":
		sc = 0
	case "function":
		for b.scopes[sc].kind == blockScope {
			sc = b.scopes[sc].parent
		}
	case "class":
		for b.scopes[sc].kind != classScope && b.scopes[sc].kind != fileScope {
			sc = b.scopes[sc].parent
		}
	}
	made := def{definition: d, name: b.text(t), token: at, scope: sc, exported: b.export > 0, chosen: b.choice == sc}
	made.guarded = b.guard >= 0 && (sc == b.guard || b.scopes[sc].parent == b.guard)
	if d.after != "" {
		made.from = -1
		b.waiting = append(b.waiting, len(b.defs))
	}
	b.defs = append(b.defs, made)
}

// spelled is the text of a literal without freedoms of its spelling; "" where
// it has none.
func (b *builder) spelled(node treesitter.Node, bits kindBits) string {
	text := b.src[node.Start:node.End]
	switch {
	case bits&isLower != 0:
		return strings.ToLower(string(text))
	case bits&isQuoted != 0:
		return unquoted(string(text))
	case bits&isFolded != 0 && (node.Start == 0 || b.src[node.Start-1] != ';') && (int(node.End) == len(b.src) || b.src[node.End] != '&'):
		return "=" + fold(string(text)) // beside an entity it is one text with it
	case bits&isDirective != 0:
		return b.directive(node)
	case b.crlf && bytes.Contains(text, []byte("\r\n")):
		return strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return ""
}

// unquoted is a text that could be written with either kind of quotes, with one
// of them; "" for others.
func unquoted(text string) string {
	at := strings.IndexAny(text, "'\"")
	if at < 0 || at > 2 {
		return ""
	}
	prefix, text := strings.ToLower(text[:at]), text[at:]
	for _, quote := range []string{text[:min(3, len(text))], text[:1]} {
		if strings.Trim(quote, quote[:1]) != "" || len(text) < 2*len(quote) || !strings.HasSuffix(text, quote) {
			continue
		}
		if body := text[len(quote) : len(text)-len(quote)]; !strings.ContainsAny(body, "'\"\\{\r") && !strings.Contains(body, "#@") && !strings.Contains(body, "#$") && (len(quote) == 3 || !strings.Contains(body, "\n")) {
			return prefix + strings.ReplaceAll(quote, "'", "\"") + body
		}
		return ""
	}
	return ""
}

// fold makes one space of line breaks with the indentation around them, as JSX
// does with text.
func fold(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var parts []string
	for i, line := range lines {
		if i > 0 {
			line = strings.TrimLeft(line, " \t")
		}
		if i < len(lines)-1 {
			line = strings.TrimRight(line, " \t")
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}
