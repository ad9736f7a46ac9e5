package review

import (
	"strconv"
	"strings"
	"unicode"
)

// visible makes control and direction characters of a text visible, so that it is one line and acts on no reader.
func visible(text string) string {
	var safe strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			safe.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		safe.WriteString(quoted[1 : len(quoted)-1])
	}
	return safe.String()
}

// clipped is at most n runes of a visible text.
func clipped(text string, n int) string {
	runes := []rune(visible(text))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// plural is a number with the word for what is counted.
func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Where gives the finding's file, with its lines if it has some, in the form that editors understand.
func (f *Finding) Where() string {
	switch {
	case f.Line == 0:
		return f.File
	case f.End > f.Line:
		return f.File + ":" + strconv.Itoa(f.Line) + "-" + strconv.Itoa(f.End)
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}
