package linematch

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle is a text that is looked for, by the byte of it that is rarest in texts.
type needle struct {
	text []byte // in lower case where case does not count
	fold bool   // case does not count, which is of ASCII only
	rare int    // the place of that byte
}

// shortest is the length in bytes from which on a needle is worth looking for.
const shortest = 2

// common are bytes of texts and source, the most frequent first.
const common = " etaoinsrlcdupmfhgybvw\t\n_.,(){}=k\"'-:;/0x1*STCEAIRNPDLMOFjz2q"

func commonness(c byte) int {
	if at := strings.IndexByte(common, c); at >= 0 {
		return len(common) - at
	}
	return 0
}

// newNeedle is nil for a text that is too short.
func newNeedle(text []byte, fold bool) *needle {
	if len(text) < shortest {
		return nil
	}
	n := &needle{text: text, fold: fold}
	for i, c := range text {
		if commonness(c) < commonness(text[n.rare]) {
			n.rare = i
		}
	}
	return n
}

// better tells whether n says more than another: longer, or as long and rarer.
func (n *needle) better(other *needle) bool {
	switch {
	case n == nil || other == nil:
		return n != nil
	case len(n.text) != len(other.text):
		return len(n.text) > len(other.text)
	}
	return commonness(n.text[n.rare]) < commonness(other.text[other.rare])
}

// required is the best text that is part of whatever the expression matches; nil if there is none.
func required(re *syntax.Regexp) *needle {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best *needle
		for _, sub := range re.Sub {
			if n := required(sub); n.better(best) {
				best = n
			}
		}
		return best
	}
	return nil
}

// literal is the best of the runs of characters that stand in texts as these bytes only: U+FFFD stands for broken bytes
// too, and where case does not count, some letters of ASCII for others that are longer.
func literal(runes []rune, fold bool) *needle {
	var best *needle
	var run []byte
	end := func() {
		if n := newNeedle(run, fold); n.better(best) {
			best = n
		}
		run = nil
	}
	for _, r := range runes {
		switch {
		case r == utf8.RuneError, fold && !foldsInASCII(r):
			end()
		case fold:
			run = append(run, lower(byte(r)))
		default:
			run = utf8.AppendRune(run, r)
		}
	}
	end()
	return best
}

func foldsInASCII(r rune) bool {
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if other >= utf8.RuneSelf {
			return false
		}
	}
	return r < utf8.RuneSelf
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// index is where the text stands first, -1 if nowhere.
func (n *needle) index(text []byte) int {
	small := n.text[n.rare]
	first := places{of: small}
	second := places{of: small, none: true}
	if n.fold && 'a' <= small && small <= 'z' {
		second = places{of: small - 'a' + 'A'}
	}
	for from, misses := n.rare, 0; ; misses++ {
		at := min(first.from(text, from), second.from(text, from))
		if at >= len(text) {
			return -1
		}
		from = at + 1
		if start := at - n.rare; n.standsAt(text[start:]) {
			return start
		}
		if misses > 16+at/8 && !n.fold { // the byte is not rare here
			if rest := bytes.Index(text[from-n.rare:], n.text); rest >= 0 {
				return from - n.rare + rest
			}
			return -1
		}
	}
}

func (n *needle) standsAt(text []byte) bool {
	if len(text) < len(n.text) {
		return false
	}
	if !n.fold {
		return string(text[:len(n.text)]) == string(n.text)
	}
	for i, c := range n.text {
		if lower(text[i]) != c {
			return false
		}
	}
	return true
}

// places are those of a byte in a text, one after the other.
type places struct {
	of   byte
	none bool
	next int // the one found last
	have bool
}

// from is the first place at or behind from; the end of the text if there is none.
func (p *places) from(text []byte, from int) int {
	if p.none {
		return len(text)
	}
	if p.have && p.next >= from {
		return p.next
	}
	p.have, p.next = true, len(text)
	if from < len(text) {
		if at := bytes.IndexByte(text[from:], p.of); at >= 0 {
			p.next = from + at
		}
	}
	return p.next
}
