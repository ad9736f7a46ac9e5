package command_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"plain\ttext\n", "plain\ttext\n"},
		{"héllo 世界 🎉 👩‍👩‍👧", "héllo 世界 🎉 👩‍👩‍👧"},
		{"a\r\nb\rc\r", "a\nb\nc\n"},
		{"\x1b[1;31mred\x1b[0m", "red"},
		{"\x1b[?25l\x1b[2K\x1b(B\x1b=x", "x"},
		{"\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b]0;title\atext", "text"},
		{"\x1bPdevice\x1b\\text", "text"},
		{"\x1b]0;never ends\nnext line", "\u241b]0;never ends\nnext line"},
		{"\x1b]0;stops\x1b[31mred", "\u241b]0;stopsred"},
		{"\x1b[12", "\u241b[12"},
		{"\x1b", "\u241b"},
		{"\x1b[1\n2m", "\u241b[1\n2m"},
		{"\x1b[é", "\u241b[é"},
		{"nul\x00 bell\x07 back\x08 del\x7f", "nul\u2400 bell\u2407 back\u2408 del\u2421"},
		{"\xff\xfe\xc3", "\ufffd\ufffd\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"\u202egnp.exe", "<U+202E>gnp.exe"},
		{"\u2066\u200f\u2028\U000e0041", "<U+2066><U+200F><U+2028><U+E0041>"},
		{"\u009b31m", "<U+009B>31m"},
		{"\x1b]" + strings.Repeat("x", 5000) + "\a", "\u241b]" + strings.Repeat("x", 5000) + "\u2407"},
	} {
		check.Equal(t, command.Clean([]byte(test.in)), test.want, "%.60q", test.in)
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"text\r\n", "\x1b[31mred\x1b[0m\r", "\x1b]0;title\a\xff\xf0\x9f\x8e\x89", "\x1b\x1b]\x1b\\\n", "\x1bP\x1b", "\xe2\x80\xae\u009b\x00",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole := command.Clean(text)
		checkHarmless(t, whole)
		check.Equal(t, command.Clean([]byte(whole)), whole)
		var cleaner command.Cleaner
		var pieces []byte
		for rest := text; len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			pieces = cleaner.Append(pieces, rest[:n])
			rest = rest[n:]
		}
		if pieces = cleaner.Flush(pieces); string(pieces) != whole {
			t.Errorf("in pieces of %d: %q, whole: %q", int(size)+1, pieces, whole)
		}
	})
}

func checkHarmless(t *testing.T, text string) {
	t.Helper()
	check.That(t, utf8.ValidString(text), "not valid UTF-8: %q", text)
	for _, r := range text {
		if (unicode.IsControl(r) && r != '\n' && r != '\t') || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%U is left in %q", r, text)
		}
	}
}
