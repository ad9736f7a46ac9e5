package linematch_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/linematch"
)

// expressions and texts are tried with each other.
var expressions = []string{
	``, `.`, `^`, `$`, `^$`, `a`, `needle`, `(?i)needle`, `(?i)task`, `(?i)ſ`, `(?i)K`, `(?i)straße`, `^needle`, `needle$`, `\bneedle\b`, `\Bneedle`,
	`need(le|ing)`, `(needle)+x?`, `(?:ne){2,}dle`, `x*`, `a{0}needle`, `needle|other`, `one|two|needle`, `(?i)needle|OTHER`, `(ab|cd)x*|b1`, `(a|b)needle(c|d)`, `[a-c]+[0-9]{3}`, `\w+\s+\w+`,
	`^\s*$`, `\d{4}-\d{2}`, `[^a]`, `[^\x00-\x7f]`, `\p{Greek}+`, `(?s).`, `.\z`, `\Aa`, `\b`, `\B`, `^\b`, `\b$`, "\ufffd", "a\ufffdb", `\x{fffd}needle`,
	`a\nb`, `x\r`, `x\r$`, `(?m)^a$`, `(?m:^)(?:b|c)$`, `é`, `(?i)É`, `日本`, `[日-本]`, `(a+)+$`, `(a?){20}a{20}`, `[[:alpha:]]_`, `\pN`, `(?U)a+b`, `a.*b.*c`,
	`.{3}needle.{3}`, `(^|,)x($|,)`, `\Q.*\E`, `\x00`, `a??b`, `(?:)`, `[^\n]x`, `(?i)[k-s]{3}`, `(?-s)a.b`,
}

var texts = []string{
	"", "\n", "\r\n", "a", "a\n", "a\r\n", "a\r", "\n\n\n", "needle", "a needle b\nNEEDLE\r\nNeedle\nneedles needle,", "xneedle\n needlex\nneedl\ne",
	"task TASK taſk tas\u212a\nK k \u212a ſ s S", "straße STRASSE STRAẞE", "a1b\nabc123\n2024-01-02\r\nb", "α β γ\nπ\u0300", "\xff\xfe", "a\xffb\na\ufffdb\xc3", "\x80needle",
	"\xe6\x97", "日本語\n日\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aXb\naXbXc\nx\r\n,x,\n.*", "\x00\nx\x00y", "éÉ\r\nE\u0301", "one two\t three\n \t\n_\na_", "b\nc\nab",
	strings.Repeat("ne needl need ", 50) + "needle" + strings.Repeat(" hay\n", 9), "a\rb\nb\r\r\nx\r\r\n",
}

// plain gives the numbers of the lines that match, as package regexp says.
func plain(regex *regexp.Regexp, text []byte) (lines []string) {
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		if len(line) == 0 {
			continue // behind the last line feed
		}
		if rest, found := bytes.CutSuffix(line, []byte("\n")); found {
			line = bytes.TrimSuffix(rest, []byte("\r"))
		}
		if regex.Match(line) {
			lines = append(lines, fmt.Sprintf("%d %q", i, line))
		}
	}
	return lines
}

func matching(m *linematch.Matcher, text []byte) (lines []string) {
	for at := 0; ; {
		start, end, found := m.Next(text, at)
		if !found {
			return lines
		}
		lines = append(lines, fmt.Sprintf("%d %q", bytes.Count(text[:start], []byte("\n")), text[start:end]))
		_, at = linematch.Line(text, start)
	}
}

// Lines are found as package regexp finds them, one by one.
func TestMatcherAgreesWithRegexp(t *testing.T) {
	for _, expr := range expressions {
		m := check.Value(linematch.Compile(expr))(t)
		regex := regexp.MustCompile(expr)
		for _, text := range append(texts, strings.Join(texts, "\n"), strings.Join(texts, "")) {
			got, want := matching(m, []byte(text)), plain(regex, []byte(text))
			check.That(t, slices.Equal(got, want), "%q in %q: %q, want %q", expr, text, got, want)
		}
		check.That(t, m.Automatic(), "%q is left to regexp", expr)
	}
}

func FuzzMatcher(f *testing.F) {
	for i, expr := range expressions {
		f.Add(expr, []byte(texts[i%len(texts)]))
	}
	f.Fuzz(func(t *testing.T, expr string, text []byte) {
		regex, err := regexp.Compile(expr)
		m, ours := linematch.Compile(expr)
		if err != nil || ours != nil {
			check.Equal(t, fmt.Sprint(ours), fmt.Sprint(err))
			return
		}
		for range 2 { // with new states, and with those that are there
			got, want := matching(m, text), plain(regex, text)
			check.That(t, slices.Equal(got, want), "%q in %q: %q, want %q", expr, text, got, want)
		}
	})
}

// What every match has in it is known, and nothing that only some have.
func TestNeedles(t *testing.T) {
	for expr, want := range map[string]string{
		`needle`: "needle", `x?needle+`: "needl", `(?i)NeeDle`: "needle", `(?i)task`: "ta", `(?i)search`: "earch", `ab|cd`: "ab cd", `ab|c`: "", `ab|`: "", `(foo|ba)\w+quux`: "quux", `(foo|barbar)(x|y)`: "foo barbar", `aa|bb|cc|dd|ee|ff|gg|hh|ii`: "", `(?i)one|two`: "one two", `(abc)*`: "", `(abc)+`: "abc",
		`foobar|foobaz`: "fooba", `a`: "", `\w+foo\d+quux`: "quux", `(?:abc){2,3}`: "abc", `(?:abc){0,3}`: "", `[a]bc`: "abc", "x\ufffdyy": "yy", `日本`: "日本", `(?i)é`: "", `a(?i)bcd`: "bcd",
	} {
		check.Equal(t, strings.Join(check.Value(linematch.Compile(expr))(t).Needles(), " "), want, "%s", expr)
	}
}

// The rare bytes of a needle are those of the text at hand; lines are found by whichever they are.
func TestMatcherFitsTheText(t *testing.T) {
	for _, expr := range []string{"needle", "(?i)NEEdle", "needle|other", "ne+dle[x-z]?"} {
		m := check.Value(linematch.Compile(expr))(t)
		for _, hay := range []string{"ddd ", "leln", "NDL ", "dx\n", "eneedl"} {
			text := []byte(strings.Repeat(hay, 1<<18) + "\nneedle other\n" + strings.Repeat(hay, 1<<18))
			got, want := matching(m, text), plain(regexp.MustCompile(expr), text)
			check.That(t, slices.Equal(got, want), "%q among %q: %d lines, want %d", expr, hay, len(got), len(want))
		}
	}
}

// An expression or a text that needs too many states is left to regexp, and answered as well.
func TestMatcherIsBounded(t *testing.T) {
	random := uint32(1)
	text := make([]byte, 1<<14)
	for i := range text {
		random = random*1664525 + 1013904223
		text[i] = "ab"[random>>24%2]
		if random>>8%4096 == 0 {
			text[i] = '\n'
		}
	}
	for _, expr := range []string{`a.{14}c`, `(a|b)*a(a|b){200}c`, `(?i)(\pL{3}|\pN{2}){9}x`} {
		m := check.Value(linematch.Compile(expr))(t)
		got, want := matching(m, text), plain(regexp.MustCompile(expr), text)
		check.That(t, slices.Equal(got, want), "%s: %d lines, want %d", expr, len(got), len(want))
		if m.Automatic() {
			check.That(t, m.Held() <= 3*linematch.TableLimit, "%s: %d entries", expr, m.Held())
		}
	}
	m := check.Value(linematch.Compile(`(a|b)*a(a|b){200}c`))(t)
	matching(m, text)
	check.That(t, !m.Automatic(), "states are made for ever")
}

// Nothing is allocated for a line.
func TestMatcherAllocatesNothing(t *testing.T) {
	text := []byte(strings.Repeat("func other(ctx context.Context, name string) (found []string, err error) {\n", 1000))
	for _, expr := range []string{`needle`, `(?i)needle`, `\w{30}`, `ctx.*needle`} {
		m := check.Value(linematch.Compile(expr))(t)
		m.Next(text, 0)
		allocs := testing.AllocsPerRun(10, func() { m.Next(text, 0) })
		check.Equal(t, allocs, 0, "%s", expr)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, bad := range []string{`(`, `a(?=b)`, `[`, `\`, `a{1001}`} {
		_, want := regexp.Compile(bad)
		_, err := linematch.Compile(bad)
		check.Equal(t, fmt.Sprint(err), fmt.Sprint(want))
	}
}

func BenchmarkNext(b *testing.B) {
	text := []byte(strings.Repeat("func other(ctx context.Context, name string) (found []string, err error) {\n\treturn nil, 4096\n", 10_000))
	for _, expr := range []string{`neverWritten`, `(?i)neverwritten`, `[A-Z]{5}[0-9]{3}`, `\b\w{19}\s+return\b`, `neverWritten|notWritten`} {
		m := check.Value(linematch.Compile(expr))(b)
		regex := regexp.MustCompile(expr)
		b.Run(expr, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Next(text, 0)
			}
		})
		b.Run(expr+"/regexp", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				plain(regex, text)
			}
		})
	}
}
