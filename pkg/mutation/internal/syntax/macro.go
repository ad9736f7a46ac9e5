package syntax

import (
	"bytes"
	"slices"
)

// macro looks at what a macro is given, from a token on. One that reads
// expressions can have each space but those that part two signs, and its names
// are those of variables where they can be nothing else. Others may do anything
// with the text.
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
	for x, i := range leaves {
		t := &b.tokens[i]
		if x > 0 && t.flags&apart != 0 && (!plain && !attribute || b.sign(t) && b.sign(&b.tokens[leaves[x-1]])) {
			t.flags |= spaced
		}
		if t.flags&named != 0 {
			b.inMacro(leaves, x)
		}
	}
}

// sign tells whether a token could be one with the next.
func (b *builder) sign(t *token) bool {
	return b.kind(t.symbol)&(isPunctuation|isOpening|isBrace|isClosing) == isPunctuation
}

// inMacro has a name be none of a variable where it could be that of a field, a
// path or an argument.
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
