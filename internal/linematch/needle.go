package linematch

import (
	"bytes"
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle is a text that is looked for, by the byte of it that is rarest in texts.
type needle struct {
	text  []byte // in lower case where case does not count
	fold  bool   // case does not count, which is of ASCII only
	rare  int    // the place of that byte
	other int    // that of the next rare one
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

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// newNeedle is for a text of two bytes at least.
func newNeedle(text []byte, fold bool) *needle {
	n := &needle{text: text, fold: fold, rare: rarest(text, -1)}
	n.other = rarest(text, n.rare)
	return n
}

const (
	// fitted is how many bytes needles are looked for in until their rare bytes are chosen anew.
	fitted = 4 << 20
	// sampled is how many bytes of a text show which bytes are rare in it.
	sampled = 16 << 10
	// tried is how many bytes of a needle are candidates.
	tried = 32
)

// fit chooses the bytes that are rarest in a text, where that is long enough to tell.
func (n needles) fit(text []byte) {
	if len(text) < sampled/16 {
		return
	}
	text = text[:min(len(text), sampled)]
	for _, each := range n {
		each.fit(text)
	}
}

func (n *needle) fit(text []byte) {
	least, second := len(text)+1, len(text)+1
	for i, c := range n.text[:min(len(n.text), tried)] {
		count := bytes.Count(text, []byte{c})
		if n.fold && upper(c) != c {
			count += bytes.Count(text, []byte{upper(c)})
		}
		switch {
		case count < least || count == least && commonness(c) < commonness(n.text[n.rare]):
			n.other, second = n.rare, least
			n.rare, least = i, count
		case count < second:
			n.other, second = i, count
		}
	}
}

// clone gives needles for another goroutine.
func (n needles) clone() needles {
	c := slices.Clone(n)
	for i, each := range c {
		copied := *each
		c[i] = &copied
	}
	return c
}

// rarest is the place of the byte that is rarest in texts, but for one.
func rarest(text []byte, but int) int {
	best := -1
	for i, c := range text {
		if i != but && (best < 0 || commonness(c) < commonness(text[best])) {
			best = i
		}
	}
	return best
}

// needles are texts of which whatever an expression matches has one at least; none of them, and nothing is known.
type needles []*needle

// maxNeedles is how many texts are worth looking for, one after the other.
const maxNeedles = 8

// better tells whether n says more than others: the shortest is longer, or there are fewer, or they are rarer.
func (n needles) better(others needles) bool {
	if len(n) == 0 || len(others) == 0 {
		return len(n) > 0
	}
	return cmp.Or(cmp.Compare(n.shortest(), others.shortest()), cmp.Compare(len(others), len(n)), cmp.Compare(others.commonness(), n.commonness())) > 0
}

func (n needles) shortest() int {
	return len(slices.MinFunc(n, func(a, b *needle) int { return len(a.text) - len(b.text) }).text)
}

func (n needles) commonness() (most int) {
	for _, each := range n {
		most = max(most, commonness(each.text[each.rare]))
	}
	return most
}

// required are the best texts that are known of what the expression matches.
func required(re *syntax.Regexp) needles {
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
		var best needles
		for _, sub := range re.Sub {
			if n := required(sub); n.better(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all needles
		for _, sub := range re.Sub {
			n := required(sub)
			if len(n) == 0 || len(all)+len(n) > maxNeedles {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

// literal is the best of the runs of characters that stand in texts as these bytes only: U+FFFD stands for broken bytes
// too, and where case does not count, some letters of ASCII for others that are longer.
func literal(runes []rune, fold bool) needles {
	var best needles
	var run []byte
	end := func() {
		if len(run) >= shortest {
			if n := (needles{newNeedle(run, fold)}); n.better(best) {
				best = n
			}
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
	if n.fold {
		return n.indexFold(text)
	}
	// Most places of the rare byte are told apart by one other byte.
	rare, other := n.text[n.rare], n.text[n.other]
	end := len(text) - len(n.text) + n.rare // the last place of the rare byte, if it is the text's
	for from, misses := n.rare, 0; from <= end; misses++ {
		at := bytes.IndexByte(text[from:end+1], rare)
		if at < 0 {
			return -1
		}
		from += at + 1
		start := from - 1 - n.rare
		if text[start+n.other] == other && n.standsAt(text[start:]) {
			return start
		}
		if misses > 16+from/8 { // the byte is not rare here
			if at = bytes.Index(text[start+1:], n.text); at >= 0 {
				at += start + 1
			}
			return at
		}
	}
	return -1
}

func (n *needle) indexFold(text []byte) int {
	small, other := n.text[n.rare], n.text[n.other]
	last := len(text) - len(n.text) + n.rare
	next := indexFrom(text, n.rare, small)
	upper, nextUpper := upper(small), len(text)
	if upper != small {
		nextUpper = indexFrom(text, n.rare, upper)
	}
	for {
		at := min(next, nextUpper)
		if at > last {
			return -1
		}
		if start := at - n.rare; lower(text[start+n.other]) == other && n.standsAt(text[start:]) {
			return start
		}
		if at == next {
			next = indexFrom(text, at+1, small)
		} else {
			nextUpper = indexFrom(text, at+1, upper)
		}
	}
}

// indexFrom is the first place of a byte from one on; the text's end if there is none.
func indexFrom(text []byte, from int, c byte) int {
	if from < len(text) {
		if at := bytes.IndexByte(text[from:], c); at >= 0 {
			return from + at
		}
	}
	return len(text)
}

// standsAt tells whether it stands at the beginning of a text that is as long at least.
func (n *needle) standsAt(text []byte) bool {
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
