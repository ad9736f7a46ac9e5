package syntax

import (
	"bytes"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

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

// outdented is a comment that is read, without white space at the ends of its lines, where a star begins each.
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
			if before&isBreakAfter != 0 || b.table.kinds[isBreakAfter][b.lastText()] || bits&isBreakBefore != 0 {
				t.flags |= broken
			}
		case linesEnd:
			inside := len(b.brackets) > 0 && b.brackets[len(b.brackets)-1]
			if bits&isBreakBefore != 0 || !inside && before&isJoinAfter == 0 && bits&isJoinBefore == 0 {
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

// spelled is the text of a literal without freedoms of its spelling; "" where it has none.
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

// unquoted is a text that could be written with either kind of quotes, with one of them; "" for others.
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

// fold makes one space of line breaks with the indentation around them, as JSX does with text.
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
