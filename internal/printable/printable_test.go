package printable_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/printable"
)

func TestTextShowsWhatWouldAct(t *testing.T) {
	for text, want := range map[string]string{
		"src/main.go":                     "src/main.go",
		"naïve — 木":                       "naïve — 木",
		"a\nb\tc\rd":                      `a\nb\tc\rd`,
		"\x1b[2J":                         `\x1b[2J`,
		"\u009b2J":                        `\u009b2J`,
		"a\u202egpj.exe":                  `a\u202egpj.exe`,
		"\u2066x\u2069\u200b":             `\u2066x\u2069\u200b`,
		"bad \xff\xfe":                    `bad \xff\xfe`,
		"\U000e0041 tag":                  `\U000e0041 tag`,
		"\ufeffbom and \ufffd":            "\\ufeffbom and \ufffd",
		"a\u3164b\u115fc\u2800":           `a\u3164b\u115fc\u2800`, // letters and a symbol that show nothing
		"a\ufe0fb\u034fc":                 `a\ufe0fb\u034fc`,
		"e\u0301":                         "e\u0301",
		"\u0301e":                         `\u0301e`,
		"z" + strings.Repeat("\u0335", 6): "z" + strings.Repeat("\u0335", 4) + `\u0335\u0335`,
	} {
		got := printable.Text(text)
		check.That(t, got == want, "%q is shown as %q, want %q", text, got, want)
	}
}

func TestSpelledOutTellsOfLookAlikes(t *testing.T) {
	for text, want := range map[string]string{
		"src/main.go": "", "naïve — 木": `na\u00efve \u2014 \u6728`, "日本語.md": "", "größe.txt": "",
		"re\u0430dme": `re\u0430dme`, "a\u2215b": `a\u2215b`, "\uff41": `\uff41`, "\U0001d41a": `\U0001d41a`, "say \"\u0430\"": `say "\u0430"`,
		"a\\\u0430": `a\\\u0430`,
	} {
		got := printable.SpelledOut(text)
		check.That(t, got == want, "%q is spelled %q, want %q", text, got, want)
	}
}

func TestClipCountsCharacters(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {strings.Repeat("x", 1<<20), 4, "xxx…"},
	} {
		got := printable.Clip(c.text, c.n)
		check.That(t, got == c.want, "clip %.10q at %d gives %q, want %q", c.text, c.n, got, c.want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07\u202e\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		safe := printable.Text(text)
		for _, r := range safe {
			check.Must(t, unicode.IsPrint(r), "%q is shown as %q, with %U", text, safe, r)
		}
		clipped := printable.Clip(safe, 8)
		check.Must(t, utf8.RuneCountInString(clipped) <= 8, "%q clipped is %q", safe, clipped)
	})
}

func FuzzJSON(f *testing.F) {
	f.Add("plain")
	f.Add("\u009b\u202e\U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		document := check.Value(json.Marshal(text))(t)
		safe := printable.JSON(document)
		var before, after any
		if json.Unmarshal(document, &before) != nil || json.Unmarshal([]byte(safe), &after) != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", document, safe)
		}
		for _, r := range safe {
			check.Must(t, unicode.IsPrint(r), "%q is shown as %q, with %U", document, safe, r)
		}
	})
}
