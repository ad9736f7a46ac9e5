//go:build unix

package shellword_test

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// FuzzShow: a shell makes the same text of it, whatever a hostile name holds.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "a", "-rf", "a b", "it's", "$(touch x)", "`x`", "a\nb", "\\", "''", "é\u202e", "~", "#", "*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i := range len(text) {
			if text[i] == 0 { // no argument can hold one
				return
			}
		}
		out, err := exec.Command("sh", "-c", "printf %s "+shellword.Show(text)+"; echo .").Output()
		check.That(t, err == nil && string(out) == text+".\n", "%q became %q, %v", text, out, err)
		words, whole := shellword.Split("x " + shellword.Show(text) + " " + shellword.Quote(text))
		check.That(t, whole && slices.Equal(words, []string{"x", text, text}), "%q is split into %q", text, words)
	})
}

// TestSplitLeavesTheRestToAShell: what a shell would do more with is not taken for words.
func TestSplitLeavesTheRestToAShell(t *testing.T) {
	for _, line := range []string{"a $b", "a `b`", "a; b", "a && b", "a >b", "'a", "a \"$b\"", "a *", "a # b", "(a)", "a\nb"} {
		words, whole := shellword.Split(line)
		check.That(t, !whole, "%q is split into %q", line, words)
	}
	words, whole := shellword.Split(` "C:\a b\x.exe"  hook `)
	check.That(t, whole && slices.Equal(words, []string{`C:\a b\x.exe`, "hook"}), "%q", words)
}
