package clientrules

import (
	"strings"
	"unicode/utf8"
)

// glob is a pattern in which * is any text. It is compared in one pass, as files of strangers have patterns.
type glob struct {
	pieces   []string // between the *
	question bool     // ? is any character
	bare     *glob    // what matches too: the pattern without " *" at its end
}

func newGlob(pattern string, question, bare bool) glob {
	g := glob{pieces: strings.Split(pattern, "*"), question: question && strings.Contains(pattern, "?")}
	if base, ok := strings.CutSuffix(pattern, " *"); ok && bare {
		short := newGlob(base, question, false)
		g.bare = &short
	}
	return g
}

// match takes for each piece but the last the first place where it stands: a later one leaves less for those behind it.
func (g glob) match(text string) bool {
	if g.bare != nil && g.bare.match(text) {
		return true
	}
	first, last := g.pieces[0], g.pieces[len(g.pieces)-1]
	rest, ok := g.after(text, first)
	if len(g.pieces) == 1 {
		return ok && rest == ""
	}
	for _, piece := range g.pieces[1 : len(g.pieces)-1] {
		rest, ok = g.behind(rest, piece, ok)
	}
	at := len(rest)
	for range utf8.RuneCountInString(last) {
		_, size := utf8.DecodeLastRuneInString(rest[:at])
		at -= size
	}
	end, matches := g.after(rest[at:], last)
	return ok && matches && end == ""
}

// behind is what stands behind the first place of a piece.
func (g glob) behind(text, piece string, ok bool) (string, bool) {
	if !g.question {
		_, rest, found := strings.Cut(text, piece)
		return rest, ok && found
	}
	for at := range text + " " {
		if rest, found := g.after(text[min(at, len(text)):], piece); found {
			return rest, ok
		}
	}
	return "", false
}

// after is what stands behind a piece at the start of a text.
func (g glob) after(text, piece string) (string, bool) {
	if !g.question {
		return strings.CutPrefix(text, piece)
	}
	for _, want := range piece {
		got, size := utf8.DecodeRuneInString(text)
		if size == 0 || got != want && want != '?' {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}
