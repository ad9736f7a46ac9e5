package languages

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// builder makes the tree that is compared: without comments, layout and
// optional punctuation, and with names resolved.
type builder struct {
	*side
	scope *scope
}

func (s *side) build() *tree.Node {
	b := &builder{side: s, scope: s.scopes[0]}
	return b.node(0, "")
}

const space = " \t\r\n\f\v"

// node builds one node, or nil if it has no meaning.
func (b *builder) node(n int, field string) *tree.Node {
	kind, text := b.kind(n), ""
	if b.language.comments[kind] {
		if text = b.tree.Source(n); b.language.kept == nil || !b.language.kept(b.side, n, text) {
			return nil
		}
		return b.leaf(n, "comment", b.noted(text))
	}
	if b.language.optional(b.side, n) {
		return nil
	}
	if b.links[n] != nil {
		return b.foreign(n, field)
	}
	if inner := b.language.inner(b.side, n); inner >= 0 {
		return b.node(inner, field)
	}
	if b.language.rewrite != nil {
		if made := b.language.rewrite(b, n, field); made != nil {
			return made
		}
	}
	if b.language.outside != nil && b.language.outside(b.side, n) && b.scope.parent != nil {
		defer func(sc *scope) { b.scope = sc }(b.scope)
		b.scope = b.scope.parent
	}
	switch {
	case b.named(n) && (b.language.names[kind] || b.declared[n] != nil):
		return b.name(n, field)
	case b.language.opaque != nil && b.language.opaque(b.side, n):
		b.opaque = append(b.opaque, freeText{b.tree.Source(n), b.tree.Nodes[n].Start, b.scope.region(), strings.HasPrefix(kind, "preproc")})
		return b.leaf(n, label(kind, field), b.literal(n))
	case b.isLeaf(n) || b.language.whole[kind]:
		if b.language.whole[kind] || strings.Contains(kind, "content") || strings.Contains(kind, "fragment") {
			b.quoted = append(b.quoted, freeText{quotedWord(b.tree.Source(n)), b.tree.Nodes[n].Start, b.scope.region(), false})
		}
		return b.leaf(n, label(kind, field), b.literal(n))
	}
	return b.branch(n, field)
}

// noted is what a comment that has meaning says.
func (b *builder) noted(text string) string {
	if b.language.note != nil {
		if note := b.language.note(text); note != "" {
			return note
		}
	}
	return folded(text)
}

// folded is a comment without the indentation of its lines.
func folded(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Trim(line, space)
	}
	return strings.Join(lines, "\n")
}

// quotedWord keeps of a literal only what is one word: a text that could be
// used to find a name by its spelling.
func quotedWord(text string) string {
	word := strings.Trim(text, "\"'`:@")
	if word == "" || strings.ContainsAny(word, space) {
		return ""
	}
	return word
}

// literal is a leaf's text with its freedoms of spelling taken out.
func (b *builder) literal(n int) string {
	text := b.tree.Source(n)
	if b.language.foldsLineEnds {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if b.language.spelling != nil {
		text = b.language.spelling(b.side, n, text)
	}
	return text
}

func (b *builder) leaf(n int, label, text string) *tree.Node {
	return &tree.Node{Kind: label, Text: text, Line: b.line(n), Literal: b.named(n)}
}

// label names a node for the comparison and for people.
func label(kind, field string) string {
	if field != "" {
		kind = field + " " + kind
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// branch builds a node that has parts. What stands between them is layout only
// if it is white space.
func (b *builder) branch(n int, field string) *tree.Node {
	kind := b.kind(n)
	if other := b.language.same[kind]; other != "" {
		kind = other
	}
	made := &tree.Node{Kind: label(kind, field), Line: b.line(n), Literal: true}
	if sc := b.scopes[n]; sc != nil {
		defer func(outer *scope) { b.scope = outer }(b.scope)
		b.scope = sc
	}
	at, end := b.tree.Nodes[n].Start, b.tree.Nodes[n].End
	if n == 0 {
		at, end = 0, uint32(len(b.tree.Text))
	}
	seen, broken := 0, false
	var sources []int
	note := func(from int) { // what the kids are made of that came since the last note
		for len(sources) < len(made.Kids) {
			sources = append(sources, -1)
		}
		if from >= 0 {
			sources[len(sources)-1] = from
		}
	}
	for child := range b.tree.Children(n) {
		c := b.tree.Nodes[child]
		broken = broken || strings.Contains(string(b.tree.Text[at:c.Start]), "\n")
		b.gap(made, n, at, c.Start)
		at = c.End
		part := b.node(child, b.field(child))
		if part == nil {
			broken = broken || strings.Contains(b.tree.Source(child), "\n")
			continue
		}
		if broken && seen > 0 && b.breaks(n, seen) && !b.goesOn(n, child) {
			made.Kids = append(made.Kids, &tree.Node{Kind: "line break", Line: b.line(child)})
		}
		seen, broken = seen+1, false
		made.Kids = append(made.Kids, part)
		note(child)
	}
	b.gap(made, n, at, end)
	note(-1)
	if b.isList(n) {
		b.itemise(made, sources)
	}
	return made
}

// breaks tells whether a line break before a part has meaning.
func (b *builder) breaks(n, seen int) bool {
	return b.language.lines && !b.listed(n) && !b.isList(n) || seen == 1 && b.language.newlines[b.kind(n)]
}

// isList tells whether the order of a node's parts is looked at.
func (b *builder) isList(n int) bool { return b.language.holds != nil && b.language.holds(b.side, n) }

// listed nodes hold statements or are in brackets: their lines are layout.
func (b *builder) listed(n int) bool {
	if n == 0 || b.language.newlines[b.kind(n)] {
		return true
	}
	first := n + 1
	switch b.kind(first) {
	case "(", "[", "{", "#{":
		return true
	case "<":
		return strings.HasPrefix(b.kind(n), "type_")
	}
	return false
}

func (b *builder) gap(made *tree.Node, n int, from, to uint32) {
	if from >= to {
		return
	}
	text := string(b.tree.Text[from:to])
	if b.language.joined[b.kind(n)] && strings.Trim(withoutSplices(text), " \t") == "" {
		return
	}
	if !b.language.exact[b.kind(n)] {
		if b.language.splices {
			text = withoutSplices(text)
		}
		if text = strings.Trim(text, space); text == "" {
			return
		}
	}
	b.opaque = append(b.opaque, freeText{text, from, b.scope.region(), false})
	made.Kids = append(made.Kids, &tree.Node{Kind: "text", Text: text, Line: b.lineAt(from), Literal: true})
}

// withoutSplices takes out the backslashes that go on with a line in the next,
// where white space keeps apart what stands around them anyway.
func withoutSplices(text string) string {
	without := strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(text)
	if without == "" {
		return text
	}
	return without
}

// name builds a leaf that may stand for an object.
func (b *builder) name(n int, field string) *tree.Node {
	text, at := b.tree.Source(n), b.tree.Nodes[n].Start
	made := &tree.Node{Kind: label(b.kind(n), field), Line: b.line(n)}
	o := b.declared[n]
	if o == nil {
		if b.language.fixed(b.side, n) {
			made.Text = text
			return made
		}
		o = b.lookup(b.scope, text, at)
	}
	if o == nil {
		b.free = append(b.free, freeText{text, at, b.scope.region(), false})
		made.Text = text
		return made
	}
	b.resolved = append(b.resolved, resolvedLeaf{o, at, o.member && b.language.fixed(b.side, n)})
	made.Object = o.Object
	if b.origin != nil {
		b.origin[made] = n
	}
	return made
}

// token makes a token that is not in the text.
func token(text string, line int) *tree.Node {
	return &tree.Node{Kind: text, Text: text, Line: line}
}
