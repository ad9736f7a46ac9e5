package workspace

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A byte of a UTF-8 file that is not UTF-8 stands in a Text as a character of this private range: the byte 0x80 as the
// first, 0xFF as the last. The file is read so only if it has no such character itself, so that the way back is
// unambiguous.
const (
	firstBroken = '\U0010FE80'
	lastBroken  = firstBroken + 0x7F
	// leadBroken is the first byte of each of them.
	leadBroken = 0xF4
)

// Shown gives text for people and agents: what stands for broken bytes becomes U+FFFD, as everywhere else.
func Shown(text string) string {
	return mapBroken(text, func(b *strings.Builder, _ byte) { b.WriteRune(utf8.RuneError) })
}

// restoreBroken puts the broken bytes back. The result is not UTF-8.
func restoreBroken(text string) string {
	return mapBroken(text, func(b *strings.Builder, broken byte) { b.WriteByte(broken) })
}

// CarryBroken puts the broken bytes of the text replaced in the places of U+FFFD
// in put, in their order. Both have as many.
func CarryBroken(put, replaced string) string {
	var kept []string
	for _, r := range replaced {
		if r == utf8.RuneError || r >= firstBroken && r <= lastBroken {
			kept = append(kept, string(r))
		}
	}
	parts := strings.Split(put, string(utf8.RuneError))
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(kept[i-1])
		}
		b.WriteString(part)
	}
	return b.String()
}

func mapBroken(text string, write func(b *strings.Builder, broken byte)) string {
	if strings.IndexByte(text, leadBroken) < 0 {
		return text
	}
	next := func() int {
		return strings.IndexFunc(text, func(r rune) bool { return r >= firstBroken && r <= lastBroken })
	}
	at := next()
	if at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = next() {
		r, size := utf8.DecodeRuneInString(text[at:])
		b.WriteString(text[:at])
		write(&b, byte(r-firstBroken)+utf8.RuneSelf)
		text = text[at+size:]
	}
	b.WriteString(text)
	return b.String()
}

// brokenUTF8 takes a file for UTF-8 that is not quite: by its mark, or because Latin text in a one-byte encoding hardly
// ever has as many sound sequences as bytes that are none.
func brokenUTF8(b []byte) (Text, bool) {
	if !mayBeText(b) {
		return Text{}, false
	}
	rest, marked := bytes.CutPrefix(b, []byte("\ufeff"))
	t := Text{Encoding: UTF8, BOM: marked}
	sound := 0
	if marked {
		sound = len(rest)
	}
	var s strings.Builder
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			s.WriteRune(firstBroken + rune(rest[0]-utf8.RuneSelf))
			t.Broken++
		case r >= firstBroken && r <= lastBroken:
			return Text{}, false
		default:
			if size > 1 {
				sound++
			}
			s.WriteRune(r)
		}
		rest = rest[size:]
	}
	t.String = s.String()
	return t, sound >= t.Broken
}
