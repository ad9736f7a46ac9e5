package linematch

import (
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

const (
	// maxClasses bounds the classes of characters, and maxLooks what it may take to find them.
	maxClasses = 255
	maxLooks   = 1 << 18
)

// classes divide characters into those between which a program does not differ.
type classes struct {
	ascii   [utf8.RuneSelf]uint8
	cuts    []rune  // where another class begins
	class   []uint8 // from that cut on
	samples []rune  // one character of each class
	words   []bool  // by class; the end of the line is none
	bounded bool    // whether the program asks for words
	end     int32   // the class of the end
	count   int32   // with the end
}

// newClasses is nil where there are too many.
func newClasses(prog *syntax.Prog) *classes {
	c := &classes{}
	var takers []*syntax.Inst
	cuts := []rune{0}
	for i := range prog.Inst {
		switch in := &prog.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			takers = append(takers, in)
			cuts = append(cuts, edges(in)...)
		case syntax.InstEmptyWidth:
			c.bounded = c.bounded || syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		}
	}
	if c.bounded {
		cuts = append(cuts, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
	}
	slices.Sort(cuts)
	c.cuts = slices.Compact(cuts)
	if len(c.cuts)*len(takers) > maxLooks || !c.name(takers) {
		return nil
	}
	for r := range rune(utf8.RuneSelf) {
		c.ascii[r] = uint8(c.of(r))
	}
	c.end = int32(len(c.samples))
	c.count = c.end + 1
	c.words = append(c.words, false)
	return c
}

// name finds the cuts between which the program does not differ; false if there are too many classes.
func (c *classes) name(takers []*syntax.Inst) bool {
	known := map[string]uint8{}
	signature := make([]byte, len(takers)+1)
	for _, r := range c.cuts {
		word := c.bounded && syntax.IsWordChar(r)
		signature[len(takers)] = bit(word)
		for i, in := range takers {
			signature[i] = bit(takes(in, r))
		}
		class, is := known[string(signature)]
		if !is {
			if len(known) == maxClasses {
				return false
			}
			class = uint8(len(known))
			known[string(signature)] = class
			c.samples, c.words = append(c.samples, r), append(c.words, word)
		}
		c.class = append(c.class, class)
	}
	return true
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// of is the class of a character.
func (c *classes) of(r rune) int32 {
	at := sort.Search(len(c.cuts), func(i int) bool { return c.cuts[i] > r })
	return int32(c.class[at-1])
}

// takes tells whether an instruction takes a character.
func takes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return in.MatchRune(r)
}

// edges are where what an instruction takes begins and ends.
func edges(in *syntax.Inst) []rune {
	switch {
	case in.Op == syntax.InstRuneAny:
		return nil
	case in.Op == syntax.InstRuneAnyNotNL:
		return []rune{'\n', '\n' + 1}
	case len(in.Rune) == 1:
		r := in.Rune[0]
		all := []rune{r, r + 1}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				all = append(all, other, other+1)
			}
		}
		return all
	}
	var all []rune
	for i := 0; i+1 < len(in.Rune); i += 2 {
		all = append(all, in.Rune[i], in.Rune[i+1]+1)
	}
	return all
}
