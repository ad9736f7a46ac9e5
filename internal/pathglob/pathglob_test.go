package pathglob_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

func compile(t *testing.T, pattern string) *pathglob.Pattern {
	t.Helper()
	p, err := pathglob.Compile(pattern)
	check.Must(t, err == nil, "Compile(%q): %v", pattern, err)
	return p
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern  string
		yes, not []string
	}{
		{"src/**", []string{"src", "src/a", "src/a/b.ts"}, []string{"src2/a", "src2", "a/src/b", "SRC/a", "."}},
		{"**", []string{".", "a", "a/b", ".env"}, nil},
		{"**/*.ts", []string{"a.ts", "x/a.ts", "x/y/a.ts"}, []string{"a.tsx", "a.ts/b"}},
		{"**/.git/**", []string{".git", ".git/config", "a/.git/hooks/x"}, []string{".github/x", "a/git/x"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b", "a/b/b"}, []string{"a", "b", "ab", "a/bb"}},
		{"**/a/b", []string{"a/b", "a/x/a/b", "a/a/b"}, []string{"a/x/b"}},
		{"*", []string{"a", ".a", "a.b"}, []string{"a/b", "."}},
		{"a*b", []string{"ab", "axb", "a*b"}, []string{"a/b", "axbx"}},
		{"a**b", []string{"ab", "axyb"}, []string{"a/b", "a/x/b"}},
		{"src/**.ts", []string{"src/a.ts"}, []string{"src/a/b.ts"}},
		{"?.go", []string{"a.go", "é.go"}, []string{"ab.go", ".go", "/.go"}},
		{"[abc].go", []string{"a.go", "c.go"}, []string{"d.go", "[abc].go"}},
		{"[!abc]", []string{"d", "!", "é"}, []string{"a", "dd"}},
		{"[^abc]", []string{"d", "^"}, []string{"a"}},
		{`[\^a]`, []string{"^", "a"}, []string{"b"}},
		{"x[!a]y", []string{"xby"}, []string{"x/y", "xay"}},
		{"[a-c]x", []string{"ax", "bx"}, []string{"dx", "-x"}},
		{"[a-z0-9_]", []string{"m", "5", "_"}, []string{"M", "-", "a-"}},
		{"[!a-z0-9]", []string{"M", "-"}, []string{"m", "5"}},
		{"[]a]", []string{"]", "a"}, []string{"b"}},
		{"[!]a]", []string{"b"}, []string{"]", "a"}},
		{"[-x]", []string{"-", "x"}, []string{"a"}},
		{"[x-]", []string{"-", "x"}, []string{"y"}},
		{"[!-]", []string{"x", "!"}, []string{"-"}},
		{`[\!]`, []string{"!"}, []string{"x", `\`}},
		{`[\]\\]`, []string{"]", `\`}, []string{"x"}},
		{"[+--]", []string{"+", ",", "-"}, []string{"."}},
		{"[é-ü]", []string{"ö"}, []string{"a"}},
		{`\*.go`, []string{"*.go"}, []string{"a.go"}},
		{`app/\[id\]/x`, []string{"app/[id]/x"}, []string{"app/i/x"}},
		{`a\/b`, []string{"a/b"}, []string{"ab"}},
		{"./a//b/./c", []string{"a/b/c"}, []string{"b/c"}},
		{"a{b", []string{"a{b"}, nil},
		{"*a,b}", []string{"xa,b}"}, nil},
	}
	for _, tt := range tests {
		p := compile(t, tt.pattern)
		for _, path := range tt.yes {
			check.That(t, p.Match(path), "%q does not match %q", tt.pattern, path)
		}
		for _, path := range tt.not {
			check.That(t, !p.Match(path), "%q matches %q", tt.pattern, path)
		}
	}
}

func TestMatchRefusesUncleanPaths(t *testing.T) {
	p := compile(t, "**")
	for _, path := range []string{"", "/", "/a", "a/", "a//b", "./a", "../a", "a/../b", "..", "a/.", "a\xff"} {
		check.That(t, !p.Match(path), "** matches %q", path)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, pattern := range []string{
		"", "/a", "/", "..", "../a", "a/../b", "a/..", `\.\./a`, `a/.\.`, "[", "[a", "[]", "[!]", "[a/b]", `[a\]`, `a\`,
		"[z-a]", "[[:alpha:]]", "a\x00b", "a\nb", "a\xffb", strings.Repeat("a/", 63) + "a",
		strings.Repeat("a", 5000),
	} {
		_, err := pathglob.Compile(pattern)
		check.That(t, err != nil, "Compile(%q) succeeds", pattern)
	}
}

func TestExpand(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"a", "a"},
		{"a{b,c/d}e", "abe ac/de"},
		{"{a,{b,c}d}", "a bd cd"},
		{"{a,b}{c,d}", "ac ad bc bd"},
		{"src{,2}/x", "src/x src2/x"},
		{`\{a,b\}`, `\{a,b\}`},
		{"[{,}]", "[{,}]"},
		{"{[,],x}", "[,] x"},
		{"a,b", "a,b"},
	}
	for _, tt := range tests {
		got, err := pathglob.Expand(tt.pattern)
		check.That(t, err == nil && strings.Join(got, " ") == tt.want, "Expand(%q) = %q, %v; want %q", tt.pattern, got, err, tt.want)
	}
	for _, pattern := range []string{
		"", "{a", "a}", "{a}", "{}", "{a,b}}", "{[}", strings.Repeat("{a,b}", 7), strings.Repeat("{a,b}", 600),
		"{" + strings.Repeat("a,", 70) + "b}", strings.Repeat("x", 2000) + "{a,b,c}",
	} {
		got, err := pathglob.Expand(pattern)
		check.That(t, err != nil, "Expand(%q) = %q", pattern, got)
	}
}

// reference translates a pattern to a regular expression, segment by segment; the property test compares with it.
func reference(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	segments := strings.Split(pattern, "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch {
		case seg == "**" && last && i == 0:
			b.WriteString(`.*`)
		case seg == "**" && last:
			b.WriteString(`(?:/.*)?`)
		case seg == "**" && i == 0:
			b.WriteString(`(?:[^/]+/)*`)
		case seg == "**":
			b.WriteString(`(?:/[^/]+)*/`)
		default:
			if i > 0 && segments[i-1] != "**" {
				b.WriteString("/")
			}
			b.WriteString(segmentReference(seg))
		}
	}
	return regexp.MustCompile(b.String() + `$`)
}

func segmentReference(seg string) string {
	seg = strings.ReplaceAll(seg, "**", "*")
	var b strings.Builder
	for i := 0; i < len(seg); i++ {
		switch c := seg[i]; c {
		case '*':
			b.WriteString(`[^/]*`)
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			end := i + strings.IndexByte(seg[i:], ']')
			class := seg[i+1 : end]
			if class[0] == '!' || class[0] == '^' {
				class = "^/" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

func TestMatchAgreesWithReference(t *testing.T) {
	pieces := []string{"a", "b", "ab", "*", "?", "[ab]", "[!a]", "[^b]", "[a-b]", ".", "**"}
	names := []string{"a", "b", "ab", "ba", "aab", "abab", ".a", "c", "bb"}
	rnd := rand.New(rand.NewPCG(1, 2))
	matches := 0
	for range 20_000 {
		var segments []string
		for range 1 + rnd.IntN(4) {
			if rnd.IntN(4) == 0 {
				if n := len(segments); n == 0 || segments[n-1] != "**" {
					segments = append(segments, "**")
				}
				continue
			}
			var seg string
			for range 1 + rnd.IntN(3) {
				seg += pieces[rnd.IntN(len(pieces))]
			}
			if strings.Trim(seg, ".") == "" || strings.Trim(seg, "*") == "" && len(seg) > 1 {
				seg = "*"
			}
			segments = append(segments, seg)
		}
		if len(segments) == 0 {
			continue
		}
		pattern := strings.Join(segments, "/")
		var path []string
		for range 1 + rnd.IntN(5) {
			path = append(path, names[rnd.IntN(len(names))])
		}
		joined := strings.Join(path, "/")
		want := reference(pattern).MatchString(joined)
		got := compile(t, pattern).Match(joined)
		check.Must(t, got == want, "%q on %q: got %v, the reference says %v", pattern, joined, got, want)
		if want {
			matches++
		}
	}
	check.Must(t, matches >= 1000, "only %d matches: the sample does not test much", matches)
}

func TestSegmentCostIsBounded(t *testing.T) {
	name := strings.Repeat("a", 4096) // would not end within the age of the universe if it were exponential
	for _, pattern := range []string{"*a*a*a*a*a*a*a*b*", "*a?*a?*a?*a?*a?*b", "*[ab]*[ab]*[ab]*[ab]*[ab]*[ab]*c"} {
		check.That(t, !compile(t, pattern).Match(name), "%q matches", pattern)
	}
}

func TestTreeCostIsBounded(t *testing.T) {
	pattern := strings.Repeat("**/a/", 30) + "b"
	p := compile(t, pattern)
	for _, segments := range []int{100, 2048} {
		path := strings.TrimSuffix(strings.Repeat("a/", segments), "/")
		state, got := p.Start(), 0
		for name := range strings.SplitSeq(path, "/") {
			got += p.Comparisons(state)
			state = p.Step(state, name)
		}
		check.Must(t, !p.Accepts(state), "%q matches", pattern)
		most := segments * 61
		check.That(t, got <= most && got >= segments, "%d segment comparisons on %d segments: want at most %d", got, segments, most)
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"src/**", "[a-z", "{a,b}", `\`, "[]", "[!]-x]", "**/*.{ts,tsx}", "[\\-a]", "[--z]"} {
		f.Add(seed, "src/a-b.ts")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		alternatives, err := pathglob.Expand(pattern)
		if err != nil {
			return
		}
		for _, alternative := range alternatives {
			p, err := pathglob.Compile(alternative)
			if err != nil {
				continue
			}
			check.That(t, !p.Match(path) || p.Subtree().Match(path), "%q matches %q, its subtree does not", alternative, path)
			check.That(t, !p.Match("../x") && !p.Match("/x"), "%q matches a path outside", alternative)
		}
	})
}

func Example() {
	p, err := pathglob.Compile("src/**/*.go")
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Match("src/main.go"), p.Match("src/a/b.go"), p.Match("src2/a.go"))
	// Output: true true false
}
