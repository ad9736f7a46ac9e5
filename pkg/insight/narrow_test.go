package insight_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/insight"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// inScope counts files by directory.
func inScope(scope *intent.Scope, files []string) map[string]int {
	n := map[string]int{}
	for _, name := range files {
		if scope.Match(name) {
			n[path.Dir(name)]++
		}
	}
	return n
}

func numbered(dir string, n int) (files []string) {
	for i := range n {
		files = append(files, fmt.Sprintf("%s/f%02d.go", dir, i))
	}
	return files
}

// Proposals are what a person would write.
func TestNarrow(t *testing.T) {
	files := slices.Concat(numbered("src/api", 4), numbered("src/core", 40), numbered("src/core/deep", 2), numbered("web", 20), numbered("odd, {name}", 1), []string{"README.md"})
	for name, tt := range map[string]struct{ scope, touched, want []string }{
		"most of a directory":           {[]string{"src/**"}, numbered("src/api", 3), []string{"src/api/**"}},
		"a few files":                   {[]string{"**"}, []string{"README.md", "src/core/f01.go", "src/core/f07.go"}, []string{"README.md", "src/core/f01.go", "src/core/f07.go"}},
		"several files of many":         {[]string{"src"}, numbered("src/core", 4), []string{"src/core/*"}},
		"at several depths":             {[]string{"src/**", "web/**"}, slices.Concat(numbered("src/core/deep", 2), numbered("web", 11)), []string{"src/core/deep/**", "web/**"}},
		"what is gone counts":           {[]string{"src/"}, []string{"src/old/a.go", "src/old/b.go"}, []string{"src/old/**"}},
		"a glob with an end":            {[]string{"**/*.go"}, []string{"src/core/f01.go", "src/core/deep/f00.go"}, []string{"src/core/**/*.go"}},
		"a glob that cannot be less":    {[]string{"src/*/*.go"}, []string{"src/core/f01.go"}, []string{"src/*/*.go"}},
		"braces":                        {[]string{"{web,src/api}/**", "src/core/*.go"}, numbered("src/api", 4), []string{"src/api/**"}},
		"names that look like globs":    {[]string{"**"}, []string{"odd, {name}/f00.go"}, []string{`odd\, \{name\}/f00.go`}},
		"as before, where all was used": {[]string{"src/api/**", "README.md"}, append(numbered("src/api", 4), "README.md"), []string{"README.md", "src/api/**"}},
	} {
		scope := check.Value(intent.CompileScope(tt.scope))(t)
		got := insight.Narrow(scope, inScope(scope, files), tt.touched)
		check.That(t, slices.Equal(got, tt.want), "%s: got %q, want %q", name, got, tt.want)
	}
}

// Whatever the scope, the files and the history: a proposal has all that was touched, reaches nothing new, is no larger, and
// proposes itself.
func TestNarrowKeepsItsPromise(t *testing.T) {
	for seed := range check.Rounds(2000, 50_000) {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		join := func(of ...string) string {
			parts := []string{of[random.IntN(len(of))]}
			for random.IntN(3) > 0 {
				parts = append(parts, of[random.IntN(len(of))])
			}
			return strings.Join(parts, "/")
		}
		name := func() string { return join("a", "b", "c", "d,{", "x.go") }
		var files, globs, touched []string
		for range random.IntN(120) {
			files = append(files, name())
		}
		for range 1 + random.IntN(3) {
			globs = append(globs, join("a", "b", "*", "**", "{a,b}", "[ab]", "?", "*.go"))
		}
		scope, err := intent.CompileScope(globs)
		if err != nil {
			continue // too many braces
		}
		for range random.IntN(30) {
			one := name()
			if len(files) > 0 && random.IntN(3) > 0 {
				one = files[random.IntN(len(files))]
			}
			if scope.Match(one) && !slices.Contains(touched, one) {
				touched = append(touched, one)
			}
		}
		files = slices.Compact(slices.Sorted(slices.Values(files)))
		got := insight.Narrow(scope, inScope(scope, files), touched)
		shown := fmt.Sprintf("seed %d: %q for %q of %q", seed, got, touched, globs)
		if len(touched) == 0 {
			check.Must(t, len(got) == 0, "%s", shown)
			continue
		}
		narrow, err := intent.CompileScope(got)
		check.Must(t, err == nil && len(got) > 0, "%s: %v", shown, err)
		for _, one := range touched {
			check.Must(t, narrow.Match(one), "%s: without %s", shown, one)
		}
		for _, one := range files {
			check.Must(t, scope.Match(one) || !narrow.Match(one), "%s: reaches %s", shown, one)
		}
		for range 100 {
			one := name()
			check.Must(t, scope.Match(one) || !narrow.Match(one), "%s: reaches %s", shown, one)
		}
		random.Shuffle(len(touched), func(i, j int) { touched[i], touched[j] = touched[j], touched[i] })
		again := insight.Narrow(narrow, inScope(narrow, files), touched)
		check.Must(t, slices.Equal(again, got), "%s: then %q", shown, again)
	}
}
