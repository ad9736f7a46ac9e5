package clientrules_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/clientrules"
)

// reference is the pattern as an expression, as the clients make one of it.
func reference(pattern string, question, bare bool) *regexp.Regexp {
	pattern, cut := strings.CutSuffix(pattern, " *")
	if cut && !bare {
		pattern, cut = pattern+" *", false
	}
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	if question {
		expression = strings.ReplaceAll(expression, `\?`, ".")
	}
	if cut {
		expression += "( .*)?"
	}
	return regexp.MustCompile("(?s)^" + expression + "$")
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"ls *", "ls"}, {"ls *", "lsof"}, {"* a *", "x a"}, {"a*b*c", "abcbc"}, {"?", "é"}, {"*?", ""}, {"a*?b", "aéb"}, {"", ""}, {"**", "x"}, {"ab*ba", "aba"}, {"* *", ""}} {
		f.Add(seed[0], seed[1], true, true)
		f.Add(seed[0], seed[1], false, false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, question, bare bool) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) || len(pattern) > 200 {
			return
		}
		got, want := clientrules.Glob(pattern, text, question, bare), reference(pattern, question, bare).MatchString(text)
		check.That(t, got == want, "%q on %q (%v, %v) is %v, want %v", pattern, text, question, bare, got, want)
	})
}
