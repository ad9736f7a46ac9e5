package mutation_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

func TestWordsAreFoundHoweverTheyAreSpelled(t *testing.T) {
	wide := func(text string, high bool) string {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(text)) {
			if high {
				b.Write([]byte{byte(unit >> 8), byte(unit)})
			} else {
				b.Write([]byte{byte(unit), byte(unit >> 8)})
			}
		}
		return b.String()
	}
	for text, want := range map[string]string{
		"":                             "",
		"parse":                        "parse",
		"x.parse(1)":                   "parse",
		"reparse parser parse_all":     "",
		"reparse, then parse":          "parse",
		"PARSE":                        "",
		"\"parse\" # in a text":        "parse",
		"$parse":                       "parse",
		"·parse(SB)":                   "parse",
		"parser or scan":               "scan",
		"scan, parse":                  "scan",
		"a \\u0070arse()":              "parse",
		"a \\u{70}arse()":              "parse",
		"a \\U00000070arse()":          "parse",
		"\\uuu0070arse":                "parse",
		"pa\\\nrse()":                  "parse",
		"pa\\\r\nrse()":                "parse",
		"\\u":                          "",
		"ｐａｒｓｅ()":                      "parse",
		"𝓹arse()":                      "parse",
		"\xff parse\xff":               "parse",
		"\\u{":                         "",
		"\\u{110000}parse":             "parse",
		"\x00binary\x00parse\x00":      "parse",
		wide("\ufeffcall parse", true): "parse",
		wide("call parse;", false):     "parse",
	} {
		at, word, found := mutation.NewWords([]string{"parse", "", "scan", "parse"}).Find([]byte(text))
		check.That(t, word == want && found == (want != ""), "%q: found %q", text, word)
		check.That(t, !found || !strings.Contains(text, word) || strings.HasPrefix(text[at:], word) || at == 0, "%q: at %d", text, at)
	}
}

// FuzzWords: what stands in a text as a word of its own is found wherever it
// stands, also in the pieces of a text that overlap.
func FuzzWords(f *testing.F) {
	f.Add("before ", " after", "name")
	f.Add("\\u0061", "\x00", "a")
	f.Add("_", "$", "$x")
	f.Fuzz(func(t *testing.T, before, after, name string) {
		if name == "" || strings.ContainsAny(name, "\\\x00\r\n") || len(name) > 100 {
			return
		}
		words := mutation.NewWords([]string{name})
		text := before + " " + name + " " + after
		_, _, found := words.Find([]byte(text))
		check.Must(t, found, "%q is not found in %q", name, text)
		for cut := range len(text) {
			_, _, first := words.Find([]byte(text[:cut]))
			_, _, second := words.Find([]byte(text[max(0, cut-words.Longest()):]))
			check.Must(t, first || second, "%q is not found in %q cut at %d", name, text, cut)
		}
	})
}
