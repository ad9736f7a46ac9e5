package printable

import (
	"strconv"
	"strings"
	"unicode"
)

// lookAlikes are where characters stand that can be taken for ASCII ones: whole scripts and blocks, for which of their
// letters do depends on the font.
var lookAlikes = []*unicode.RangeTable{
	unicode.Cyrillic, unicode.Greek, unicode.Coptic, unicode.Armenian, unicode.Cherokee, unicode.Lisu, unicode.Deseret, unicode.Osage,
	{
		R16: []unicode.Range16{
			{Lo: 0x0130, Hi: 0x0131, Stride: 1}, {Lo: 0x01c0, Hi: 0x01c3, Stride: 1}, {Lo: 0x0250, Hi: 0x02ff, Stride: 1}, // dotless i, clicks, phonetic letters, modifiers
			{Lo: 0x1d00, Hi: 0x1dbf, Stride: 1}, {Lo: 0x2010, Hi: 0x2027, Stride: 1}, {Lo: 0x2030, Hi: 0x205e, Stride: 1}, // small capitals, dashes, quotes and dots
			{Lo: 0x2100, Hi: 0x218f, Stride: 1}, {Lo: 0x2212, Hi: 0x2223, Stride: 1}, {Lo: 0x2236, Hi: 0x2236, Stride: 1}, // letterlike symbols, numerals, slashes
			{Lo: 0x2460, Hi: 0x24ff, Stride: 1}, {Lo: 0x2571, Hi: 0x2572, Stride: 1}, {Lo: 0x29f5, Hi: 0x29f9, Stride: 1}, {Lo: 0xa720, Hi: 0xa7ff, Stride: 1},
			{Lo: 0xfe10, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff01, Hi: 0xff5e, Stride: 1}, // small and full-width forms
		},
		R32: []unicode.Range32{{Lo: 0x1d400, Hi: 0x1d7ff, Stride: 1}, {Lo: 0x1f100, Hi: 0x1f1ff, Stride: 1}}, // mathematical and enclosed letters
	},
}

// SpelledOut is a text with all characters outside of ASCII as escapes, if some of them can be taken for ASCII ones; else
// "". Letters of one script outside of ASCII that look like each other are not found.
func SpelledOut(text string) string {
	if isPlain(text) || !strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, lookAlikes...) }) {
		return ""
	}
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
