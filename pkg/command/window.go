package command

import (
	"bytes"
	"unicode/utf8"
)

const (
	headLimit = 10_000
	// noteLimit is kept free for the note between head and tail, so that the whole stays within OutputLimit.
	noteLimit = 300
	tailLimit = OutputLimit - headLimit - noteLimit
	// tailSlack is how far the tail may grow before it is cut: a cut costs a copy, so it must be rare.
	tailSlack = 8 * tailLimit
	// lineSlack is how far a cut moves to fall between two lines.
	lineSlack = 500
)

// window keeps the head and the tail of a text, or all of it while that is at most OutputLimit characters.
// It takes the same memory however long the text becomes.
type window struct {
	head  []byte
	tail  []byte
	runes int64 // of the whole text
	split bool
}

func (w *window) write(text []byte) {
	w.runes += int64(countRunes(text))
	if w.split {
		w.tail = append(w.tail, text...)
	} else {
		w.head = append(w.head, text...)
		w.splitWhenTooLong()
	}
	if len(w.tail) > tailSlack {
		w.tail = w.tail[:copy(w.tail, lastRunes(w.tail, tailLimit))] // in place: nothing is allocated
	}
}

func (w *window) splitWhenTooLong() {
	if w.runes <= OutputLimit {
		return
	}
	cut := len(firstRunes(w.head, headLimit))
	w.tail = append(w.tail, w.head[cut:]...)
	w.head = append(w.head[:0:0], w.head[:cut]...)
	w.split = true
}

// text returns the whole, or head, note and tail. The note gets the number of characters between the two.
func (w *window) text(note func(omitted int64) string) string {
	if !w.split {
		return string(w.head)
	}
	head := trimToLineEnd(w.head)
	tail := trimToLineStart(lastRunes(w.tail, tailLimit))
	omitted := w.runes - int64(countRunes(head)+countRunes(tail))
	said := []byte(note(omitted))
	return string(head) + string(firstRunes(said, noteLimit)) + string(tail)
}

// countRunes counts in valid UTF-8. utf8.RuneCount copies the text first, which costs more than all else here.
func countRunes(text []byte) (n int) {
	for _, b := range text {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}

func firstRunes(text []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return text[:at]
}

func lastRunes(text []byte, n int) []byte {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return text[at:]
}

func trimToLineEnd(text []byte) []byte {
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 && len(text)-at < lineSlack {
		return text[:at+1]
	}
	return text
}

func trimToLineStart(text []byte) []byte {
	if at := bytes.IndexByte(text, '\n'); at >= 0 && at < lineSlack {
		return text[at+1:]
	}
	return text
}
