package catalogue

import (
	"fmt"
	"strings"
	"unicode"
)

// joining are scripts whose letters are written with joiners between them.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
}

// unseen are letters of which nothing is to be seen.
var unseen = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}},
}

// Blanks and line ends in a row that push what follows out of sight.
const (
	maxBlanks   = 200
	maxLineEnds = 30
)

// hidden says what of a text a reader does not see, "" for nothing. A model reads it all.
func hidden(text string) string {
	count, first := 0, rune(0)
	before, blanks, lineEnds := rune(0), 0, 0
	for _, r := range text {
		if hides(r, before) {
			if count++; count == 1 {
				first = r
			}
		}
		switch {
		case r == '\n':
			lineEnds++
			blanks = 0
		case unicode.IsSpace(r):
			blanks++
		default:
			lineEnds, blanks = 0, 0
		}
		if lineEnds > maxLineEnds || blanks > maxBlanks {
			return "blanks that push the rest out of sight"
		}
		before = r
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d of them, the first is U+%04X", count, first)
}

// hides reports whether a character is not seen behind the one before.
func hides(r, before rune) bool {
	switch {
	case r < 0x7f:
		return r < ' ' && !strings.ContainsRune("\n\t\r", r)
	case r == 0x200c || r == 0x200d: // joiners: in emoji, and in scripts that need them
		return !unicode.In(before, unicode.So, unicode.Sk, unicode.Variation_Selector) && !unicode.In(before, joining...)
	case r == 0xfe0e || r == 0xfe0f: // text or emoji
		return !unicode.In(before, unicode.So, unicode.Sm, unicode.Sk, unicode.Po) && !strings.ContainsRune("0123456789#*©®↔", before)
	case r >= 0xe0100 && r <= 0xe01ef: // forms of Chinese characters
		return !unicode.In(before, unicode.Han)
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector) || unicode.In(r, unseen...)
}

// mixedWord finds a word with Latin letters and ones of a script that looks like it: people read another word than patterns do.
func mixedWord(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, false
		for _, r := range word {
			latin = latin || unicode.Is(unicode.Latin, r)
			other = other || unicode.In(r, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee)
		}
		if latin && other {
			return fmt.Sprintf("%+q, of letters of two scripts", clip(word, 64))
		}
	}
	return ""
}
