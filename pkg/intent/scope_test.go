package intent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func TestScope(t *testing.T) {
	tests := []struct{ glob, yes, not string }{
		{"src", "src src/a src/a/b", "src2 src2/a a/src"},
		{"src/", "src src/a", "src2/a"},
		{"./src/api/", "src/api src/api/x", "src src/apix"},
		{"src/*/", "src/a src/a/b/c", "src"},
		{"src/{api,weather.ts}", "src/api src/api/x src/weather.ts", "src/apix src/{api,weather.ts}"},
		{"src/{*.ts,lib/**}", "src/a.ts src/lib/x/y", "src/a/b.ts"},
		{`app/\[id\]`, "app/[id] app/[id]/page.tsx", "app/i"},
		{`\!x`, "!x !x/y", "x"},
		{".", ". a a/b", ""},
		{"**", ". a a/b", ""},
		{"Makefile", "Makefile", "makefile"},
	}
	for _, tt := range tests {
		s, err := intent.CompileScope([]string{tt.glob})
		if err != nil {
			t.Errorf("%q: %v", tt.glob, err)
			continue
		}
		for _, path := range strings.Fields(tt.yes) {
			check.That(t, s.Match(path), "%q does not match %q", tt.glob, path)
		}
		for _, path := range append(strings.Fields(tt.not), "", "/", "../x", "/src/a", "src/../src/a", "src//a", "a/") {
			check.That(t, !s.Match(path), "%q matches %q", tt.glob, path)
		}
	}
}

func TestScopeRefuses(t *testing.T) {
	for _, glob := range []string{"", "/", "/src", "..", "../src", "src/../../x", "src/..", "{..,a}/b", "!src", "!(a|b)", " src",
		"src ", "[a", "{a", "a}", `a\`, "a\x00", "a\nb", "a\xff", "{,a}", strings.Repeat("{a,b}", 10), "[b-a]", "a[/]b"} {
		_, err := intent.CompileScope([]string{"ok", glob})
		check.That(t, err != nil, "%q compiles", glob)
	}
}

func TestScopeWithoutGlobs(t *testing.T) {
	s, err := intent.CompileScope(nil)
	check.That(t, err == nil && s.Unrestricted() && s.Match("any/thing"), "%v", err)
	several, err := intent.CompileScope([]string{"a", "b"})
	check.That(t, err == nil && !several.Unrestricted() && several.Match("b/c") && !several.Match("c") && len(several.Globs()) == 2,
		"%v", err)
}

func ExampleCompileScope() {
	s, err := intent.CompileScope([]string{"src/**", "README.md"})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Match("src/api/weather.ts"), s.Match("src2/x.ts"), s.Match("README.md"))
	// Output: true false true
}
