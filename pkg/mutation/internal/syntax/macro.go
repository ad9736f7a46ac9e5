package syntax

import (
	"bytes"
	"slices"
	"strings"
)

// macro looks at what a macro is given, from a token on. One that reads expressions can have each space but those that
// part two signs, and its names are those of variables where they can be nothing else. Others may do anything with the
// text.
func (b *builder) macro(n, under, first int) {
	plain := b.plainMacro(n)
	if !plain {
		b.conceal(first)
	}
	attribute := b.kind(b.tree.Nodes[under].Symbol)&isOpaque != 0
	var leaves []int
	for i := first; i < len(b.tokens); i++ {
		if b.tokens[i].flags&(opens|closes) == 0 {
			leaves = append(leaves, i)
		}
	}
	unknown, depth := -1, 0 // one that a plain one is given, and how deep it goes
	for x, i := range leaves {
		t := &b.tokens[i]
		switch k := b.kind(t.symbol); {
		case k&(isOpening|isBrace) != 0:
			if depth++; unknown < 0 && plain && b.calls(leaves, x) {
				unknown = depth
			}
		case k&isClosing != 0:
			if depth--; depth < unknown {
				unknown = -1
			}
		}
		if unknown >= 0 {
			t.flags &^= named
		}
		if x > 0 && t.flags&apart != 0 && (!plain && !attribute || unknown >= 0 || b.sign(t) && b.sign(&b.tokens[leaves[x-1]])) {
			t.flags |= spaced
		}
		if t.flags&named != 0 {
			b.inMacro(leaves, x)
		}
	}
}

// calls tells whether a bracket opens what another macro is given, that is not plain.
func (b *builder) calls(leaves []int, x int) bool {
	text := func(x int) string { return b.text(&b.tokens[leaves[x]]) }
	return x > 1 && text(x-1) == "!" && b.kind(b.tokens[leaves[x-2]].symbol)&isName != 0 &&
		(!b.plain[text(x-2)] || hasWord(b.declared(), text(x-2)) || x > 2 && text(x-3) == "::")
}

// sign tells whether a token could be one with the next.
func (b *builder) sign(t *token) bool {
	return b.kind(t.symbol)&(isPunctuation|isOpening|isBrace|isClosing|isComma) == isPunctuation && !strings.Contains("\"';", b.text(t))
}

// inMacro has a name be none of a variable where it could be that of a field, a path or an argument.
func (b *builder) inMacro(leaves []int, x int) {
	near := func(x int) string {
		if x < 0 || x >= len(leaves) {
			return ""
		}
		return b.text(&b.tokens[leaves[x]])
	}
	t := &b.tokens[leaves[x]]
	before, after := near(x-1), near(x+1)
	switch {
	case before == ".":
		t.flags = t.flags&^named | neutral
	case before == "::", slices.Contains([]string{"::", "=", ":", "!", "{"}, after), before == "{", before == "," && b.inBraces(leaves, x):
		t.flags &^= named
	}
}

// inBraces tells whether a name stands in braces, where it could be a field.
func (b *builder) inBraces(leaves []int, x int) bool {
	depth := 0
	for x--; x >= 0; x-- {
		switch k := b.kind(b.tokens[leaves[x]].symbol); {
		case k&isClosing != 0:
			depth++
		case k&(isOpening|isBrace) != 0 && depth == 0:
			return k&isBrace != 0
		case k&(isOpening|isBrace) != 0:
			depth--
		}
	}
	return false
}

// plainMacro tells whether what a macro is given is for one that reads
// expressions, and that the file does not declare anew.
func (b *builder) plainMacro(n int) bool {
	open := b.tree.Nodes[n].Start
	head := bytes.TrimRight(b.src[:open], " \t\r\n")
	head, found := bytes.CutSuffix(head, []byte("!"))
	name := head[len(bytes.TrimRightFunc(head, inWord)):]
	return found && b.plain[string(name)] && !bytes.HasSuffix(head, append([]byte("::"), name...)) && !hasWord(b.declared(), string(name))
}

// declared are the texts of a file that could give a macro its name.
func (b *builder) declared() []byte {
	if b.others == nil {
		b.others = []byte{'\n'}
		for n, node := range b.tree.Nodes {
			if k := b.tree.Kind(n); k == "use_declaration" || k == "macro_definition" {
				b.others = append(append(b.others, b.src[node.Start:node.End]...), '\n')
			}
		}
	}
	return b.others
}
