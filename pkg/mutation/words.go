package mutation

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Words are names that are looked for in texts of any kind, as whole words: a letter, digit or underscore beside them
// makes another word, and nothing else does. They may be used concurrently.
type Words struct{ list [][]byte }

// NewWords are the words to be looked for. Empty ones are left out.
func NewWords(words []string) *Words {
	w := &Words{}
	for _, word := range words {
		if word != "" && !slices.ContainsFunc(w.list, func(b []byte) bool { return string(b) == word }) {
			w.list = append(w.list, []byte(word))
		}
	}
	return w
}

// Longest is the length of the longest word in any spelling that Find knows, in
// bytes: texts that are looked through in pieces must overlap by it.
func (w *Words) Longest() int {
	longest := 0
	for _, word := range w.list {
		longest = max(longest, len(word))
	}
	// \U0001F600 and \u{1F600} are the longest ways to write a letter.
	return 12*longest + 2
}

// Find gives the first place in a text that has one of the words: its offset, and the word. It also finds words that
// are written with escapes of the form \u0066, with a line break behind a backslash or in letters that stand for those
// of ASCII, and in UTF-16.
func (w *Words) Find(text []byte) (at int, word string, found bool) {
	at = len(text)
	for _, candidate := range w.list {
		if i := index(text[:min(len(text), at+len(candidate))], candidate, text); i >= 0 && i < at {
			at, word, found = i, string(candidate), true
		}
	}
	if found {
		return at, word, true
	}
	for _, spelled := range respelled(text) {
		for _, candidate := range w.list {
			if index(spelled, candidate, spelled) >= 0 {
				return 0, string(candidate), true
			}
		}
	}
	return 0, "", false
}

// index finds a word in the beginning of a text.
func index(beginning, word, text []byte) int {
	for from := 0; ; {
		i := bytes.Index(beginning[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(word)
		begins := i == 0 || !inWord(word[0]) || !inWord(text[i-1])
		if ends := end == len(text) || !inWord(word[len(word)-1]) || !inWord(text[end]); begins && ends {
			return i
		}
		from = i + 1
	}
}

// inWord: a letter beyond ASCII is none. A name that has one and ends in the
// word is then found for nothing, which only makes a verdict more careful.
func inWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// respelled gives what a text could also be read as: without the zero bytes of
// UTF-16, and with the escapes undone in which compilers take names.
func respelled(text []byte) (texts [][]byte) {
	if bytes.IndexByte(text, 0) >= 0 {
		text = slices.DeleteFunc(slices.Clone(text), func(b byte) bool { return b == 0 })
		texts = append(texts, text)
	}
	if bytes.Contains(text, []byte(`\u`)) || bytes.Contains(text, []byte(`\U`)) || bytes.Contains(text, []byte("\\\n")) || bytes.Contains(text, []byte("\\\r\n")) {
		texts = append(texts, unescaped(text))
	}
	if !norm.NFKC.IsNormal(text) {
		texts = append(texts, norm.NFKC.Bytes(text)) // Python's names are compared so
	}
	return texts
}

// unescaped undoes \u0066, \uuu0066, \u{66}, \U00000066, and a backslash at the end of a line.
func unescaped(text []byte) []byte {
	made := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] == '\\' {
			if letter, size := escape(text[i:]); size > 0 {
				made = append(made, letter...)
				i += size
				continue
			}
		}
		made = append(made, text[i])
		i++
	}
	return made
}

func escape(text []byte) (letter []byte, size int) {
	switch {
	case bytes.HasPrefix(text, []byte("\\\n")):
		return nil, 2
	case bytes.HasPrefix(text, []byte("\\\r\n")):
		return nil, 3
	case len(text) < 2 || text[1] != 'u' && text[1] != 'U':
		return nil, 0
	}
	from, digits := 2, 4
	if text[1] == 'U' {
		digits = 8
	}
	for from < len(text) && text[from] == 'u' {
		from++
	}
	to := from + digits
	if from < len(text) && text[from] == '{' {
		length := bytes.IndexByte(text[from:min(len(text), from+12)], '}')
		if length < 0 {
			return nil, 0
		}
		from, to = from+1, from+length
	}
	if to > len(text) {
		return nil, 0
	}
	code, err := strconv.ParseUint(string(text[from:to]), 16, 32)
	if err != nil || code == 0 || code > utf8.MaxRune {
		return nil, 0
	}
	if to < len(text) && text[to] == '}' {
		to++
	}
	return utf8.AppendRune(nil, rune(code)), to
}
