// Package printable makes text that others wrote safe to show. A file name, a command or a ledger line can hold escape
// sequences that move the cursor and characters that turn the direction of writing; shown as they are, they could hide
// or forge what a person reads.
//
// It promises that what it returns has no control, format or private characters but those named at each function, and
// none that show nothing, such as fillers and variation selectors, and that everything else stays as it was. It does not
// promise that the text can be turned back: \n in the text and a newline look the same. Look-alike letters stay; SpelledOut tells of
// them.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxMarks is how many combining marks one character can have: letters of living scripts have fewer, and a stack of them
// would cover the lines above and below.
const maxMarks = 4

// invisible are what Unicode counts as printable although nothing is to be seen of it.
var invisible = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // the braille pattern without dots
}

// isShown tells whether a character can be shown as it is.
func isShown(r rune) bool { return unicode.IsPrint(r) && !unicode.In(r, invisible...) }

// Text is for one line of output: newlines and tabs are made visible as well, and so are combining marks that have no
// character to stand on, or are too many on one.
func Text(text string) string {
	if isPlain(text) {
		return text
	}
	var safe strings.Builder
	marks := maxMarks // a first mark would stand on what is before the text
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !unicode.IsMark(r) {
			marks = 0
		} else if isShown(r) {
			marks++
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&safe, `\x%02x`, text[at])
		case r == '\n':
			safe.WriteString(`\n`)
		case r == '\t':
			safe.WriteString(`\t`)
		case isShown(r) && marks <= maxMarks:
			safe.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			safe.WriteString(quoted[1 : len(quoted)-1])
		}
		at += size
	}
	return safe.String()
}

// Line is Text with tabs left as they are.
func Line(text string) string {
	parts := strings.Split(text, "\t")
	for i, part := range parts {
		parts[i] = Text(part)
	}
	return strings.Join(parts, "\t")
}

// Lines is Line for a text of several lines.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// Name is a name for a line of text in which brackets and quotes mean something:
// as it is where nothing in it can be taken for a part of the line, else quoted.
func Name(name string) string {
	if name == "" || strings.ContainsAny(name, "[]\"\\") || strings.TrimSpace(name) != name || Text(name) != name {
		return Text(strconv.Quote(name))
	}
	return name
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// JSON is a JSON text of the same value. What Text makes visible can only stand in a string there, where JSON has its own
// escape for it; encoding/json leaves C1 controls and direction marks as they are. Newlines and tabs between tokens stay.
func JSON(text []byte) string {
	if isPlain(string(text)) {
		return string(text)
	}
	var safe strings.Builder
	for _, r := range string(text) {
		if isShown(r) || r == '\n' || r == '\t' {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	return safe.String()
}

// Clip shortens a text to at most n characters, and says that it did.
func Clip(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	count := 0
	for at := range text {
		if count++; count == n {
			return text[:at] + "…"
		}
	}
	return text
}

// Age is a duration in its largest unit, in at most four characters; one below zero counts as nothing.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", min(d/(24*time.Hour), 999))
}
