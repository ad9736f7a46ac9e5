package languages_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestOwnChanges changes names and layout as the resolver under test sees them.
// How much of what other programs do is recognised, TestOracles and TestReformat
// measure.
func TestOwnChanges(t *testing.T) {
	files, perFile := 1, 13
	if sweptDirectory() != "" {
		files, perFile = 40, 4
	}
	for _, language := range languages.Names() {
		texts, refused := sources(t, language, files)
		if len(texts) == 0 && refused == 0 {
			continue
		}
		c := counts{}
		for i, s := range texts {
			c.ownRenames(t, seeded(uint64(1000+i)), language, s, perFile)
			c.layout(t, seeded(uint64(2000+i)), language, s)
		}
		t.Logf("%s: own renames %d of %d; layouts %d of %d", language, c.renamesProven, c.renames, c.layoutsProven, c.layouts)
		if c.renames == 0 || 100*c.renamesProven < 90*c.renames || 100*c.layoutsProven < 90*c.layouts {
			t.Errorf("%s: below the bar", language)
		}
	}
}

func (c *counts) ownRenames(t *testing.T, random *rand.Rand, language string, s source, times int) {
	tokens := languages.Tokens(language, []byte(s.text))
	for range times {
		renamed, what := rename(random, s.text, tokens)
		if renamed == "" {
			continue
		}
		c.renames++
		if v := evidence(language, s.path, s.text, renamed); isProven(v) {
			c.renamesProven++
		} else if os.Getenv("ORCHESTRA_MISSES") != "" {
			t.Logf("rename missed: %s: %s: %s", shortPath(s.path), what, v.Reason)
		}
	}
}

func (c *counts) layout(t *testing.T, random *rand.Rand, language string, s source) {
	c.layouts++
	tokens := languages.Tokens(language, []byte(s.text))
	if v := evidence(language, s.path, s.text, relayout(random, language, s.text, tokens)); v.Evidence == verdict.Proven {
		c.layoutsProven++
	} else if os.Getenv("ORCHESTRA_MISSES") != "" {
		t.Logf("layout missed: %s: %s", shortPath(s.path), v.Reason)
	}
}

func where(text string, token languages.Token) string {
	return fmt.Sprintf(" in line %d", 1+strings.Count(text[:token.Start], "\n"))
}

// rename gives a declared name another spelling wherever a name has it.
func rename(random *rand.Rand, text string, tokens []languages.Token) (renamed, what string) {
	var candidates []languages.Token
	for _, token := range tokens {
		if token.Declares {
			candidates = append(candidates, token)
		}
	}
	if len(candidates) == 0 {
		return "", ""
	}
	chosen := candidates[random.IntN(len(candidates))]
	old := text[chosen.Start:chosen.End]
	for _, token := range tokens {
		quoted := !token.Name && strings.Trim(text[token.Start:token.End], "\"'") == old
		if outside(token, chosen) {
			continue
		}
		if quoted || token.Pinned && text[token.Start:token.End] == old {
			return "", "" // to rename it takes more than its own tokens
		}
	}
	fresh := strings.TrimSuffix(old, "?") + "Renamed"
	if strings.Contains(text, fresh) {
		return "", ""
	}
	var out strings.Builder
	at := 0
	for _, token := range tokens {
		if text[token.Start:token.End] != old || token.Comment || !token.Named || outside(token, chosen) {
			continue
		}
		switch {
		case strings.HasPrefix(token.Kind, "shorthand_property_identifier"):
			out.WriteString(text[at:token.Start] + old + ": " + fresh)
		case token.Name:
			out.WriteString(text[at:token.Start] + fresh)
		default:
			continue
		}
		at = token.End
	}
	return out.String() + text[at:], fmt.Sprintf("%s%s", old, where(text, chosen))
}

// outside tells whether a token is outside of where a name could be seen.
func outside(token, declared languages.Token) bool {
	return token.Start < declared.RegionStart || token.Start >= declared.RegionEnd
}

// relayout changes white space where there is some already, and takes comments
// and blank lines out or puts them in.
func relayout(random *rand.Rand, language, text string, tokens []languages.Token) string {
	var out strings.Builder
	at, comment := 0, false
	for _, token := range tokens {
		gap := text[at:token.Start]
		if at > 0 && !token.Exact && !comment {
			gap = space(random, language, gap)
		}
		comment = token.Comment
		out.WriteString(gap + text[token.Start:token.End])
		at = token.End
	}
	return out.String() + text[at:]
}

func space(random *rand.Rand, language, gap string) string {
	if gap == "" || strings.Trim(gap, " \t\n") != "" {
		return gap
	}
	switch {
	case !strings.Contains(gap, "\n"):
		return strings.Repeat(" ", 1+random.IntN(3))
	case random.IntN(3) > 0:
		return gap
	default:
		line := lineComments[language]
		last := gap[strings.LastIndex(gap, "\n")+1:]
		if language != "python" {
			last = strings.Repeat(" ", random.IntN(12))
		}
		if line == "" {
			return gap + strings.Repeat("\n", random.IntN(3)) + last
		}
		return strings.Repeat(" ", random.IntN(3)) + " " + line + " a note\n" + strings.Repeat("\n", random.IntN(3)) + last
	}
}

// lineComments has none for TSX, where it may be text.
var lineComments = map[string]string{
	"c": "//", "cpp": "//", "csharp": "//", "java": "//", "javascript": "//", "kotlin": "//", "php": "//", "python": "#", "ruby": "#", "rust": "//",
	"typescript": "//",
}
