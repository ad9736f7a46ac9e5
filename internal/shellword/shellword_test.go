//go:build unix

package shellword_test

import (
	"os/exec"
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
	})
}
